#include "platform/http/client_connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <utility>

namespace muster::http {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
/// As much is read, or sent, before others have their turn.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

}  // namespace

void ClientConnection::open_for(Asker& asker) {
  asker_ = &asker;
  const Url& hop = route_.next_hop();
  host_.names.resolve(hop.host, hop.port,
                      lifetime_.wrap([this](const Result<std::vector<SocketAddress>>& found) {
                        if (!found) return fail({found.error().message});
                        dialer_.dial(*found, lifetime_.wrap([this](Result<UniqueFd> fd) {
                          if (!fd) return fail({fd.error().message});
                          connected(std::move(*fd));
                        }));
                      }));
}

void ClientConnection::connected(UniqueFd fd) {
  const auto self = shared_from_this();
  socket_ = pki::StreamSocket(std::move(fd));
  if (route_.tunnel()) {
    phase_ = Phase::kTunnel;
    connect_ = connect_bytes(route_);
    unsent_ = connect_;
    tunnel_answer_.emplace(AnswerReader::Question::kConnect, kAnswerHeadBytesMax);
  } else if (route_.url.tls) {
    begin_tls();
  } else {
    begin_asking();
  }
  if (socket_.open()) happened();
}

void ClientConnection::begin_tls() {
  phase_ = Phase::kShaking;
  std::string name = route_.url.host;
  if (name.ends_with('.')) name.pop_back();
  auto ssl = host_.tls(name);
  if (!ssl) return fail({ssl.error().message, true});
  socket_.begin_tls(std::move(*ssl));
}

void ClientConnection::begin_asking() {
  phase_ = Phase::kReady;
  reusable_ = false;
  surplus_ = false;
  unsent_ = asker_->bytes();
  asker_->leaves();
}

bool ClientConnection::usable() {
  return socket_.open() && look_while_idle() == Io::kAgain;
}

void ClientConnection::use_for(Asker& asker) {
  asker_ = &asker;
  begin_asking();
  // What goes wrong here is told from the loop.
  if (flush() != Io::kGone) return watch();
  host_.loop.post(lifetime_.wrap([this] { happened(); }));
}

void ClientConnection::close() {
  lifetime_.renew();
  asker_ = nullptr;
  reusable_ = false;
  if (!socket_.open()) return;
  host_.loop.unwatch_fd(socket_.fd());
  socket_.close();
}

void ClientConnection::watch() {
  if (!socket_.open()) return;
  std::uint32_t events = EPOLLIN | EPOLLRDHUP;
  if (socket_.wants_write() || (phase_ != Phase::kShaking && !unsent_.empty())) events |= EPOLLOUT;
  if (events == watched_) return;
  watched_ = events;
  host_.loop.watch_fd(socket_.fd(), events, [this](std::uint32_t) { happened(); });
}

void ClientConnection::happened() {
  const auto self = shared_from_this();
  if (!socket_.open()) return;
  if (step() == Io::kGone) return fail(socket_.failure());
  watch();
}

ClientConnection::Io ClientConnection::step() {
  if (phase_ == Phase::kTunnel) {
    if (const Io io = pass_tunnel(); io != Io::kDone) return io;
  }
  if (phase_ == Phase::kShaking) {
    if (const Io io = socket_.shake(); io != Io::kDone) return io;
    begin_asking();
  }
  if (asker_ == nullptr) {
    if (look_while_idle() == Io::kAgain) return Io::kAgain;
    return Io::kGone;
  }
  // A server may have answered before it closed: that counts.
  const bool sent = flush() != Io::kGone;
  const Io io = receive(asker_->reader());
  if (!socket_.open()) return Io::kAgain;
  if (asker_->reader().state() != AnswerReader::State::kReading) {
    complete();
    return Io::kAgain;
  }
  return sent ? io : Io::kGone;
}

ClientConnection::Io ClientConnection::pass_tunnel() {
  if (flush() == Io::kGone) return Io::kGone;
  const Io io = receive(*tunnel_answer_);
  if (tunnel_answer_->state() == AnswerReader::State::kReading) return io;
  const std::string proxy = "the proxy " + route_.proxy->authority;
  if (tunnel_answer_->state() != AnswerReader::State::kDone || surplus_ || !unsent_.empty()) {
    fail({proxy + " did not answer like an HTTP server"});
    return Io::kAgain;
  }
  const int status = tunnel_answer_->take().status;
  if (status / 100 != 2) {
    fail({proxy + " answered " + std::to_string(status)});
    return Io::kAgain;
  }
  begin_tls();
  return socket_.open() ? Io::kDone : Io::kAgain;
}

ClientConnection::Io ClientConnection::flush() {
  for (std::size_t turn = 0; !unsent_.empty() && turn < kTurnBytes;) {
    std::size_t count = 0;
    const Io io = socket_.write(unsent_.data(), unsent_.size(), count);
    if (io != Io::kDone) return io;
    unsent_.remove_prefix(count);
    turn += count;
  }
  return Io::kDone;
}

ClientConnection::Io ClientConnection::receive(AnswerReader& reader) {
  static thread_local std::array<char, kReadAtOnce> chunk;
  std::size_t turn = 0;
  while (turn < kTurnBytes || socket_.has_pending()) {
    std::size_t count = 0;
    const Io io = socket_.read(chunk.data(), chunk.size(), count);
    if (io == Io::kGone && socket_.ended() && reader.begun()) {
      reader.end();
      surplus_ = true;  // It is of no further use.
    }
    if (io != Io::kDone) return io;
    turn += count;
    surplus_ = reader.read({chunk.data(), count}) < count || socket_.has_pending();
    if (reader.state() != AnswerReader::State::kReading) return Io::kDone;
    if (!socket_.has_tls() && count < chunk.size()) return Io::kAgain;
  }
  return Io::kAgain;
}

/// TLS may have words of its own for an idle connection; anything else ends it.
ClientConnection::Io ClientConnection::look_while_idle() {
  char unasked = 0;
  std::size_t count = 0;
  return socket_.read(&unasked, 1, count);
}

void ClientConnection::complete() {
  Asker* asker = std::exchange(asker_, nullptr);
  reusable_ = asker->reader().keep_alive() && unsent_.empty() && !surplus_;
  unsent_ = {};
  asker->answered();
}

void ClientConnection::fail(const pki::TlsFailure& why) {
  const auto self = shared_from_this();
  const pki::TlsFailure told = why;
  Asker* asker = asker_;
  close();
  if (asker != nullptr) return asker->broke(told);
  host_.lost(*this);
}

}  // namespace muster::http
