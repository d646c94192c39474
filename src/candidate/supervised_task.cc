#include "candidate/supervised_task.h"

#include <unistd.h>

#include <exception>
#include <string_view>
#include <utility>

namespace muster {
namespace {

Status run_safely(const SupervisedTask& task, const TaskContext& context) {
  try {
    return task(context);
  } catch (const std::exception& e) {
    return {Errc::kInvalid, std::string("the task threw an exception: ") + e.what()};
  } catch (...) {
    return {Errc::kInvalid, "the task threw an object that is not a std::exception"};
  }
}

[[noreturn]] void end_process() {
  constexpr std::string_view kMessage =
      "muster: a task still runs at the end of its lease; this process exits, so that the work is "
      "not done twice\n";
  // Not through stdio, whose lock the task may hold.
  [[maybe_unused]] const ssize_t written = ::write(2, kMessage.data(), kMessage.size());
  ::_exit(TaskWatchdog::kExitCode);
}

}  // namespace

TaskRun::TaskRun(Loop& loop, SupervisedTask task, std::shared_ptr<const LeaseGuard> guard,
                 Callbacks callbacks)
    : thread_([&loop, task = std::move(task), guard = std::move(guard),
               ready = Loop::Task(lifetime_.wrap(std::move(callbacks.ready))),
               ended = std::function<void(Status)>(lifetime_.wrap(std::move(callbacks.ended)))](
                  std::stop_token stop) {
        const TaskContext context{std::move(stop), *guard, [&] { loop.post(ready); }};
        loop.post([ended, outcome = run_safely(task, context)] { ended(outcome); });
      }) {}

TaskWatchdog::~TaskWatchdog() {
  thread_.run([this] { timer_.cancel(); });
}

void TaskWatchdog::watch(MonoTime when) {
  thread_.loop().post([this, when] { timer_.arm(when, end_process); });
}

void TaskWatchdog::clear() {
  thread_.loop().post([this] { timer_.cancel(); });
}

}  // namespace muster
