#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/pki/tls.h"
#include "platform/unique_fd.h"
#include "rpc/read_pace.h"
#include "rpc/session.h"
#include "rpc/trouble.h"

namespace muster::rpc {

class Connection;

/// The connections of a loop that have something to send: each is flushed once in a turn of the
/// loop, however many calls wrote to it. Outlives its connections. Loop thread only.
class SendTurn {
 public:
  explicit SendTurn(Loop& loop) : loop_(loop) {}
  void add(std::weak_ptr<Connection> connection);

 private:
  void flush();

  Loop& loop_;
  std::vector<std::weak_ptr<Connection>> waiting_;
  Lifetime lifetime_;
};

/// The host at the other end of a socket, without a port. IPv4 that came over IPv6 is IPv4; empty
/// where it is not known.
[[nodiscard]] std::string remote_host(int fd);

using pki::SslPtr;

struct ConnectionOptions {
  SessionOptions session{};
  /// Connecting, TLS and the greeting of HTTP/2 together.
  Duration ready_within = 10s;
  /// After so much silence the other side is asked for a sign of life, which is to come in time.
  Duration ask_after = 30s;
  Duration answer_within = 10s;
  /// What has been made ready to leave, 64 KB as a rule, is taken by the other side within this
  /// time.
  Duration taken_within = 30s;
  /// Server: its client is given so long to close a connection that is over.
  Duration closed_within = 5s;
};

/// One socket, with TLS or without, and the session on it. Reads and flushes as the socket allows,
/// and ends when either side breaks it off or falls silent. Loop thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Hooks {
    /// After the handshake of TLS: whether the other side is let in. Empty: everybody is.
    std::function<Status(SSL*)> shaken{};
    /// The other side has begun to speak HTTP/2. Before that nothing of a call is to be given to
    /// the session: whoever does not get so far has certainly not seen it.
    std::function<void()> ready{};
    /// What came was given to the session; what is sent now leaves with the rest.
    std::function<void()> received{};
    /// Called once, never from within a call of the session's: why it ended. kCancelled: close().
    std::function<void(const Error&)> ended;
  };

  /// `fd` is connected, or connecting for a client. `ssl` may be null: plaintext.
  Connection(EventLoop& loop, SendTurn& turn, UniqueFd fd, SslPtr ssl, Session::Side side,
             const ConnectionOptions& options, SessionEvents& events, Hooks hooks);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin();
  [[nodiscard]] Session& session() { return session_; }
  /// Something was given to the session: it leaves at the end of this turn.
  void touch();
  /// So many whole messages were in what has come: it decides how soon more is looked for.
  void came(std::size_t messages) { came_ += static_cast<std::uint32_t>(messages); }
  /// What is on its way is dropped. on_closed() is not called for what is open.
  void close();
  /// To be called every few seconds: ends what is not ready in time, or has fallen silent. A client
  /// asks while it has streams open: servers of gRPC hang up on those who ask for nothing.
  void look();
  /// Why it ended, where it did so before it was ready.
  [[nodiscard]] const Trouble& trouble() const { return trouble_; }
  /// What it waits for, before it is ready.
  [[nodiscard]] Trouble awaited() const;
  /// Of the host at the other end, without a port; empty when it is not known.
  [[nodiscard]] const std::string& remote() const { return remote_; }
  [[nodiscard]] bool open() const { return fd_.valid(); }
  /// Bytes that were made ready to leave and that the socket has not taken.
  [[nodiscard]] std::size_t untaken() const { return outgoing_.size() - sent_; }
  /// The other side speaks HTTP/2.
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  friend class SendTurn;
  enum class Io { kDone, kAgain, kGone };

  void watch();
  void choose_pace();
  void happened(std::uint32_t events);
  [[nodiscard]] bool finish_connecting();
  [[nodiscard]] Io shake();
  [[nodiscard]] Io receive();
  [[nodiscard]] Io flush();
  /// `count`: so many bytes have left.
  [[nodiscard]] Io write(std::string_view bytes, std::size_t& count);
  [[nodiscard]] Io tls_result(int result);
  /// The first trouble counts: others follow from it.
  Io gone(Trouble::Kind kind, std::string text);
  void end(Error why);
  void end_if_over();
  void linger();
  [[nodiscard]] Io discard();

  EventLoop& loop_;
  SendTurn& turn_;
  UniqueFd fd_;
  SslPtr ssl_;
  const Session::Side side_;
  const ConnectionOptions options_;
  Hooks hooks_;
  Session session_;
  std::string remote_;
  bool connecting_;
  bool shaken_;
  bool ready_ = false;
  bool in_turn_ = false;     ///< Of the loop: it flushes at the end by itself.
  bool touched_ = false;     ///< It waits in the turn.
  bool tls_writes_ = false;  ///< TLS waits until the socket can be written.
  bool lingering_ = false;   ///< Nothing more is sent; what comes is not looked at.
  std::uint32_t watched_ = 0;
  std::uint32_t came_ = 0;
  bool patient_ = false;  ///< As the loop was told.
  ReadPace pace_;
  std::string outgoing_;  ///< What the socket has not taken yet.
  std::size_t sent_ = 0;  ///< Of `outgoing_`.
  MonoTime outgoing_since_{};
  MonoTime begun_at_{};
  MonoTime heard_at_{};
  MonoTime asked_at_ = MonoTime::max();
  MonoTime lingers_since_{};
  std::size_t discarded_ = 0;  ///< Bytes that came while it lingers.
  Trouble trouble_;
};

}  // namespace muster::rpc
