#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace muster::rpc {

/// The connections that clients have open. Each client has a share, and all clients share one
/// total, whose last quarter is reserved for clients with few connections. Servers and operators
/// have a share each and a total of their own, so no number of clients keeps them out. Pure.
/// Threads: one.
class ConnectionBudget {
 public:
  struct Options {
    std::size_t each_max = 1'000;
    std::size_t all_max = 20'000;
    /// A client with fewer connections has few.
    std::size_t few = 4;
    /// Servers and operators.
    std::size_t reserved_each_max = 64;
    std::size_t reserved_max = 256;
  };
  enum class Verdict {
    kTaken,
    kClientFull,  ///< The client has its share.
    kFull,        ///< All clients have the total.
  };

  explicit ConnectionBudget(Options options) : options_(options) {}

  /// From now on; open connections stay.
  void use(Options options) { options_ = options; }

  /// One more connection of that client. `reserved`: a server or an operator.
  [[nodiscard]] Verdict take(const std::string& client, bool reserved) {
    const std::size_t held = this->held(client);
    const std::size_t each_max = reserved ? options_.reserved_each_max : options_.each_max;
    if (held >= each_max) return Verdict::kClientFull;
    const std::size_t all_max = reserved              ? options_.reserved_max
                                : held < options_.few ? options_.all_max
                                                      : options_.all_max - options_.all_max / 4;
    std::size_t& all = reserved ? reserved_ : all_;
    if (all >= all_max) return Verdict::kFull;
    ++all;
    ++clients_[client];
    return Verdict::kTaken;
  }
  /// For each that was taken.
  void give_back(const std::string& client, bool reserved) {
    --(reserved ? reserved_ : all_);
    const auto found = clients_.find(client);
    if (--found->second == 0) clients_.erase(found);
  }
  [[nodiscard]] std::size_t held(const std::string& client) const {
    const auto found = clients_.find(client);
    return found == clients_.end() ? 0 : found->second;
  }

 private:
  Options options_;
  std::unordered_map<std::string, std::size_t> clients_;
  std::size_t all_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace muster::rpc
