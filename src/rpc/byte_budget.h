#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace muster::rpc {

/// How many bytes clients make a server keep: requests that are not whole or not dealt with yet,
/// and answers that their clients have not taken. Each client has a share, however many connections
/// and calls it has, and all have one together. Whoever holds nothing yet may always hold one
/// thing, unless all together hold too much: a long answer is no flood. Pure; one thread.
class ByteBudget {
 public:
  struct Options {
    std::size_t each_max = 32 << 20;
    std::size_t all_max = 256 << 20;
  };
  /// What one client holds. It outlives what was taken from it.
  class Account {
   public:
    explicit Account(ByteBudget& budget) : budget_(budget) {}
    /// False when that is too much; nothing is taken then.
    [[nodiscard]] bool take(std::size_t bytes) {
      const Options& most = budget_.options_;
      if (budget_.held_ + bytes > most.all_max && budget_.held_ > 0) return false;
      if (held_ + bytes > most.each_max && held_ > 0) return false;
      held_ += bytes;
      budget_.held_ += bytes;
      return true;
    }
    void give_back(std::size_t bytes) {
      held_ -= bytes;
      budget_.held_ -= bytes;
    }

   private:
    ByteBudget& budget_;
    std::size_t held_ = 0;
  };
  using AccountPtr = std::shared_ptr<Account>;

  explicit ByteBudget(Options options) : options_(options) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  /// Of that name; the budget outlives it.
  [[nodiscard]] AccountPtr account(const std::string& client) {
    auto& known = accounts_[client];
    AccountPtr account = known.lock();
    if (account) return account;
    // Gone ones go when there are twice as many as were left the last time.
    account = std::make_shared<Account>(*this);
    known = account;
    if (accounts_.size() >= sweep_at_) {
      std::erase_if(accounts_, [](const auto& each) { return each.second.expired(); });
      sweep_at_ = 2 * accounts_.size() + 64;
    }
    return account;
  }
  [[nodiscard]] std::size_t held() const { return held_; }
  [[nodiscard]] std::size_t accounts() const { return accounts_.size(); }

 private:
  const Options options_;
  std::unordered_map<std::string, std::weak_ptr<Account>> accounts_;
  std::size_t sweep_at_ = 64;
  std::size_t held_ = 0;
};

}  // namespace muster::rpc
