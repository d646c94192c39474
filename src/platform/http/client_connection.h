#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "platform/event_loop.h"
#include "platform/http/answer_reader.h"
#include "platform/http/dialer.h"
#include "platform/http/request_bytes.h"
#include "platform/pki/stream_socket.h"

namespace muster::http {

class ClientConnection;

/// A request, as its connection sees it.
class Asker {
 public:
  virtual ~Asker() = default;
  /// Head and body; they stay where they are until the request has ended.
  [[nodiscard]] virtual std::string_view bytes() const = 0;
  [[nodiscard]] virtual AnswerReader& reader() = 0;
  /// The first byte is about to leave.
  virtual void leaves() = 0;
  /// The answer is complete, or cannot be read: reader() knows. The asker is off the connection.
  virtual void answered() = 0;
  /// The connection is gone, and was closed here.
  virtual void broke(const pki::TlsFailure& why) = 0;
};

/// One connection of a client, which carries one request after another: the name is looked up, an
/// address connected to, a proxy asked for a tunnel, TLS shaken; then requests go out and answers
/// come in. Calls its asker from events of the loop only, never from within a call. Loop thread
/// only.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  struct Host {
    EventLoop& loop;
    Names& names;
    /// For a connection to a host.
    std::function<Result<pki::SslPtr>(const std::string&)> tls;
    /// A connection that nobody used was closed by the other side.
    std::function<void(ClientConnection&)> lost;
  };

  ClientConnection(Host& host, Route route)
      : host_(host), route_(std::move(route)), key_(route_.key()), dialer_(host.loop) {}
  ~ClientConnection() { close(); }
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  /// Opens it for a first request.
  void open_for(Asker& asker);
  /// False when the other side has closed it, or has said what nobody asked for: it is of no use.
  [[nodiscard]] bool usable();
  /// Another request. Requires: usable() just now.
  void use_for(Asker& asker);
  void close();

  /// It may be used for another request.
  [[nodiscard]] bool reusable() const { return reusable_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  MonoTime idle_since{};  ///< Of the pool that holds it.

 private:
  using Io = pki::StreamSocket::Io;
  enum class Phase { kDialing, kTunnel, kShaking, kReady };

  void connected(UniqueFd fd);
  void begin_tls();
  void begin_asking();
  void happened();
  [[nodiscard]] Io step();
  [[nodiscard]] Io pass_tunnel();
  [[nodiscard]] Io flush();
  [[nodiscard]] Io receive(AnswerReader& reader);
  [[nodiscard]] Io look_while_idle();
  void complete();
  void watch();
  void fail(const pki::TlsFailure& why);

  Host& host_;
  const Route route_;
  const std::string key_;
  Dialer dialer_;
  pki::StreamSocket socket_;
  Phase phase_ = Phase::kDialing;
  Asker* asker_ = nullptr;
  std::string connect_;  ///< What asks the proxy for a tunnel.
  std::optional<AnswerReader> tunnel_answer_;
  std::string_view unsent_;
  bool surplus_ = false;  ///< More came than belongs to the answer.
  bool reusable_ = false;
  std::uint32_t watched_ = 0;
  Lifetime lifetime_;
};

}  // namespace muster::http
