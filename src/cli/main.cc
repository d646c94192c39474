#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "base/log.h"
#include "cli/exit_code.h"
#include "cli/program.h"
#include "platform/line_writer.h"
#include "platform/process.h"
#include "platform/signals.h"

namespace {

muster::cli::WindowSize window_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return {};
  return {size.ws_row};
}

/// A machine that gives no memory or no thread is an answer, not a broken program: one sentence,
/// and no core. A command that runs is ended by its guardian, as after a kill.
[[noreturn]] void give_up() {
  const char* what = nullptr;
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    what = "out of memory; raise the limit (ulimit -v, MemoryMax=)";
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::resource_unavailable_try_again) {
      what = "cannot start another thread; raise the limit (ulimit -u, -v, TasksMax=)";
    }
  } catch (...) {  // Anything else is a mistake of ours.
  }
  if (what == nullptr) std::abort();
  std::fprintf(stderr, "muster: %s\n", what);
  ::_exit(muster::cli::kUnreachable);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace muster;
  std::set_terminate(give_up);
  open_missing_standard_descriptors();
  ignore_broken_pipes();
  ignore_file_size_signal();
  LineWriter errors(STDERR_FILENO);
  LineWriter events(STDOUT_FILENO);
  // Events are printed anyway; the log adds what an operator may have to act on.
  set_log_sink(
      [&errors](const LogLine& line) {
        errors.write("muster: " + std::string(to_string(line.level)) + ": " + format_text(line) +
                     "\n");
      },
      LogLevel::kWarn);
  const char* no_color = std::getenv("NO_COLOR");
  const bool seen = ::isatty(STDOUT_FILENO) == 1;
  const bool colour = seen && (no_color == nullptr || *no_color == '\0');
  cli::Terminal terminal{std::cout, std::cerr, colour, ::isatty(STDERR_FILENO) == 1,
                         [&errors](const std::string& lines) { errors.write(lines); }};
  terminal.events = &events;
  if (seen) terminal.window = window_size;
  const int code = cli::run(std::vector<std::string>(argv + 1, argv + argc), terminal);
  // A reader that has stopped reading holds up the thread that writes, but not this process.
  if (!errors.drain(1s) || !events.drain(0s)) ::_exit(code);
  set_log_sink({});
  return code;
}
