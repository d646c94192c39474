#pragma once

#include <optional>
#include <string>

#include "store/etcd/verdict.h"
#include "store/remote/client.h"

namespace muster::etcd {

struct ClientOptions : remote::ClientOptions {
  ClientOptions() { name = "etcd"; }
  std::string user{};
  std::string password{};
};

/// Sends requests to etcd members. With a user it logs in first: it fetches a token with the first
/// request, and again if etcd refuses it; requests wait meanwhile. Loop thread only.
class Client final : public remote::Client {
 public:
  Client(const ClientOptions& options, EventLoop& loop);

 protected:
  [[nodiscard]] rpc::Metadata metadata() const override;
  [[nodiscard]] Verdict judge(const rpc::Outcome& outcome, Access access) const override {
    return etcd::judge(outcome, access);
  }
  bool ready(const std::string& method) override;
  [[nodiscard]] std::uint64_t credentials_number() const override { return token_number_; }
  bool renew_credentials(std::uint64_t refused) override;

 private:
  void authenticate();

  std::string user_;
  std::string password_;
  std::optional<std::string> token_;
  std::uint64_t token_number_ = 0;
  bool authenticating_ = false;
};

}  // namespace muster::etcd
