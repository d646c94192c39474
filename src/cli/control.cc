#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/worker_table.h"
#include "coordinator/options.h"
#include "core/election/records.h"
#include "elector/control.h"
#include "elector/sync_store.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "store/open/open.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Between two looks for the acknowledgement.
constexpr Duration kLookInterval = 20ms;
/// Others may write at the same time; each attempt begins with a fresh read.
constexpr int kAttempts = 5;

/// The texts in which the four commands differ.
struct Texts {
  const char* summary;
  const char* example;
};

Texts texts(ControlKind kind) {
  switch (kind) {
    case ControlKind::kStepDown:
      return {"Ask the leader to hand over",
              "Example:\n  muster step-down --arbiter file:///tmp/muster --name cron\n"};
    case ControlKind::kTransfer:
      return {"Ask the leader to hand over to one node",
              "Example:\n  muster transfer --arbiter file:///tmp/muster --name cron --to n2\n"};
    case ControlKind::kPause:
      return {"Ask the leader to hand over and not to campaign until `muster resume`",
              "Example:\n  muster pause --arbiter file:///tmp/muster --name cron\n"};
    case ControlKind::kResume:
      break;
  }
  return {"Let paused nodes campaign again",
          "Example:\n  muster resume --arbiter file:///tmp/muster --name cron\n"};
}

/// A store and the thread that its answers come on.
class StoreAccess {
 public:
  static Result<std::unique_ptr<StoreAccess>> open(const ArbiterOptions& arbiter) {
    if (Status status = arbiter.check(); !status) return status.error();
    if (Status there = check_directory("--arbiter", arbiter.url); !there) return there.error();
    std::unique_ptr<StoreAccess> access(new StoreAccess());
    StoreOptions options;
    options.tls = {arbiter.hub.ca_file, arbiter.hub.cert_file, arbiter.hub.key_file};
    Result<std::unique_ptr<ObjectStore>> store = Error{Errc::kUnavailable, "not opened"};
    access->thread_.run([&] { store = open_store(arbiter.url, access->thread_.loop(), options); });
    if (!store) return store.error();
    access->store_ = std::move(*store);
    access->timeout_ = arbiter.hub.store_timeout;
    return access;
  }
  ~StoreAccess() {
    thread_.run([this] { store_.reset(); });
  }

  [[nodiscard]] Result<Object> get(const Key& key) {
    return SyncStore(thread_.loop(), *store_, timeout_).get(key);
  }
  [[nodiscard]] Status write(const Key& key, const ControlCommand& command) {
    std::promise<Status> written;
    thread_.run([&] {
      write_control(*store_, key, command, thread_.loop().now() + timeout_,
                    [&](Status status) { written.set_value(std::move(status)); });
    });
    return written.get_future().get();
  }

 private:
  StoreAccess() = default;
  LoopThread thread_;
  std::unique_ptr<ObjectStore> store_;
  Duration timeout_{};
};

class ControlRequest final : public Command {
 public:
  explicit ControlRequest(ControlKind kind) : kind_(kind) {}

  [[nodiscard]] const char* name() const override { return to_string(kind_); }
  [[nodiscard]] const char* summary() const override { return texts(kind_).summary; }
  [[nodiscard]] const char* example() const override { return texts(kind_).example; }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_name(app);
    arbiter_.declare_timeout(app);
    if (kind_ == ControlKind::kTransfer) {
      add_text(app, "--to", "ID", worker_, "Node that should lead");
    } else if (kind_ == ControlKind::kResume) {
      add_text(app, "--id", "ID", worker_, "Only this node (default: all paused nodes)");
    }
    add_duration(app, "--wait", wait_,
                 "Wait this long for a node to obey; 10s or the election's worker timeout, "
                 "whichever is longer, unless set");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (kind_ == ControlKind::kTransfer && worker_.empty()) {
      return {Errc::kInvalid, "name the node that should lead: --to ID"};
    }
    auto store = StoreAccess::open(arbiter_);
    if (!store) return store.error();
    const NamespaceKeys keys(arbiter_.name_space);
    const auto state = leader_state(**store, keys);
    if (!state) return state.error();
    if (kind_ != ControlKind::kResume && !state->leader) {
      return no(terminal, "nobody leads " + arbiter_.name_space + ", so there is no leader to ask");
    }
    if (kind_ == ControlKind::kTransfer) {
      const auto problem = unfit(**store, keys, *state);
      if (!problem) return problem.error();
      if (!problem->empty()) return no(terminal, *problem);
    }
    return ask(terminal, **store, keys, *state);
  }

 private:
  /// Nothing in it when nobody has ever led.
  static Result<LeaderState> leader_state(StoreAccess& store, const NamespaceKeys& keys) {
    const auto object = store.get(keys.state);
    if (object.is(Errc::kNotFound)) return LeaderState{};
    if (!object) return object.error();
    return decode_whole(*object, decode_leader_state);
  }

  /// Why the node that should lead cannot; empty when it can.
  Result<std::string> unfit(StoreAccess& store, const NamespaceKeys& keys,
                            const LeaderState& state) const {
    const WorkerId id(worker_);
    const std::string listed = "; muster workers --name " + arbiter_.name_space + " lists them";
    const auto object = store.get(keys.worker(id));
    if (!object && !object.is(Errc::kNotFound)) return object.error();
    const auto record =
        object ? decode_whole(*object, decode_worker) : Result<WorkerRecord>(object.error());
    if (!record) return "there is no node " + worker_ + listed;
    const auto timeout = worker_timeout(store, keys);
    if (!timeout) return timeout.error();
    const std::string why =
        unfit_to_lead({id, object->age, *record}, state.leader, state.workers, *timeout);
    return why.empty() || state.leader == id ? why : why + ", and would not take over" + listed;
  }

  static Result<Duration> worker_timeout(StoreAccess& store, const NamespaceKeys& keys) {
    const auto object = store.get(keys.metadata);
    if (!object && !object.is(Errc::kNotFound)) return object.error();
    const auto metadata =
        object ? decode_whole(*object, decode_metadata) : Result<NamespaceMetadata>(object.error());
    if (metadata && metadata->worker_timeout > Duration(0)) return metadata->worker_timeout;
    return CoordinatorOptions{}.worker_timeout;
  }

  Result<int> ask(Terminal& terminal, StoreAccess& store, const NamespaceKeys& keys,
                  const LeaderState& state) {
    ControlCommand command;
    command.id = system_random().uuid();
    command.kind = kind_;
    command.epoch = state.epoch;
    if (!worker_.empty()) command.worker = WorkerId(worker_);
    command.issued_at = system_wall_now();
    Status written = store.write(keys.control, command);
    for (int i = 1; i < kAttempts && written.is(Errc::kConflict); ++i) {
      written = store.write(keys.control, command);
    }
    if (!written) return written.error();
    if (wait_ == Duration(0)) {
      // On a store without watch a leader sees it with its next list of workers.
      const auto timeout = worker_timeout(store, keys);
      if (!timeout) return timeout.error();
      wait_ = std::max<Duration>(10s, *timeout);
    }
    EventLoop pause;
    const MonoTime limit = pause.now() + wait_;
    for (;;) {
      const auto object = store.get(keys.control);
      if (!object && !object.is(Errc::kNotFound)) return object.error();
      const auto record =
          object ? decode_whole(*object, decode_control) : Result<ControlRecord>(object.error());
      if (record && record->command.id != command.id) {
        return no(terminal,
                  "another command was written after this one, which the leader may not "
                  "have seen");
      }
      if (record && record->ack && record->ack->id == command.id) {
        return obeyed(terminal, command, record->ack->by);
      }
      if (pause.now() >= limit) break;
      pause.run_until(pause.now() + kLookInterval);
    }
    std::string why = state.leader ? state.leader->value() +
                                         " is gone, is busy ending its term for another reason, or "
                                         "has an older version"
                                   : "";
    if (kind_ == ControlKind::kResume) {
      const auto unpaused = why_not_resumed(store, keys);
      if (!unpaused) return unpaused.error();
      why = *unpaused;
    }
    return no(terminal, "no node has confirmed within " + format_duration(wait_) + ": " + why +
                            "; the command may still be obeyed" +
                            (kind_ == ControlKind::kPause ? ", and muster resume undoes it" : ""));
  }

  /// Why no node has obeyed a resume, by the worker files.
  Result<std::string> why_not_resumed(StoreAccess& store, const NamespaceKeys& keys) const {
    if (worker_.empty()) return std::string("no node that answers is paused");
    const auto object = store.get(keys.worker(WorkerId(worker_)));
    if (!object && !object.is(Errc::kNotFound)) return object.error();
    if (!object) {
      return "there is no node " + worker_ + "; muster workers --name " + arbiter_.name_space +
             " lists them";
    }
    const auto record = decode_whole(*object, decode_worker);
    return worker_ + (record && record->aside == "paused" ? " is paused but does not answer"
                                                          : " is not paused");
  }

  Result<int> obeyed(Terminal& terminal, const ControlCommand& command, const WorkerId& by) const {
    const Json json = {{"command", to_string(kind_)},
                       {"name", arbiter_.name_space},
                       {"id", command.id},
                       {"epoch", command.epoch.value()},
                       {"acknowledgedBy", by.value()}};
    terminal.line(json_ ? json.dump(-1, ' ', false, Json::error_handler_t::replace)
                        : by.value() + " obeys: " + to_string(kind_));
    return kDone;
  }

  Result<int> no(Terminal& terminal, const std::string& why) const {
    terminal.err << "muster " + std::string(name()) + ": " + why + "\n";
    return kNo;
  }

  const ControlKind kind_;
  ArbiterOptions arbiter_;
  std::string worker_;
  Duration wait_{0};
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_step_down_command() {
  return std::make_unique<ControlRequest>(ControlKind::kStepDown);
}
std::unique_ptr<Command> make_transfer_command() {
  return std::make_unique<ControlRequest>(ControlKind::kTransfer);
}
std::unique_ptr<Command> make_pause_command() {
  return std::make_unique<ControlRequest>(ControlKind::kPause);
}
std::unique_ptr<Command> make_resume_command() {
  return std::make_unique<ControlRequest>(ControlKind::kResume);
}

}  // namespace muster::cli
