#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/http/http_client.h"

namespace muster::http {

/// The heads of an answer, interim ones included, may be this long together, and so may the
/// trailers of a chunked body.
inline constexpr std::size_t kAnswerHeadBytesMax = std::size_t{64} << 10;

/// Reads one answer of HTTP/1.1 from the bytes of a connection, in pieces of any size.
///
/// Strict, because two readers that disagree about where an answer ends can be played off against
/// each other: lines end with CR LF, headers are not folded, a length is given once, and never
/// together with chunks; no coding but `chunked` is known. Extensions of chunks and trailers are
/// skipped. Interim answers (1xx) are, too. Pure: no socket, no clock.
class AnswerReader {
 public:
  /// What the answer belongs to, which decides whether it has a body.
  enum class Question {
    kOther,
    kHead,     ///< A body is announced, and does not come.
    kConnect,  ///< After 2xx the connection is a tunnel.
  };
  enum class State {
    kReading,   ///< There is more to come.
    kDone,      ///< take() has the answer.
    kTooLarge,  ///< More than `body_bytes_max` bytes, or a head beyond its limit.
    kInvalid,   ///< No answer of HTTP/1.1: problem() says why.
  };

  AnswerReader(Question question, std::size_t body_bytes_max)
      : question_(question), body_bytes_max_(body_bytes_max) {}

  /// Returns: how many of `bytes` belong to this answer. Fewer than all only when the answer ends
  /// within them, or cannot be read.
  std::size_t read(std::string_view bytes);
  /// The other side has closed the connection: the end of an answer that has no other end.
  void end();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// A byte of the answer has come.
  [[nodiscard]] bool begun() const { return begun_; }
  /// The connection may serve another request. Only once the answer is complete.
  [[nodiscard]] bool keep_alive() const { return state_ == State::kDone && keep_alive_; }
  /// Requires: state() is kDone.
  [[nodiscard]] HttpResponse take() { return std::move(answer_); }

 private:
  enum class Part {
    kStatus,
    kHeaders,
    kSized,       ///< A body of `left_` bytes.
    kUntilClose,  ///< A body that ends with the connection.
    kChunkSize,
    kChunk,  ///< `left_` bytes of one.
    kChunkEnd,
    kTrailers,
  };

  /// A line without its end; none while it is not complete, or when it cannot be one.
  std::optional<std::string_view> take_line(std::string_view& bytes);
  void take_body(std::string_view& bytes);
  void line(std::string_view text);
  void status_line(std::string_view text);
  void header_line(std::string_view text);
  void framing_header(std::string_view name, std::string_view value);
  void length(std::string_view value);
  void head_ends();
  void body_begins();
  void chunk_size(std::string_view text);
  void invalid(std::string why);
  void too_large() { state_ = State::kTooLarge; }

  const Question question_;
  const std::size_t body_bytes_max_;
  State state_ = State::kReading;
  Part part_ = Part::kStatus;
  std::string problem_;
  bool begun_ = false;
  bool keep_alive_ = true;
  bool chunked_ = false;
  bool old_ = false;  ///< HTTP/1.0.
  std::optional<std::uint64_t> length_;
  std::uint64_t left_ = 0;
  std::size_t head_bytes_ = 0;  ///< Of all lines so far, sizes of chunks apart.
  std::string line_;            ///< The beginning of a line whose end has not come.
  std::string taken_;           ///< A line that was in pieces, while it is looked at.
  HttpResponse answer_;
};

}  // namespace muster::http
