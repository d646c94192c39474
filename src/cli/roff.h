#pragma once

#include <string>

/// Text on its way into a manual page. Help texts are ours, so they are well-formed UTF-8.
namespace muster::cli::roff {

/// So that roff prints exactly `text`: no line of it is a request, no hyphen becomes a dash.
[[nodiscard]] std::string escaped(const std::string& text);
/// As escaped(), in lines of moderate length that roff fills again; ends with a line's end.
[[nodiscard]] std::string filled(const std::string& text);
[[nodiscard]] std::string bold(const std::string& text);
[[nodiscard]] std::string italic(const std::string& text);

}  // namespace muster::cli::roff
