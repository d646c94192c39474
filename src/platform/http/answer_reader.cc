#include "platform/http/answer_reader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "platform/http/syntax.h"

namespace muster::http {
namespace {

/// A line that gives the size of a chunk, with extensions, may be this long.
constexpr std::size_t kChunkLineBytesMax = 4096;
/// As much room is made for a body at once; more follows as it comes, whatever was announced.
constexpr std::size_t kRoomAtOnce = std::size_t{256} << 10;

bool digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether the list in `value` has the token `word`, which is in lower case.
bool lists(std::string_view value, std::string_view word) {
  for (const std::string_view each : split(value, ',')) {
    if (to_lower(trim(each)) == word) return true;
  }
  return false;
}

}  // namespace

std::size_t AnswerReader::read(std::string_view bytes) {
  const std::size_t all = bytes.size();
  begun_ = begun_ || all > 0;
  while (!bytes.empty() && state_ == State::kReading) {
    if (part_ == Part::kSized || part_ == Part::kUntilClose || part_ == Part::kChunk) {
      take_body(bytes);
    } else if (const auto text = take_line(bytes)) {
      line(*text);
    }
  }
  return all - bytes.size();
}

void AnswerReader::end() {
  if (state_ != State::kReading) return;
  if (part_ == Part::kUntilClose) {
    state_ = State::kDone;
  } else {
    invalid(begun_ ? "the answer is not complete" : "there was no answer");
  }
}

std::optional<std::string_view> AnswerReader::take_line(std::string_view& bytes) {
  const bool of_chunk = part_ == Part::kChunkSize || part_ == Part::kChunkEnd;
  const std::size_t before = of_chunk ? 0 : head_bytes_;
  const std::size_t most = of_chunk ? kChunkLineBytesMax : kAnswerHeadBytesMax;
  const std::size_t end = bytes.find('\n');
  const std::size_t size = end == bytes.npos ? bytes.size() : end + 1;
  if (before + line_.size() + size > most) {
    too_large();
    return {};
  }
  std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  if (end == bytes.npos || !line_.empty()) {
    line_.append(text);
    if (line_.back() != '\n') return {};
    taken_ = std::exchange(line_, {});
    text = taken_;
  }
  if (!of_chunk) head_bytes_ += text.size();
  if (!text.ends_with("\r\n")) {
    invalid("a line of it does not end with CR LF");
    return {};
  }
  text.remove_suffix(2);
  return text;
}

void AnswerReader::take_body(std::string_view& bytes) {
  const std::size_t size =
      part_ == Part::kUntilClose
          ? bytes.size()
          : static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  if (size > body_bytes_max_ - answer_.body.size()) return too_large();
  answer_.body.append(bytes.substr(0, size));
  bytes.remove_prefix(size);
  if (part_ == Part::kUntilClose) return;
  left_ -= size;
  if (left_ > 0) return;
  if (part_ == Part::kSized) {
    state_ = State::kDone;
  } else {
    part_ = Part::kChunkEnd;
  }
}

void AnswerReader::line(std::string_view text) {
  if (has_control(text)) return invalid("a line of it holds a control character");
  switch (part_) {
    case Part::kStatus:
      return status_line(text);
    case Part::kHeaders:
      return text.empty() ? head_ends() : header_line(text);
    case Part::kChunkSize:
      return chunk_size(text);
    case Part::kChunkEnd:
      part_ = Part::kChunkSize;
      return text.empty() ? void() : invalid("a chunk is longer than announced");
    default:  // Trailers.
      if (text.empty()) state_ = State::kDone;
  }
}

void AnswerReader::status_line(std::string_view text) {
  // "HTTP/1.1 200 OK"; some leave the last space and the reason out.
  const bool fits = text.size() >= 12 && text.starts_with("HTTP/1.") && digits(text.substr(7, 1)) &&
                    text[8] == ' ' && digits(text.substr(9, 3)) && text[9] != '0' &&
                    (text.size() == 12 || text[12] == ' ');
  if (!fits) return invalid("it is not HTTP/1.1");
  old_ = text[7] == '0';
  keep_alive_ = !old_;
  answer_.status = static_cast<int>(*parse_unsigned(text.substr(9, 3)));
  answer_.headers.clear();
  chunked_ = false;
  length_.reset();
  part_ = Part::kHeaders;
}

void AnswerReader::header_line(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || !is_token(text.substr(0, colon))) {
    return invalid(text.front() == ' ' || text.front() == '\t' ? "a header of it is folded"
                                                               : "a header of it has no name");
  }
  std::string name = to_lower(text.substr(0, colon));
  const std::string_view value = trim(text.substr(colon + 1));
  framing_header(name, value);
  answer_.headers.emplace_back(std::move(name), value);
}

void AnswerReader::framing_header(std::string_view name, std::string_view value) {
  if (name == "content-length") {
    length(value);
  } else if (name == "transfer-encoding") {
    if (chunked_ || to_lower(value) != "chunked") return invalid("its transfer coding is unknown");
    chunked_ = true;
  } else if (name == "connection") {
    if (lists(value, "close")) {
      keep_alive_ = false;
    } else if (old_ && lists(value, "keep-alive")) {
      keep_alive_ = true;
    }
  }
}

void AnswerReader::length(std::string_view value) {
  const auto said = digits(value) ? parse_unsigned(value) : std::nullopt;
  if (!said || (length_ && *length_ != *said)) return invalid("its length is not a number");
  length_ = said;
}

void AnswerReader::head_ends() {
  if (chunked_ && (length_ || old_)) return invalid("it has chunks where none are allowed");
  const int status = answer_.status;
  // Nobody was asked to change the protocol.
  if (status == 101) return invalid("it switches the protocol");
  if (status < 200) {
    part_ = Part::kStatus;
    return;
  }
  const bool tunnel = question_ == Question::kConnect && status < 300;
  if (tunnel || question_ == Question::kHead || status == 204 || status == 304) {
    state_ = State::kDone;
    return;
  }
  body_begins();
}

void AnswerReader::body_begins() {
  if (chunked_) {
    part_ = Part::kChunkSize;
    return;
  }
  if (!length_) {
    keep_alive_ = false;
    part_ = Part::kUntilClose;
    return;
  }
  if (*length_ > body_bytes_max_) return too_large();
  left_ = *length_;
  part_ = Part::kSized;
  answer_.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(left_, kRoomAtOnce)));
  if (left_ == 0) state_ = State::kDone;
}

void AnswerReader::chunk_size(std::string_view text) {
  std::string_view size = text.substr(0, text.find_first_of("; \t"));
  const std::string_view extensions = trim(text.substr(size.size()));
  if (!extensions.empty() && extensions.front() != ';') size = {};
  // 15 digits are more than memory has; they cannot overflow.
  if (size.empty() || size.size() > 15) return invalid("the size of a chunk is not a number");
  std::uint64_t value = 0;
  for (const char c : size) {
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!letter && (c < '0' || c > '9')) return invalid("the size of a chunk is not a number");
    value = value * 16 + static_cast<std::uint64_t>(letter ? (c | 0x20) - 'a' + 10 : c - '0');
  }
  if (value > body_bytes_max_ - answer_.body.size()) return too_large();
  left_ = value;
  part_ = value == 0 ? Part::kTrailers : Part::kChunk;
  if (value == 0) head_bytes_ = 0;
}

void AnswerReader::invalid(std::string why) {
  state_ = State::kInvalid;
  problem_ = std::move(why);
}

}  // namespace muster::http
