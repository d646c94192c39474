#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/log.h"
#include "cli/program.h"
#include "platform/signals.h"

int main(int argc, char** argv) {
  using namespace muster;
  ignore_broken_pipes();
  // Events are printed anyway; the log adds what an operator may have to act on.
  set_log_sink(
      [](const LogLine& line) {
        std::cerr << "muster: " + std::string(to_string(line.level)) + ": " + format_text(line) +
                         "\n";
      },
      LogLevel::kWarn);
  const char* no_color = std::getenv("NO_COLOR");
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
  cli::Terminal terminal{std::cout, std::cerr, colour, ::isatty(STDERR_FILENO) == 1};
  return cli::run(std::vector<std::string>(argv + 1, argv + argc), terminal);
}
