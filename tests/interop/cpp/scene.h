#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/store.grpc.pb.h"

namespace interop {

using namespace std::chrono_literals;
namespace pb = muster::v1;

/// What a call may take that is to be answered.
inline constexpr auto kPatience = 10s;

/// The context of one call. Its deadline is `within` from now on.
class Context : public grpc::ClientContext {
 public:
  explicit Context(std::chrono::milliseconds within = kPatience) {
    set_deadline(std::chrono::system_clock::now() + within);
  }
};

/// Throws, with `what`, unless it holds.
void expect(bool holds, const std::string& what);
/// Throws unless a call ended in this way.
void expect(const grpc::Status& status, grpc::StatusCode code);
/// The value of trailing metadata; empty when there is none.
[[nodiscard]] std::string trailer(const grpc::ClientContext& context, const std::string& key);

[[nodiscard]] pb::NodeInfo node(int number);
[[nodiscard]] pb::HeartbeatBatch beats(unsigned known);
/// So many puts of value(): eight of them are a request of almost 2 MB.
[[nodiscard]] pb::StorePutBatch puts(int count);
[[nodiscard]] const std::string& value();

/// The servers, and a channel to the first that every step uses. One thread.
class Scene {
 public:
  /// The words of the command line, without the program's name.
  explicit Scene(std::vector<std::string> words);

  [[nodiscard]] std::shared_ptr<grpc::Channel> open(const std::string& address,
                                                    bool certificate = true) const;
  [[nodiscard]] bool tls() const { return words_.size() > 2; }
  [[nodiscard]] const std::string& server() const { return words_[0]; }
  [[nodiscard]] const std::string& standby() const { return words_[1]; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  [[nodiscard]] pb::CoordinatorService::Stub& coordinator() { return *coordinator_; }
  [[nodiscard]] pb::StoreService::Stub& store() { return *store_; }
  [[nodiscard]] grpc::health::v1::Health::Stub& health() { return *health_; }

  /// A call that nothing is wrong with.
  void check();
  void register_node(int number);
  void await_subscribers(unsigned count);
  /// What became of one batch, in order.
  grpc::Status put_all(pb::StoreService::Stub& stub, grpc::ClientContext& context,
                       const pb::StorePutBatch& batch, std::vector<int>& codes);

 private:
  std::vector<std::string> words_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::CoordinatorService::Stub> coordinator_;
  std::unique_ptr<pb::StoreService::Stub> store_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

struct Step {
  std::string name;
  /// Answers with what is told behind its name, if anything.
  std::function<std::string(Scene&)> act;
};
/// In their order.
[[nodiscard]] std::vector<Step> steps(bool tls);

}  // namespace interop
