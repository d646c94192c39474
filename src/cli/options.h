#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace CLI {
class App;
}

/// Options as commands declare them. Each takes one value, is checked the same way wherever the
/// value comes from, and writes to a variable that must outlive the parser and holds the default.
namespace muster::cli {

using Setter = std::function<Status(const std::string&)>;

/// `name` is the long name with its dashes, or several with commas in between, of which the first
/// is the usual one; `type` and `initial` are shown by --help.
void add_value(CLI::App& app, const std::string& name, const std::string& type,
               const std::string& initial, const std::string& text, Setter set);
void add_text(CLI::App& app, const std::string& name, const std::string& type, std::string& target,
              const std::string& text);
void add_duration(CLI::App& app, const std::string& name, Duration& target,
                  const std::string& text);
/// on or off.
void add_switch(CLI::App& app, const std::string& name, bool& target, const std::string& text);
/// A number above zero.
void add_number(CLI::App& app, const std::string& name, double& target, const std::string& text);
/// An option that may be given several times, each time with one value. From the environment and
/// from a file it comes once.
void add_values(CLI::App& app, const std::string& name, const std::string& type,
                const std::string& text, Setter set);
/// Takes no value: its presence says yes.
void add_flag(CLI::App& app, const std::string& name, bool& target, const std::string& text);

/// A word without a name in front, in the order of these; the value stays empty when it is absent.
void add_argument(CLI::App& app, const std::string& name, std::string& target,
                  const std::string& text);

/// Lets --help wrap its lines and write defaults as "(default: …)".
void format_help(CLI::App& app);
/// Lets --help and the manual say that a command line may follow, after `--`.
void show_command_line(CLI::App& app);
[[nodiscard]] bool shows_command_line(const CLI::App& app);

/// Whether a store in a directory must be there. A command that only reads makes none.
enum class ExistingStore { kRequired, kMayBeMade };
/// kInvalid if `url`, the value of that option, is a file:// address whose directory does not
/// exist.
[[nodiscard]] Status check_directory(const std::string& option, const std::string& url);

/// A whole number from 1 to `most`.
[[nodiscard]] Result<std::uint32_t> parse_count(const std::string& text,
                                                std::uint32_t most = 1'000'000);
template <typename Number>
void add_count(CLI::App& app, const std::string& name, Number& target, const std::string& text,
               std::uint32_t most = 1'000'000) {
  add_value(app, name, "N", std::to_string(target), text,
            [&target, most](const std::string& value) {
              const auto number = parse_count(value, most);
              if (!number) return Status(number.error());
              target = static_cast<Number>(*number);
              return Status(Done{});
            });
}

}  // namespace muster::cli
