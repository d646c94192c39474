#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/probe.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

class ProbeCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "probe"; }
  [[nodiscard]] const char* summary() const override {
    return "Check whether a store is safe for elections";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster probe --arbiter 's3://bucket/app?region=eu-central-1'\n"
           "\n"
           "Exits with 0 if the store is safe, with 3 and the reason if it is not, with 64 if "
           "there "
           "is no\n"
           "such store (a wrong address, a missing bucket), and with 69 if it does not answer. "
           "Writes and\n"
           "removes one object, muster-probe/…. Of PostgreSQL it also notes what its settings mean "
           "for "
           "a\n"
           "failover.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_timeout(app);
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (Status status = arbiter_.check(); !status) return status.error();
    LoopThread thread;
    Result<std::unique_ptr<ObjectStore>> store = Error{Errc::kUnavailable, "not opened"};
    StoreOptions options;
    options.tls = {arbiter_.hub.ca_file, arbiter_.hub.cert_file, arbiter_.hub.key_file};
    thread.run([&] { store = open_store(arbiter_.url, thread.loop(), options); });
    if (!store) return store.error();
    const std::string address = (*store)->describe();
    const Status verdict = probe(thread, **store);
    std::vector<std::string> remarks;
    if (verdict) remarks = inspect(thread, **store);
    thread.run([&] { store->reset(); });
    if (!verdict && !verdict.is(Errc::kUnsupported)) return verdict.error();
    print(terminal, address, verdict, remarks);
    return verdict ? kDone : kUnsafeStore;
  }

 private:
  Status probe(LoopThread& thread, ObjectStore& store) {
    Random random = system_random();
    std::promise<Status> answered;
    thread.loop().post([&] {
      probe_store(store, thread.loop(), random, arbiter_.hub.store_timeout,
                  [&](Status status) { answered.set_value(std::move(status)); });
    });
    return answered.get_future().get();
  }

  /// What the store's settings mean. The probe has read them already, so a failure now says
  /// nothing.
  std::vector<std::string> inspect(LoopThread& thread, ObjectStore& store) {
    std::promise<Result<StoreInspection>> answered;
    thread.loop().post([&] {
      store.inspect(thread.loop().now() + probe_time(arbiter_.hub.store_timeout),
                    [&](Result<StoreInspection> seen) { answered.set_value(std::move(seen)); });
    });
    const Result<StoreInspection> seen = answered.get_future().get();
    if (seen) return seen->remarks;
    return {"the settings could not be read again: " + seen.error().message};
  }

  void print(Terminal& terminal, const std::string& address, const Status& verdict,
             const std::vector<std::string>& remarks) const {
    const bool safe = verdict.ok();
    if (json_) {
      const Json json = {{"arbiter", address},
                         {"safe", safe},
                         {"reason", safe ? Json(nullptr) : Json(verdict.error().message)},
                         {"remarks", remarks}};
      return terminal.line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    terminal.line(safe ? terminal.green("safe: ") + address + " kept every promise of the probe"
                       : terminal.red(verdict.error().message));
    for (const std::string& remark : remarks) terminal.line("note: " + remark);
  }

  ArbiterOptions arbiter_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_probe_command() {
  return std::make_unique<ProbeCommand>();
}

}  // namespace muster::cli
