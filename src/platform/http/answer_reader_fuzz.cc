#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "platform/http/answer_reader.h"

namespace {

using muster::HttpResponse;
using muster::http::AnswerReader;
using State = AnswerReader::State;

constexpr std::size_t kBodyMax = 4096;

/// What came of an answer, in words, and how many bytes belong to it.
std::string read_in(std::size_t piece, std::string_view all, AnswerReader::Question question,
                    bool closed) {
  AnswerReader reader(question, kBodyMax);
  std::size_t used = 0;
  while (used < all.size() && reader.state() == State::kReading) {
    const std::string_view next = all.substr(used, piece);
    const std::size_t taken = reader.read(next);
    MUSTER_CHECK(taken <= next.size());
    // All of it, unless the answer ends here.
    MUSTER_CHECK(taken == next.size() || reader.state() != State::kReading);
    used += taken;
  }
  if (closed) reader.end();
  MUSTER_CHECK(!closed || reader.state() != State::kReading);
  MUSTER_CHECK(reader.state() == State::kDone || !reader.keep_alive());
  if (reader.state() != State::kDone) return std::to_string(static_cast<int>(reader.state()));
  const bool keep_alive = reader.keep_alive();
  const HttpResponse answer = reader.take();
  MUSTER_CHECK(answer.status >= 200 && answer.status <= 999);
  MUSTER_CHECK(answer.body.size() <= kBodyMax);
  std::string seen =
      std::to_string(used) + (keep_alive ? " k " : " c ") + std::to_string(answer.status) + "\n";
  std::size_t head_bytes = 0;
  for (const auto& [name, value] : answer.headers) {
    MUSTER_CHECK(!name.empty());
    MUSTER_CHECK(name.find_first_of("\r\n: ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos);
    MUSTER_CHECK(value.find_first_of("\r\n") == std::string::npos);
    head_bytes += name.size() + value.size();
    seen += name + ":" + value + "\n";
  }
  MUSTER_CHECK(head_bytes <= muster::http::kAnswerHeadBytesMax);
  return seen + answer.body;
}

}  // namespace

// An answer as it may arrive on a connection, whole and in pieces: the same comes of it, and no
// limit is broken. The first byte says what was asked, and whether the connection then closes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto question = static_cast<AnswerReader::Question>(data[0] % 3);
  const bool closed = (data[0] & 0x80U) != 0;
  const std::string whole = read_in(all.size() + 1, all, question, closed);
  for (const std::size_t piece : {1U, 5U}) {
    MUSTER_CHECK(read_in(piece, all, question, closed) == whole);
  }
  return 0;
}
