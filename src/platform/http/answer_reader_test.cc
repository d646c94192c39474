#include "platform/http/answer_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::http {
namespace answer_reader_test {

using Question = AnswerReader::Question;
using State = AnswerReader::State;

struct Reading {
  State state;
  HttpResponse answer;
  std::size_t used;
  bool keep_alive;
  std::string problem;
};

/// In pieces of `piece` bytes.
Reading read_in(std::size_t piece, const std::string& bytes, Question question, std::size_t most) {
  AnswerReader reader(question, most);
  std::size_t used = 0;
  while (used < bytes.size() && reader.state() == State::kReading) {
    const std::string_view next = std::string_view(bytes).substr(used, piece);
    const std::size_t taken = reader.read(next);
    used += taken;
    if (taken < next.size()) break;
  }
  const bool keep_alive = reader.keep_alive();
  return {reader.state(), reader.take(), used, keep_alive, reader.problem()};
}

/// Whatever the pieces are, the answer is the same.
Reading read(const std::string& bytes, Question question = Question::kOther,
             std::size_t most = 1000) {
  Reading whole = read_in(bytes.size() + 1, bytes, question, most);
  for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
    const Reading other = read_in(piece, bytes, question, most);
    EXPECT_EQ(whole.state, other.state) << bytes << " in pieces of " << piece;
    EXPECT_EQ(whole.used, other.used) << bytes << " in pieces of " << piece;
    if (whole.state == State::kDone) {
      EXPECT_EQ(whole.answer.body, other.answer.body);
      EXPECT_EQ(whole.answer.headers, other.answer.headers);
      EXPECT_EQ(whole.keep_alive, other.keep_alive);
    }
  }
  return whole;
}

State state_of(const std::string& bytes) {
  return read(bytes).state;
}

TEST(AnswerReaderTest, ABodyOfAGivenLengthEndsThere) {
  const auto read_it = read("HTTP/1.1 200 OK\r\nETag: \"x\" \r\nContent-Length: 5\r\n\r\nhello");
  ASSERT_EQ(read_it.state, State::kDone) << read_it.problem;
  EXPECT_EQ(read_it.answer.status, 200);
  EXPECT_EQ(read_it.answer.body, "hello");
  EXPECT_EQ(read_it.answer.header("etag"), "\"x\"");
  EXPECT_TRUE(read_it.keep_alive);
}

TEST(AnswerReaderTest, WhatFollowsTheAnswerIsNotPartOfIt) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  EXPECT_EQ(read(answer + "HTTP/1.1 200 Stolen\r\n").used, answer.size());
}

TEST(AnswerReaderTest, ChunksAreJoinedAndTheirExtensionsAndTrailersSkipped) {
  const auto chunked = read(
      "HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "5;name=\"va;lue\"\r\nhello\r\nA \r\n, chunked \r\n0;last\r\nX-Trailer: 1\r\n\r\nmore");
  ASSERT_EQ(chunked.state, State::kDone) << chunked.problem;
  EXPECT_EQ(chunked.answer.body, "hello, chunked ");
  EXPECT_EQ(chunked.answer.header("x-trailer"), "");
  EXPECT_TRUE(chunked.keep_alive);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").state,
            State::kDone);
}

TEST(AnswerReaderTest, SomeAnswersHaveNoBodyWhateverTheyAnnounce) {
  for (const char* status : {"204 No Content", "304 Not Modified"}) {
    const auto none = read(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 7\r\n\r\n");
    EXPECT_EQ(none.state, State::kDone) << status;
    EXPECT_TRUE(none.keep_alive);
  }
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n";
  EXPECT_EQ(read(ok, Question::kHead).state, State::kDone);
  EXPECT_EQ(read(ok, Question::kConnect).state, State::kDone);
  EXPECT_EQ(read(ok).state, State::kReading);
  EXPECT_EQ(read("HTTP/1.1 407 No\r\nContent-Length: 7\r\n\r\n", Question::kConnect).state,
            State::kReading);
}

TEST(AnswerReaderTest, InterimAnswersAreSkippedWithTheirHeaders) {
  const auto last = read(
      "HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ASSERT_EQ(last.state, State::kDone) << last.problem;
  EXPECT_EQ(last.answer.status, 200);
  EXPECT_EQ(last.answer.header("link"), "");
  EXPECT_TRUE(last.keep_alive);
  EXPECT_EQ(state_of("HTTP/1.1 101 Switching\r\n\r\n"), State::kInvalid) << "nobody asked for it";
}

TEST(AnswerReaderTest, ABodyWithoutAnEndEndsWithItsConnection) {
  AnswerReader reader(Question::kOther, 100);
  reader.read("HTTP/1.1 200 OK\r\n\r\nhello");
  ASSERT_EQ(reader.state(), State::kReading);
  reader.end();
  ASSERT_EQ(reader.state(), State::kDone);
  EXPECT_FALSE(reader.keep_alive());
  EXPECT_EQ(reader.take().body, "hello");
}

TEST(AnswerReaderTest, AnythingElseIsNotCompleteWhenItsConnectionEnds) {
  for (const char* part :
       {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"}) {
    AnswerReader reader(Question::kOther, 100);
    reader.read(part);
    EXPECT_EQ(reader.begun(), *part != '\0');
    reader.end();
    EXPECT_EQ(reader.state(), State::kInvalid) << part;
  }
}

TEST(AnswerReaderTest, AConnectionIsKeptAsHttpSays) {
  const auto kept = [](const std::string& version, const std::string& connection) {
    const std::string line = connection.empty() ? "" : "Connection: " + connection + "\r\n";
    return read("HTTP/1." + version + " 200 OK\r\n" + line + "Content-Length: 0\r\n\r\n")
        .keep_alive;
  };
  EXPECT_TRUE(kept("1", ""));
  EXPECT_FALSE(kept("1", "close"));
  EXPECT_FALSE(kept("1", "x, Close"));
  EXPECT_TRUE(kept("1", "closet"));
  EXPECT_FALSE(kept("0", ""));
  EXPECT_TRUE(kept("0", "Keep-Alive"));
}

TEST(AnswerReaderTest, WhatTwoReadersMightUnderstandDifferentlyIsRefused) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const std::string& bytes : {
           ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
           ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
           ok + "Transfer-Encoding: gzip, chunked\r\n\r\n",
           ok + "Transfer-Encoding: identity\r\n\r\n",
           ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
           std::string("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
           ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
           ok + "Content-Length: 5, 5\r\n\r\n",
           ok + "Content-Length: +5\r\n\r\n",
           ok + "Content-Length: 0x5\r\n\r\n",
           ok + "Content-Length:\r\n\r\n",
           ok + "Content-Length: 99999999999999999999\r\n\r\n",
           ok + "X-One: 1\r\n folded: 2\r\n\r\n",
           ok + "X-One : 1\r\n\r\n",
           ok + ": 1\r\n\r\n",
           ok + "no colon\r\n\r\n",
           ok + "X-One: 1\rContent-Length: 5\r\n\r\n",
           ok + std::string("X-One: a\0b\r\n\r\n", 14),
           ok + "X-One: 1\n\r\n",
           std::string("HTTP/1.1 200 OK\n\n"),
       }) {
    EXPECT_EQ(state_of(bytes), State::kInvalid) << bytes;
  }
}

TEST(AnswerReaderTest, TheSameLengthGivenTwiceIsStillOne) {
  EXPECT_EQ(state_of("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"),
            State::kDone);
}

TEST(AnswerReaderTest, WhatIsNoHttpIsRefused) {
  for (const char* bytes : {"HTTP/2 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000\r\n",
                            "HTTP/1.1  200 OK\r\n", "HTTP/1.1 099 OK\r\n", "ICY 200 OK\r\n", "\r\n",
                            "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.x 200 OK\r\n"}) {
    EXPECT_EQ(state_of(bytes), State::kInvalid) << bytes;
  }
}

TEST(AnswerReaderTest, ChunksMustSayWhatTheyHold) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"\r\n", "x\r\n", "-1\r\n", "0x5\r\nhello\r\n", " 5\r\nhello\r\n", "5\r\nhello!\r\n",
        "5 x\r\nhello\r\n", "1000000000000000\r\n", "5\nhello\r\n", ";5\r\n"}) {
    EXPECT_EQ(state_of(head + body), State::kInvalid) << body;
  }
}

TEST(AnswerReaderTest, HeadsBodiesAndTrailersHaveLimits) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  const auto within = [](const std::string& bytes) {
    return read_in(4096, bytes, Question::kOther, 10).state;
  };
  EXPECT_EQ(within(ok + "Content-Length: 11\r\n\r\n"), State::kTooLarge);
  EXPECT_EQ(within(ok + "Content-Length: 10\r\n\r\n0123456789"), State::kDone);
  EXPECT_EQ(within(ok + "\r\n0123456789."), State::kTooLarge);
  EXPECT_EQ(within(chunked + "6\r\n012345\r\n5\r\n"), State::kTooLarge);
  EXPECT_EQ(within(chunked + "6\r\n012345\r\n4\r\n6789\r\n0\r\n\r\n"), State::kDone);
  const std::string line = "X-Long: " + std::string(1000, '.') + "\r\n";
  std::string many;
  for (int i = 0; i < 64; ++i) many += line;
  EXPECT_EQ(within(ok + many + "Content-Length: 0\r\n\r\n"), State::kDone);
  EXPECT_EQ(within(ok + many + many), State::kTooLarge);
  EXPECT_EQ(within(ok + "X-Long: " + std::string(100'000, '.')), State::kTooLarge);
  EXPECT_EQ(within(chunked + "0\r\n" + many + "\r\n"), State::kDone);
  EXPECT_EQ(within(chunked + "0\r\n" + many + many), State::kTooLarge);
  EXPECT_EQ(within(chunked + "5;" + std::string(5000, '.')), State::kTooLarge);
  std::string interim;
  for (int i = 0; i < 4000; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(within(interim), State::kTooLarge) << "answers that never come to an end";
}

}  // namespace answer_reader_test
}  // namespace muster::http
