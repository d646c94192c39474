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

/// The connections of a loop that have data to send. Each is flushed once per turn of the loop,
/// however many calls wrote to it. Outlives its connections. Threads: loop thread only.
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

/// The part of a host's address that a client cannot choose: the first 64 bits of an IPv6 address;
/// other addresses as they are.
[[nodiscard]] std::string network_of(const std::string& host);

using pki::SslPtr;

struct ConnectionOptions {
  SessionOptions session{};
  /// Connecting, TLS and the greeting of HTTP/2 together.
  Duration ready_within = 10s;
  /// After this much silence the peer is pinged, and must answer in time.
  Duration ask_after = 30s;
  Duration answer_within = 10s;
  /// The peer must take data that is ready to be sent, usually at most 64 KB, within this
  /// time.
  Duration taken_within = 30s;
  /// Server: the time for its client to close a connection that is over.
  Duration closed_within = 5s;
};

/// One socket, with or without TLS, and the session on it. It reads and flushes as the socket
/// allows, and ends when either side closes it or falls silent. Threads: loop thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Hooks {
    /// Called after the TLS handshake: whether to accept the peer. Empty: every peer.
    std::function<Status(SSL*)> shaken{};
    /// The first byte has come from the peer. Calls no method of the connection.
    std::function<void()> spoke{};
    /// The peer has begun to speak HTTP/2. Give the session no part of a call before that: a peer
    /// that does not get so far has certainly not seen it.
    std::function<void()> ready{};
    /// Received data was given to the session; data sent now leaves with the rest.
    std::function<void()> received{};
    /// Called once, never within a call of the session: why it ended. kCancelled: close().
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
  /// Data was given to the session: it is sent at the end of this turn.
  void touch();
  /// The number of complete messages in the received data; decides how soon to read again.
  void came(std::size_t messages) { came_ += static_cast<std::uint32_t>(messages); }
  /// Drops data under way. Does not call on_closed() for open streams.
  void close();
  /// Call every few seconds: ends a connection that is not ready in time, or silent. A client pings
  /// while it has open streams: gRPC servers disconnect clients that ping without any.
  void look();
  /// Why it ended, if it ended before it was ready.
  [[nodiscard]] const Trouble& trouble() const { return trouble_; }
  /// What it waits for, before it is ready.
  [[nodiscard]] Trouble awaited() const;
  /// The peer's host, without a port; empty if unknown.
  [[nodiscard]] const std::string& remote() const { return remote_; }
  [[nodiscard]] bool open() const { return fd_.valid(); }
  /// Bytes ready to be sent that the socket has not taken.
  [[nodiscard]] std::size_t untaken() const { return outgoing_.size() - sent_; }
  /// The peer speaks HTTP/2.
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  friend class SendTurn;
  enum class Io { kDone, kAgain, kGone };

  void watch();
  void choose_pace();
  void note_speech();
  void happened(std::uint32_t events);
  [[nodiscard]] bool finish_connecting();
  [[nodiscard]] Io shake();
  [[nodiscard]] Io receive();
  [[nodiscard]] Io flush();
  /// Sets `count` to the number of bytes sent.
  [[nodiscard]] Io write(std::string_view bytes, std::size_t& count);
  [[nodiscard]] Io tls_result(int result);
  /// Only the first trouble counts: others follow from it.
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
  bool spoke_ = false;
  bool ready_ = false;
  bool in_turn_ = false;     ///< Within the loop's turn: it flushes at the end by itself.
  bool touched_ = false;     ///< Queued in the turn.
  bool tls_writes_ = false;  ///< TLS waits until the socket can be written.
  bool lingering_ = false;   ///< Sends nothing more; ignores received data.
  std::uint32_t watched_ = 0;
  std::uint32_t came_ = 0;
  bool patient_ = false;  ///< As set on the loop.
  ReadPace pace_;
  std::string outgoing_;  ///< What the socket has not taken yet.
  std::size_t sent_ = 0;  ///< Of `outgoing_`.
  MonoTime outgoing_since_{};
  MonoTime begun_at_{};
  MonoTime heard_at_{};
  MonoTime asked_at_ = MonoTime::max();
  MonoTime lingers_since_{};
  std::size_t discarded_ = 0;  ///< Bytes received while it lingers.
  Trouble trouble_;
};

}  // namespace muster::rpc
