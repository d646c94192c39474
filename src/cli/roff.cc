#include "cli/roff.h"

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <vector>

namespace muster::cli::roff {
namespace {

std::vector<std::uint32_t> code_points(const std::string& text) {
  std::vector<std::uint32_t> result;
  for (const char c : text) {
    const std::uint32_t byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      result.push_back(byte);
    } else if (byte < 0xC0 && !result.empty()) {
      result.back() = (result.back() << 6) | (byte & 0x3F);
    } else {
      result.push_back(byte & (byte < 0xE0 ? 0x1F : byte < 0xF0 ? 0x0F : 0x07));
    }
  }
  return result;
}

std::string character(std::uint32_t c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    case 0x2026:
      return "...";  // A terminal without UTF-8 would show nothing at all.
    default:
      break;
  }
  if (c < 0x80) return std::string(1, static_cast<char>(c));
  char text[16];
  std::snprintf(text, sizeof text, "\\[u%04X]", static_cast<unsigned>(c));
  return text;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  bool line_begins = true;
  for (const std::uint32_t c : code_points(text)) {
    // A dot would begin a request; an apostrophe would, too, but is never printed as one.
    if (line_begins && c == '.') result += "\\&";
    result += character(c);
    line_begins = c == '\n';
  }
  return result;
}

std::string filled(const std::string& text) {
  constexpr std::size_t kColumns = 76;
  std::istringstream words(text);
  std::string result;
  std::string line;
  for (std::string word; words >> word;) {
    const std::string next = escaped(word);
    if (!line.empty() && line.size() + 1 + next.size() > kColumns) {
      result += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + next;
  }
  return result + line + "\n";
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

}  // namespace muster::cli::roff
