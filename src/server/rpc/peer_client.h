#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "rpc/call.h"
#include "rpc/channel.h"

namespace muster::rpc {

/// Asks other servers, one connection each. Nothing is sent twice, unless the other server has said
/// that it did not look at it. Loop thread only.
class PeerClient {
 public:
  using Done = std::function<void(RpcStatus, std::string)>;
  struct Options {
    std::string server_id;  ///< This server's: it goes with every request.
    /// As ChannelOptions has them, for a host; empty: plaintext.
    std::function<Result<SslPtr>(const std::string& host)> tls{};
    std::function<Status(SSL*)> shaken{};
  };

  PeerClient(EventLoop& loop, SendTurn& turn, Options options, Random random);
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  /// `done` is called once, by the end of `timeout`, and never from within this.
  void call(const std::string& address, const std::string& method, std::string request,
            Duration timeout, Done done, Metadata metadata = {});
  /// Later requests use new connections, which show a certificate first; current ones go on.
  void forget();
  /// Gives up what is under way; no `done` is called afterwards.
  void close();

 private:
  struct Asked;

  void answered(std::uint64_t number, const Outcome& outcome);

  EventLoop& loop_;
  SendTurn& turn_;
  const Options options_;
  Random random_;
  std::map<std::string, std::unique_ptr<Channel>> channels_;
  std::map<std::uint64_t, std::shared_ptr<Asked>> asked_;
  std::uint64_t last_number_ = 0;
  bool closed_ = false;
  Lifetime lifetime_;
};

}  // namespace muster::rpc
