#pragma once

#include <optional>
#include <string>

#include "store/etcd/outcome.h"
#include "store/remote/client.h"

namespace muster::etcd {

using remote::Access;

struct ClientOptions : remote::ClientOptions {
  ClientOptions() { name = "etcd"; }
  std::string user{};
  std::string password{};
  /// Keeps to the member that leads, as far as one that was named does: a write that another one is
  /// asked for takes a trip more.
  bool follow_leader = false;
};

/// Asks etcd members, and logs in first where a user is named: a token is fetched with the first
/// request and again whenever etcd refuses it; requests wait meanwhile. Loop thread only.
class Client final : public remote::Client {
 public:
  Client(const ClientOptions& options, Loop& loop);

  void prepare(grpc::ClientContext& context) const override;

 protected:
  [[nodiscard]] remote::Outcome judge(const grpc::Status& status,
                                      const grpc::ClientContext& context,
                                      remote::Stage stage) const override;
  bool ready(const std::string& method) override;
  [[nodiscard]] std::uint64_t credentials_number() const override { return token_number_; }
  bool renew_credentials(std::uint64_t refused) override;

 private:
  void authenticate();
  /// Asks `endpoint` whether it leads, and the others after it while `left` are to be asked.
  void seek_leader(std::size_t endpoint, std::size_t left);

  std::string user_;
  std::string password_;
  std::optional<std::string> token_;
  std::uint64_t token_number_ = 0;
  bool authenticating_ = false;
  Timer seek_timer_;
};

}  // namespace muster::etcd
