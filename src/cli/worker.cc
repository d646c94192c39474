#include <atomic>
#include <nlohmann/json.hpp>

#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/event_text.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/status_server.h"
#include "cli/worker_options.h"
#include "platform/signals.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

class WorkerCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "worker"; }
  [[nodiscard]] const char* summary() const override {
    return "Take part in an election and print its events";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster worker --arbiter file:///tmp/muster --id w1 --http 127.0.0.1:9010 --json\n"
           "  curl -s http://127.0.0.1:9010/leader\n"
           "\n"
           "Runs until SIGTERM, SIGINT or SIGHUP, then hands over the leadership and stops; a "
           "second\n"
           "signal ends it at once. /leader answers 200 while this worker leads and 503 "
           "otherwise; there\n"
           "are also /workers, /metrics.json and /healthz. Listen on loopback, because the "
           "answers are\n"
           "not encrypted.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_name(app, "default");
    declare_timings(app, options_);
    declare_worker(app, options_);
    add_value(app, "--http", "HOST:PORT", "",
              "Address that answers HTTP requests; port 0 takes a free one",
              [this](const std::string& text) {
                const auto address = parse_http_address(text);
                if (!address) return Status(address.error());
                listen_ = *address;
                return Status(Done{});
              });
    add_flag(app, "--json", json_, "Print events as JSON lines");
  }

  [[nodiscard]] bool lasting() const override { return true; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (Status status = options_.validate(); !status) return status.error();
    StopSignals signals(StopSignals::HangUp::kStops);  // Before the hub's threads.
    if (Status status = arbiter_.check_shared(); !status) return status.error();
    const auto hub = arbiter_.open(ExistingStore::kMayBeMade);
    if (!hub) return hub.error();
    const auto coordinator = (*hub)->coordinator(arbiter_.name_space, options_);
    if (!coordinator) return coordinator.error();
    std::unique_ptr<StatusServer> http;
    if (listen_) {
      auto face = StatusServer::listen(*listen_, answers_of(*coordinator));
      if (!face) return face.error();
      http = std::move(*face);
      announce(terminal, http->address());
    }
    (*coordinator)->on_event([&](const CoordinatorEvent& event) {
      const WallTime now = system_wall_now();
      terminal.event(json_ ? event_json(event, now) : event_text(event, now));
      const auto* trouble = std::get_if<TroubleEvent>(&event);
      unsafe_ = unsafe_ || (trouble && trouble->kind == TroubleEvent::Kind::kUnsafeStore);
      // A worker that cannot take part, or whose events nobody will read, stops cleanly.
      if (unsafe_ || terminal.unread()) signals.request();
    });
    terminal.when_unread([&signals] { signals.request(); });
    (*coordinator)->start();
    signals.wait();
    (*coordinator)->stop();
    terminal.when_unread({});
    return unsafe_ ? kUnsafeStore : kDone;
  }

 private:
  void announce(Terminal& terminal, const Address& address) const {
    const nlohmann::ordered_json json = {{"event", "http:listening"},
                                         {"address", address.host},
                                         {"port", address.port},
                                         {"time", to_ms(system_wall_now())}};
    terminal.event(json_ ? json.dump()
                         : format_time(system_wall_now()) + " http:listening " + url_of(address));
  }

  ArbiterOptions arbiter_;
  CoordinatorOptions options_;
  std::optional<Address> listen_;
  bool json_ = false;
  std::atomic<bool> unsafe_ = false;
};

}  // namespace

std::unique_ptr<Command> make_worker_command() {
  return std::make_unique<WorkerCommand>();
}

}  // namespace muster::cli
