#include <grpc/support/log.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/log.h"
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

}  // namespace

int main(int argc, char** argv) {
  using namespace muster;
  open_missing_standard_descriptors();
  ignore_broken_pipes();
  LineWriter errors(STDERR_FILENO);
  LineWriter events(STDOUT_FILENO);
  // Events are printed anyway; the log adds what an operator may have to act on.
  set_log_sink(
      [&errors](const LogLine& line) {
        errors.write("muster: " + std::string(to_string(line.level)) + ": " + format_text(line) +
                     "\n");
      },
      LogLevel::kWarn);
  // What gRPC finds is told once, in the command's own words; GRPC_VERBOSITY brings its log back.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
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
