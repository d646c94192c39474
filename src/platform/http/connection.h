#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "platform/event_loop.h"
#include "platform/http/server.h"
#include "platform/unique_fd.h"

namespace muster::http {

/// One client of a Server, from accept to close: it reads a request, hands it on, writes the
/// answer, and begins anew. One request at a time: the next is read when the client has taken the
/// whole answer to the last; what it sends meanwhile waits in the socket. Loop thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Host {
    EventLoop& loop;
    const ServerOptions& options;
    std::function<void(ExchangePtr)> handler;  ///< Empty once the server closes.
    std::function<void(Connection&)> closed;
  };

  Connection(Host& host, UniqueFd fd, const TlsContext& tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin();
  void close();

  /// How little is lost with it, the least first.
  enum class Phase {
    kIdle,       ///< It has been answered, and nothing more has come.
    kArriving,   ///< Its handshake or its request is not complete.
    kAnswering,  ///< Or streaming.
  };
  [[nodiscard]] Phase phase() const;
  /// Since when it waits for its client.
  [[nodiscard]] MonoTime waits_since() const { return waits_since_; }

  // For its exchange.
  void send_head(const Response& response, bool ends);
  void send(Body bytes);
  void finish();
  void on_taken(std::function<void()> taken);
  void on_gone(std::function<void()> gone);
  [[nodiscard]] bool closed() const { return !fd_.valid(); }
  /// The client sends no more. It may be gone, or wait for its answers.
  [[nodiscard]] bool hung_up() const { return hung_up_; }

 private:
  /// What a step on the socket wants next.
  enum class Io { kDone, kAgain, kGone };

  /// Reads no request now: the last one is not answered, or its answer not taken.
  [[nodiscard]] bool busy() const;
  void ready();
  void run();
  Io handshake();
  Io receive();
  Io flush();
  Io tls_result(int result);
  void next_request();
  void end_if_all_came();
  void hand_on(Request request);
  void refuse(const RefusedRequest& refusal);
  void close_softly();
  void linger();
  void discard();
  void tell_taken();
  void tell_gone();
  void watch();

  Host& host_;
  UniqueFd fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool shaken_ = false;      ///< The handshake is over, or there is none.
  bool head_begun_ = false;  ///< Some of a request has come.
  bool served_ = false;      ///< A request has been answered.
  bool hung_up_ = false;     ///< The client sends no more.
  bool read_all_ = false;    ///< And everything that it sent has been read.
  bool answering_ = false;   ///< A request was handed on, and its answer is not finished.
  bool streaming_ = false;   ///< The answer has no end.
  bool keep_alive_ = true;   ///< Another request may follow the one being answered.
  bool ending_ = false;      ///< Close when everything is sent.
  bool unread_ = false;      ///< The client may be sending what nobody reads: close softly.
  bool lingering_ = false;   ///< Closed for writing; what still comes is thrown away.
  bool continued_ = false;   ///< The client was told to send the body.
  bool tls_writes_ = false;  ///< TLS waits until the socket can be written, whatever we want.
  std::uint32_t watched_ = 0;
  std::string received_;
  std::size_t needed_ = 0;  ///< So many bytes make the request complete, if that is known.
  std::string remote_;
  std::deque<Body> unsent_;
  std::size_t sent_ = 0;  ///< Of the first of `unsent_`.
  std::size_t unsent_bytes_ = 0;
  std::string certificate_;
  std::function<void()> taken_;  ///< For on_taken(), until it has been told.
  std::function<void()> gone_;
  MonoTime waits_since_{};
  Timer deadline_;
};

}  // namespace muster::http
