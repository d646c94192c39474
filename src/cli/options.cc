#include "cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "store/url.h"

namespace muster::cli {
namespace {

// The shortest text that reads back as the number.
std::string format_number(double number) {
  std::string text(32, '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

/// Prints an option as "--name TYPE", its text wrapped, and "(default: …)" behind it.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option(const CLI::Option* option, bool by_place) const override {
    const std::string left = "  " + make_option_name(option, by_place) + make_option_opts(option);
    std::string result = left;
    std::size_t at = left.size();
    const auto begin_line = [&] {
      result += "\n" + std::string(kTextColumn, ' ');
      at = kTextColumn;
    };
    if (at + 1 < kTextColumn) {
      result += std::string(kTextColumn - at, ' ');
      at = kTextColumn;
    } else {
      begin_line();
    }
    const std::string text = make_option_desc(option);
    for (const std::string_view word : split(text, ' ')) {
      if (at > kTextColumn && at + 1 + word.size() > kLineWidth) {
        begin_line();
      } else if (at > kTextColumn) {
        result += ' ';
        ++at;
      }
      result += word;
      at += word.size();
    }
    return result + "\n";
  }

  [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return (type.empty() ? "" : " " + type) + (option->get_required() ? " (required)" : "");
  }

  [[nodiscard]] std::string make_option_desc(const CLI::Option* option) const override {
    const std::string initial = option->get_default_str();
    return option->get_description() + (initial.empty() ? "" : " (default: " + initial + ")");
  }

 private:
  static constexpr std::size_t kTextColumn = 30;
  static constexpr std::size_t kLineWidth = 100;
};

class CommandLineFormatter final : public HelpFormatter {
 public:
  [[nodiscard]] std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = Formatter::make_usage(app, std::move(name));
    usage.insert(usage.find_last_not_of('\n') + 1, " [-- COMMAND [ARG ...]]");
    return usage;
  }
};

}  // namespace

void add_value(CLI::App& app, const std::string& name, const std::string& type,
               const std::string& initial, const std::string& text, Setter set) {
  const auto apply = [name = name.substr(0, name.find(',')),
                      set = std::move(set)](const std::string& value) {
    if (const Status status = set(value); !status) {
      throw CLI::ValidationError(name, status.error().message);
    }
  };
  app.add_option_function<std::string>(name, apply, text)->type_name(type)->default_str(initial);
}

void add_values(CLI::App& app, const std::string& name, const std::string& type,
                const std::string& text, Setter set) {
  const auto apply = [name, set = std::move(set)](const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      if (const Status status = set(value); !status) {
        throw CLI::ValidationError(name, status.error().message);
      }
    }
  };
  app.add_option_function<std::vector<std::string>>(name, apply, text)
      ->type_name(type)
      ->allow_extra_args(false);
}

void add_text(CLI::App& app, const std::string& name, const std::string& type, std::string& target,
              const std::string& text) {
  add_value(app, name, type, target, text, [&target](const std::string& value) -> Status {
    if (value.empty()) return {Errc::kInvalid, "the value is empty"};
    target = value;
    return Done{};
  });
}

void add_duration(CLI::App& app, const std::string& name, Duration& target,
                  const std::string& text) {
  const std::string initial = target > Duration(0) ? format_duration(target) : "";
  add_value(app, name, "TIME", initial, text, [&target](const std::string& value) {
    const auto duration = parse_duration(value);
    if (!duration) return Status(duration.error());
    target = *duration;
    return Status(Done{});
  });
}

void add_switch(CLI::App& app, const std::string& name, bool& target, const std::string& text) {
  add_value(app, name, "on|off", target ? "on" : "off", text, [&target](const std::string& value) {
    const auto flag = parse_bool(value);
    if (!flag) return Status(flag.error());
    target = *flag;
    return Status(Done{});
  });
}

void add_number(CLI::App& app, const std::string& name, double& target, const std::string& text) {
  add_value(app, name, "NUMBER", format_number(target), text,
            [&target](const std::string& value) -> Status {
              double number = 0;
              const auto [end, error] =
                  std::from_chars(value.data(), value.data() + value.size(), number);
              if (error != std::errc() || end != value.data() + value.size() ||
                  !std::isfinite(number) || number <= 0) {
                return {Errc::kInvalid, "\"" + value + "\" is not a number above zero"};
              }
              target = number;
              return Done{};
            });
}

void add_flag(CLI::App& app, const std::string& name, bool& target, const std::string& text) {
  app.add_flag(name, target, text);
}

void add_argument(CLI::App& app, const std::string& name, std::string& target,
                  const std::string& text) {
  app.add_option(name, target, text)->type_name("");
}

void format_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
}

void show_command_line(CLI::App& app) {
  app.formatter(std::make_shared<CommandLineFormatter>());
}

bool shows_command_line(const CLI::App& app) {
  return dynamic_cast<const CommandLineFormatter*>(app.get_formatter().get()) != nullptr;
}

Status check_directory(const std::string& option, const std::string& url) {
  const auto address = Url::parse(url);
  if (!address || address->scheme != "file") return Done{};
  std::error_code unknown;
  const auto there = std::filesystem::status(address->path, unknown);
  if (there.type() != std::filesystem::file_type::not_found) return Done{};
  return {Errc::kInvalid, option + " " + url + ": the directory " + address->path +
                              " does not exist; check the path, or start a server or worker that "
                              "uses it"};
}

Result<std::uint32_t> parse_count(const std::string& text, std::uint32_t most) {
  const auto number = parse_unsigned(text);
  if (!number || *number == 0 || *number > most) {
    return {Errc::kInvalid,
            "\"" + text + "\" is not a whole number from 1 to " + std::to_string(most)};
  }
  return static_cast<std::uint32_t>(*number);
}

}  // namespace muster::cli
