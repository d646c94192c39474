#include "cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "platform/files.h"

namespace muster::cli {
namespace {

std::string painted(bool colour, const char* code, const std::string& text) {
  return colour ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
}

}  // namespace

void Terminal::line(const std::string& text) {
  errno = 0;
  out << text << '\n' << std::flush;
  if (!out && write_error == 0) write_error = errno;
}
void Terminal::prepare() {
  if (events != nullptr) events->write("");
  if (told) told("");
}
Status Terminal::finish() {
  // A reader that is slow gets what there is; one that has stopped reading is not waited for.
  if (events != nullptr) (void)events->drain(1s);
  errno = 0;
  if (!out.flush() && write_error == 0) write_error = errno;
  if (!unread()) return Done{};
  const int error = events != nullptr && events->broken() ? events->error() : write_error;
  if (error == 0 || error == EPIPE) {
    return {Errc::kUnavailable, "cannot write to standard output; its reader has closed it"};
  }
  return files::failure(error, "write to standard output");
}
void Terminal::event(const std::string& text) {
  if (events == nullptr) return line(text);
  events->write(text + '\n');
}
void Terminal::draw(std::string text) {
  if (events != nullptr) {
    events->write(std::move(text));
  } else {
    out << text << std::flush;
  }
}
bool Terminal::unread() const {
  return !out || (events != nullptr && events->broken());
}
void Terminal::when_unread(std::function<void()> act) const {
  if (events != nullptr) events->when_broken(std::move(act));
}
void Terminal::note(const std::string& lines) {
  if (told) return told(lines);
  err << lines << std::flush;
}
std::string Terminal::green(const std::string& text) const {
  return painted(colour, "32", text);
}
std::string Terminal::red(const std::string& text) const {
  return painted(colour, "31", text);
}
std::string Terminal::yellow(const std::string& text) const {
  return painted(colour, "33", text);
}
std::string Terminal::dim(const std::string& text) const {
  return painted(colour, "2", text);
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    table += line + "\n";
  }
  return table;
}

}  // namespace muster::cli
