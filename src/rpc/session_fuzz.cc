#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "rpc/message_reader.h"
#include "rpc/session.h"
#include "rpc/wire.h"

namespace {

using namespace muster;
using namespace muster::rpc;

constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr std::size_t kMessageMax = 64 * 1024;

/// Deals with what comes as a server or a client of gRPC does, and looks whether the session keeps
/// to what it promises.
class Owner final : public SessionEvents {
 public:
  Owner(Session::Side side, MonoTime now) : side_(side), session_(side, {}, *this, now) {}

  [[nodiscard]] Session& session() { return session_; }
  void open() {
    const std::array<Header, 4> headers = {
        {{":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {":authority", "x"}}};
    const auto stream = session_.open(headers);
    if (!stream) return;
    streams_.emplace(*stream, MessageReader(kMessageMax));
    session_.send(*stream, payload("question"));
  }

  void on_headers(StreamId stream, const HeaderBlock& headers, bool) override {
    MUSTER_CHECK(headers.bytes() <= SessionOptions{}.header_bytes_max);
    static_cast<void>(parse_timeout(headers.find("grpc-timeout")));
    static_cast<void>(base64_decode(headers.find("a-bin")));
    static_cast<void>(percent_decode(headers.find("grpc-message")));
    if (side_ == Session::Side::kClient) return;
    MUSTER_CHECK(streams_.emplace(stream, MessageReader(kMessageMax)).second);
    const std::array<Header, 1> head = {{{":status", "200"}}};
    session_.respond(stream, head);
  }
  void on_data(StreamId stream, std::string_view bytes) override {
    MUSTER_CHECK(streams_.contains(stream));
    std::vector<std::string> messages;
    if (!streams_.at(stream).feed(bytes, messages)) return session_.reset(stream, 8);
    session_.consume(stream, bytes.size());
    for (std::string& each : messages) session_.send(stream, payload(std::move(each)));
  }
  void on_trailers(StreamId stream, const HeaderBlock&) override {
    MUSTER_CHECK(streams_.contains(stream));
  }
  void on_end(StreamId stream) override {
    MUSTER_CHECK(streams_.contains(stream));
    const std::array<Header, 1> status = {{{"grpc-status", "0"}}};
    session_.finish(stream, side_ == Session::Side::kServer ? std::span<const Header>(status)
                                                            : std::span<const Header>());
  }
  void on_drained(StreamId stream) override { MUSTER_CHECK(streams_.contains(stream)); }
  void on_closed(StreamId stream, std::uint32_t) override {
    MUSTER_CHECK(streams_.erase(stream) == 1);
  }
  void on_goaway(StreamId, std::uint32_t) override {}
  void on_pong() override {}

 private:
  const Session::Side side_;
  std::unordered_map<StreamId, MessageReader> streams_;
  Session session_;
};

void play(Session::Side side, std::string_view bytes) {
  MonoTime now{};
  Owner owner(side, now);
  if (side == Session::Side::kServer) {
    owner.session().receive(kPreface, now);
  } else {
    owner.open();
  }
  std::string out;
  // In pieces whose sizes the input chooses, so that frames come in halves, too.
  while (!bytes.empty() && !owner.session().over()) {
    const std::size_t size = 1 + static_cast<unsigned char>(bytes.front()) * 8U;
    const std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    now += 1ms;
    owner.session().receive(piece, now);
    out.clear();
    owner.session().produce(out, 1 << 20);
  }
  MUSTER_CHECK(owner.session().breach() == Breach::kNone ||
               !owner.session().breach_message().empty());
}

}  // namespace

// What anybody may send to a server who can connect to it, and what a server may send to a client.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  play(data[0] % 2 == 0 ? Session::Side::kServer : Session::Side::kClient, bytes);
  return 0;
}
