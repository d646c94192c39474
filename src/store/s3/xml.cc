#include "store/s3/xml.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace muster::s3 {
namespace {

constexpr std::size_t kBytesMax = std::size_t{16} << 20;
constexpr std::size_t kDepthMax = 32;

// Looked up for every character of a list, where a search in a set of characters is far slower.
constexpr auto kEndsName = [] {
  std::array<bool, 256> table{};
  for (const char c : {' ', '\t', '\r', '\n', '/', '>', '=', '\'', '"', '<', '&'}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view without_prefix(std::string_view name) {
  const auto colon = name.rfind(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

/// False for what is no Unicode scalar value.
bool append_utf8(std::uint32_t c, std::string& out) {
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return false;
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    tail(12), tail(6), tail(0);
  }
  return true;
}

/// `entity` is what stands between & and ;.
bool append_entity(std::string_view entity, std::string& out) {
  static constexpr std::pair<std::string_view, char> kNamed[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, c] : kNamed) {
    if (entity == name) return out += c, true;
  }
  if (!entity.starts_with('#')) return false;
  entity.remove_prefix(1);
  const bool hex = entity.starts_with('x');
  if (hex) entity.remove_prefix(1);
  std::uint32_t c = 0;
  const char* end = entity.data() + entity.size();
  const auto [stop, error] = std::from_chars(entity.data(), end, c, hex ? 16 : 10);
  return error == std::errc() && stop == end && append_utf8(c, out);
}

/// Walks the text once and keeps the open elements on a stack, so that no input is deeper for us
/// than kDepthMax.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<XmlElement> read() {
    if (rest_.size() > kBytesMax) return bad("larger than 16 MiB");
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    while (!rest_.empty()) {
      const bool ok = rest_[0] == '<' ? markup() : text();
      if (!ok) return bad(why_);
    }
    if (!open_.empty() || !done_) return bad("not complete");
    return std::move(root_);
  }

 private:
  static Error bad(std::string why) {
    return {Errc::kCorrupt, "the answer is XML that is " + std::move(why)};
  }
  bool fail(const char* why) { return why_ = why, false; }

  bool markup() {
    if (rest_.starts_with("<!--")) return skip_past("-->");
    if (rest_.starts_with("<?")) return skip_past("?>");
    if (rest_.starts_with("<![CDATA[")) return cdata();
    if (rest_.starts_with("<!")) return fail("defining a document type");
    if (rest_.starts_with("</")) return close();
    return open();
  }

  bool skip_past(std::string_view mark) {
    const auto end = rest_.find(mark, 2);
    if (end == rest_.npos) return fail("not complete");
    rest_.remove_prefix(end + mark.size());
    return true;
  }

  bool cdata() {
    constexpr std::size_t kStart = std::string_view("<![CDATA[").size();
    const auto end = rest_.find("]]>", kStart);
    if (end == rest_.npos || open_.empty()) return fail("not well-formed");
    open_.back().text += rest_.substr(kStart, end - kStart);
    rest_.remove_prefix(end + 3);
    return true;
  }

  bool text() {
    std::string_view run = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(run.size());
    if (open_.empty()) return trim(run).empty() || fail("not well-formed");
    std::string& out = open_.back().text;
    while (!run.empty()) {
      const auto ampersand = run.find('&');
      out += run.substr(0, ampersand);
      if (ampersand == run.npos) break;
      run.remove_prefix(ampersand + 1);
      const auto end = run.find(';');
      if (end == run.npos || !append_entity(run.substr(0, end), out)) {
        return fail("using an unknown entity");
      }
      run.remove_prefix(end + 1);
    }
    return true;
  }

  bool open() {
    if (done_ || open_.size() == kDepthMax) return fail("nested too deep or has two roots");
    rest_.remove_prefix(1);
    const std::string_view name = take_name();
    if (name.empty()) return fail("not well-formed");
    bool empty_element = false;
    if (!skip_attributes(empty_element)) return fail("not well-formed");
    open_.push_back({std::string(without_prefix(name)), {}, {}});
    return empty_element ? close_top() : true;
  }

  bool close() {
    rest_.remove_prefix(2);
    const std::string_view name = take_name();
    skip_space();
    if (!rest_.starts_with('>') || open_.empty() || open_.back().name != without_prefix(name)) {
      return fail("not well-formed");
    }
    rest_.remove_prefix(1);
    return close_top();
  }

  bool close_top() {
    XmlElement closed = std::move(open_.back());
    open_.pop_back();
    if (!open_.empty()) {
      std::vector<XmlElement>& siblings = open_.back().children;
      // As many as an entry of a list has: growing to that would move each several times.
      if (siblings.empty()) siblings.reserve(8);
      siblings.push_back(std::move(closed));
    } else {
      root_ = std::move(closed);
      done_ = true;
    }
    return true;
  }

  std::string_view take_name() {
    std::size_t size = 0;
    while (size < rest_.size() && !kEndsName[static_cast<unsigned char>(rest_[size])]) ++size;
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }

  void skip_space() {
    while (!rest_.empty() && is_space(rest_[0])) rest_.remove_prefix(1);
  }

  /// Up to and with the '>' of the tag.
  bool skip_attributes(bool& empty_element) {
    while (true) {
      skip_space();
      empty_element = rest_.starts_with('/');
      if (empty_element) rest_.remove_prefix(1);
      if (rest_.starts_with('>')) return rest_.remove_prefix(1), true;
      if (empty_element || take_name().empty()) return false;
      skip_space();
      if (!rest_.starts_with('=')) return false;
      rest_.remove_prefix(1);
      skip_space();
      if (!rest_.starts_with('"') && !rest_.starts_with('\'')) return false;
      const auto end = rest_.find(rest_[0], 1);
      if (end == rest_.npos) return false;
      rest_.remove_prefix(end + 1);
    }
  }

  std::string_view rest_;
  std::vector<XmlElement> open_;
  XmlElement root_;
  bool done_ = false;
  const char* why_ = "";
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  for (const XmlElement& c : children) {
    if (c.name == wanted) return &c;
  }
  return nullptr;
}

std::string_view XmlElement::child_text(std::string_view wanted) const {
  const XmlElement* c = child(wanted);
  return c == nullptr ? std::string_view() : std::string_view(c->text);
}

Result<XmlElement> parse_xml(std::string_view text) {
  return Reader(text).read();
}

}  // namespace muster::s3
