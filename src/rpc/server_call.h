#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/loop.h"
#include "base/short_queue.h"
#include "rpc/call.h"
#include "rpc/connection.h"
#include "rpc/message_reader.h"
#include "rpc/server.h"

namespace muster::rpc {

class ServerCall;
class ServerPeer;

/// The status for a call that a stopping server has not begun: nothing was changed.
[[nodiscard]] RpcStatus stopping_status();

/// State shared by the calls of a server. It outlives them. Threads: loop thread only.
struct ServerHost {
  ServerHost(EventLoop& on, const ServerOptions& o)
      : loop(on), turn(on), options(o), bytes(o.bytes), connections(o.connections) {}

  /// The call has news and is called back soon: within the turn of its connection if there is
  /// one.
  void wants(std::shared_ptr<ServerCall> call);
  /// Calls back all calls that asked for it.
  void settle();

  EventLoop& loop;
  SendTurn turn;
  const ServerOptions& options;
  ByteBudget bytes;
  ConnectionBudget connections;
  std::function<void(CallPtr)> on_call;  ///< Empty after the server has closed.
  bool draining = false;                 ///< New calls are refused.
  std::unordered_set<ServerCall*> calls;
  std::size_t placed = 0;  ///< Calls that were not turned away.
  std::vector<std::shared_ptr<ServerCall>> ready;
  bool scheduled = false;
  Lifetime lifetime;
};

/// The connection of a client. Threads: loop thread only.
class ServerPeer final : public SessionEvents, public std::enable_shared_from_this<ServerPeer> {
 public:
  ServerPeer(ServerHost& host, std::uint64_t number) : host_(host), number_(number) {}

  /// Calls `spoke` when its first byte has come, and `ready` when it speaks HTTP/2.
  void begin(UniqueFd fd, SslPtr ssl, std::function<void()> spoke, std::function<void()> ready,
             std::function<void(const Error&)> ended);
  [[nodiscard]] Connection& connection() { return *connection_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const std::shared_ptr<const std::string>& certificate() const { return pem_; }
  [[nodiscard]] const ByteBudget::AccountPtr& account() const { return account_; }
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  [[nodiscard]] bool of_server() const { return whose_ == ByteBudget::Whose::kServer; }
  /// Counts bytes that its client makes the server keep, even without room for them; a client that
  /// far exceeds its limit is disconnected.
  void owe(std::size_t bytes);
  /// The call is over for the server, before the connection knows.
  void forget(StreamId stream) { calls_.erase(stream); }
  /// Accepts no new calls, and ends after its last call.
  void leave();
  /// Likewise, once the client knows: none of its calls is lost.
  void wind_down();
  /// The connection has ended, and with it all its calls.
  void lost();
  /// Call every few seconds.
  void look(MonoTime now);

  void on_headers(StreamId stream, const HeaderBlock& headers, bool end) override;
  void on_data(StreamId stream, std::string_view bytes) override;
  void on_trailers(StreamId, const HeaderBlock&) override {}
  void on_end(StreamId stream) override;
  void on_drained(StreamId stream) override;
  void on_closed(StreamId stream, std::uint32_t error) override;
  void on_goaway(StreamId, std::uint32_t) override {}
  void on_pong() override {}

 private:
  [[nodiscard]] std::shared_ptr<ServerCall> find(StreamId stream) const;
  [[nodiscard]] Client client() const;
  /// Counts the connection, or tells the client why it is refused.
  void count();
  void find_account();
  /// Counts the data that waits to be sent while the client takes nothing.
  void weigh();

  ServerHost& host_;
  const std::uint64_t number_;
  std::shared_ptr<const std::string> pem_;  ///< The client's certificate; null in plaintext.
  std::optional<Client> counted_;           ///< As counted among the connections.
  ByteBudget::AccountPtr account_;          ///< Null until its first call.
  std::shared_ptr<Connection> connection_;
  ByteBudget::Whose whose_ = ByteBudget::Whose::kClient;
  std::size_t weight_ = 0;  ///< As counted.
  std::unordered_map<StreamId, std::shared_ptr<ServerCall>> calls_;
  std::unordered_set<StreamId> refused_;  ///< Requests that are not gRPC.
  MonoTime begun_at_{};
  std::optional<MonoTime> winding_down_;  ///< Since when.
  bool leaving_ = false;
};

/// The server's side of a call.
class ServerCall final : public Call, public std::enable_shared_from_this<ServerCall> {
 public:
  ServerCall(ServerHost& host, const std::shared_ptr<ServerPeer>& peer, StreamId stream,
             const HeaderBlock& headers);

  [[nodiscard]] const std::string& method() const override { return method_; }
  [[nodiscard]] Duration time_left() const override;
  [[nodiscard]] bool forwarded() const override;
  [[nodiscard]] std::string metadata(const std::string& key) const override;
  [[nodiscard]] std::string_view certificate() const override;
  [[nodiscard]] std::string remote() const override { return remote_; }
  [[nodiscard]] std::uint64_t connection() const override { return connection_; }
  [[nodiscard]] bool over() const override { return over_; }
  void read(std::function<void(std::optional<std::string>)> done) override;
  void read_single(std::function<void(std::optional<std::string>)> done) override;
  void write(Payload message, std::function<void()> done) override;
  void finish(RpcStatus status) override;
  void turn_away(RpcStatus status) override;
  void reply(Payload message) override;
  void on_over(std::function<void()> over) override { on_over_ = std::move(over); }
  void cut() override;

  /// Begins the call, or refuses it: because of a limit, or of its headers.
  void begin(std::optional<RpcStatus> fault);
  /// Data from the client. False: it was refused.
  void received(std::string_view bytes);
  void half_closed();
  void drained();
  /// The connection has nothing of the call left.
  void end();
  /// Runs the due callbacks. Never within a call of their receiver.
  void settle();
  [[nodiscard]] bool finishing() const { return finishing_ && !over_; }
  [[nodiscard]] MonoTime finishing_since() const { return finishing_since_; }
  [[nodiscard]] std::optional<MonoTime> deadline() const { return by_; }
  /// The server stops: no more data is read, but data already read is answered.
  void stop_reading() { reads_ = false; }
  [[nodiscard]] bool writing() const { return on_written_ != nullptr; }
  /// The server closes: no more callbacks.
  void abandon();

 private:
  void close(const RpcStatus& status);
  /// Whether there is news for the reader.
  [[nodiscard]] bool has_news() const;
  /// Received data is not processed; the call ends.
  void refuse_bytes(Session& at, std::size_t bytes, RpcStatus status);
  /// Refuses the call because it exceeds a limit.
  void refuse(RpcStatus status);
  void respond();
  [[nodiscard]] bool keep(std::size_t bytes);
  void owe(std::size_t bytes);
  void give_place_back();
  void let_go(std::size_t bytes);
  [[nodiscard]] Session* session();
  void touch();

  ServerHost& host_;
  std::weak_ptr<ServerPeer> peer_;
  const StreamId stream_;
  const std::string method_;
  const HeaderBlock metadata_;
  const std::string remote_;
  const std::uint64_t connection_;
  const std::shared_ptr<const std::string> pem_;
  const ByteBudget::AccountPtr account_;
  std::size_t kept_ = 0;  ///< Bytes that it makes the server keep.
  std::optional<MonoTime> by_;
  MessageReader reader_;
  ShortQueue<std::string> messages_;  ///< Messages not read yet.
  std::size_t held_ = 0;              ///< Bytes that do not yet reopen the client's window.
  bool placed_ = false;
  bool single_ = false;  ///< The reader wants the only message.
  bool half_closed_ = false;
  bool reads_ = true;
  bool refused_ = false;  ///< Because of its data; the rest is ignored.
  bool responded_ = false;
  bool written_ = false;  ///< Written data has been sent, as far as the writer must wait.
  bool finishing_ = false;
  bool over_ = false;
  bool wanted_ = false;  ///< It waits for a callback.
  MonoTime finishing_since_{};
  std::function<void(std::optional<std::string>)> on_read_;
  std::function<void()> on_written_;
  std::function<void()> on_over_;
  friend struct ServerHost;
};

}  // namespace muster::rpc
