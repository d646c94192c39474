// Servers that are none, on real sockets: what a call hears, and that it never left.
#include "rpc/trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "platform/listener.h"
#include "rpc/channel.h"

namespace muster::rpc {
namespace trouble_test {

using Kind = Trouble::Kind;
using ::testing::HasSubstr;

/// Says something to everybody who connects, and may hang up at once.
class Stranger {
 public:
  Stranger(EventLoop& loop, std::string says, bool hangs_up)
      : says_(std::move(says)), listener_(loop, {}, [this, hangs_up](UniqueFd fd) {
          EXPECT_EQ(::send(fd.get(), says_.data(), says_.size(), MSG_NOSIGNAL),
                    static_cast<ssize_t>(says_.size()));
          ++connections;
          if (hangs_up) ::shutdown(fd.get(), SHUT_WR);
          held_.push_back(std::move(fd));
        }) {
    port = listener_.start().value();
  }
  std::uint16_t port = 0;
  int connections = 0;

 private:
  std::string says_;
  std::vector<UniqueFd> held_;
  Listener listener_;
};

class TroubleTest : public ::testing::Test {
 protected:
  Outcome ask(std::uint16_t port, const std::string& host = "127.0.0.1", Duration within = 20s) {
    ChannelOptions options{.host = host, .port = port};
    options.connection.ready_within = 100ms;
    Channel channel(loop_, turn_, options, Random(1));
    std::optional<Outcome> outcome;
    const auto call =
        channel.start("/a.B/C", loop_.now() + within, {},
                      {[](std::string) { FAIL(); }, [&](const Outcome& end) { outcome = end; }});
    call->send(payload("x"));
    call->finish();
    while (!outcome) loop_.run_until(loop_.now() + 1ms);
    EXPECT_EQ(outcome->word, Outcome::Word::kNeverLeft) << outcome->message;
    EXPECT_THAT(outcome->message, HasSubstr(host + ":" + std::to_string(port)));
    EXPECT_THAT(outcome->message, HasSubstr(" is unreachable: " + outcome->trouble.text));
    return *outcome;
  }
  void expect(const Outcome& outcome, Kind kind, const std::string& text,
              Code code = Code::kUnavailable) {
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.trouble.kind, kind) << outcome.message;
    EXPECT_THAT(outcome.trouble.text, HasSubstr(text));
  }

  EventLoop loop_;
  SendTurn turn_{loop_};
};

TEST_F(TroubleTest, NobodyListens) {
  std::uint16_t port = 0;
  { port = Stranger(loop_, "", false).port; }
  expect(ask(port), Kind::kRefused, "Connection refused");
}

TEST_F(TroubleTest, ANameThatCannotBeResolved) {
  expect(ask(9, "no-such-host.invalid"), Kind::kName, "no-such-host.invalid cannot be resolved: ");
}

TEST_F(TroubleTest, AWebServerThatAnswersInItsOwnWay) {
  for (const bool hangs_up : {true, false}) {
    Stranger web(loop_, "HTTP/1.1 400 Bad Request\r\n\r\n", hangs_up);
    expect(ask(web.port), Kind::kNotGrpc, "the peer's data is not HTTP/2");
  }
}

TEST_F(TroubleTest, AServerThatHangsUp) {
  Stranger rude(loop_, "", true);
  expect(ask(rude.port), Kind::kClosed, "the peer closed the connection");
  // What TLS says to a client that comes without: an alert, too short to be a frame.
  Stranger tls(loop_, std::string("\x15\x03\x01\x00\x02\x02\x46", 7), true);
  expect(ask(tls.port), Kind::kClosed, "the peer closed the connection");
}

TEST_F(TroubleTest, AServerThatSaysNothingIsGivenUp) {
  Stranger silent(loop_, "", false);
  const MonoTime began = loop_.now();
  expect(ask(silent.port), Kind::kSilent, "accepted the connection and sent nothing");
  EXPECT_GE(loop_.now() - began, 100ms);
  EXPECT_EQ(silent.connections, 1);
  // A byte now and then is not enough.
  Stranger slow(loop_, "H", false);
  expect(ask(slow.port), Kind::kSilent, "accepted the connection and sent nothing");
  // Anyone who has less time hears the same, and that its time was over.
  expect(ask(silent.port, "127.0.0.1", 30ms), Kind::kSilent, "accepted the connection",
         Code::kDeadlineExceeded);
}

}  // namespace trouble_test
}  // namespace muster::rpc
