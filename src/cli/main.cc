#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/log.h"
#include "cli/program.h"
#include "platform/line_writer.h"
#include "platform/signals.h"

int main(int argc, char** argv) {
  using namespace muster;
  ignore_broken_pipes();
  LineWriter errors(STDERR_FILENO);
  // Events are printed anyway; the log adds what an operator may have to act on.
  set_log_sink(
      [&errors](const LogLine& line) {
        errors.write("muster: " + std::string(to_string(line.level)) + ": " + format_text(line) +
                     "\n");
      },
      LogLevel::kWarn);
  const char* no_color = std::getenv("NO_COLOR");
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
  cli::Terminal terminal{std::cout, std::cerr, colour, ::isatty(STDERR_FILENO) == 1,
                         [&errors](const std::string& lines) { errors.write(lines); }};
  const int code = cli::run(std::vector<std::string>(argv + 1, argv + argc), terminal);
  // A reader that has stopped reading holds up the thread that writes, but not this process.
  if (!errors.drain(1s)) ::_exit(code);
  set_log_sink({});
  return code;
}
