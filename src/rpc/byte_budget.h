#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace muster::rpc {

/// The bytes that clients make a server keep: incomplete or unprocessed requests, and answers that
/// their clients have not taken. Each client has a share, for all its connections and calls, and
/// all clients share one total. A client that holds next to nothing may hold one thing beyond its
/// share unless the total is exhausted: a long answer is not a flood. The last quarter of the total
/// is reserved for clients that hold little, and servers have separate shares, so a few clients
/// that use all they may cannot block the others. Pure. Threads: one.
class ByteBudget {
 public:
  struct Options {
    std::size_t each_max = 32 << 20;
    std::size_t all_max = 256 << 20;
    /// A client that holds at most this much holds little.
    std::size_t little = 256 << 10;
  };
  enum class Whose { kClient, kServer };
  /// The bytes of one client. It outlives everything taken from it.
  class Account {
   public:
    Account(ByteBudget& budget, Whose whose) : budget_(budget), whose_(whose) {}
    /// False, and nothing is taken, if that exceeds the limits.
    [[nodiscard]] bool take(std::size_t bytes) {
      const Options& most = budget_.options_;
      if (held_ + bytes > most.each_max && held_ > most.each_max / kLittle) return false;
      const std::size_t all_max =
          held_ + bytes <= most.little ? most.all_max : most.all_max - most.all_max / 4;
      if (whose_ == Whose::kClient && budget_.held_ + bytes > all_max && budget_.held_ > held_)
        return false;
      add(bytes);
      if (held_ > most.each_max) with_long_ = held_;
      return true;
    }
    /// For bytes that exist in any case, such as a refusal: always taken. False if the
    /// client now exceeds its share (or its one long thing) by an eighth: then close its
    /// connection.
    [[nodiscard]] bool owe(std::size_t bytes) {
      const Options& most = budget_.options_;
      add(bytes);
      if (held_ > std::max(most.each_max, with_long_) + most.each_max / 8) return false;
      return whose_ == Whose::kServer || held_ <= most.little ||
             budget_.held_ <= most.all_max + most.all_max / 8;
    }
    void give_back(std::size_t bytes) {
      held_ -= bytes;
      budget_.held_ -= bytes;
      if (held_ <= budget_.options_.each_max) with_long_ = 0;
    }

   private:
    /// A client that holds at most this part of a share may hold one long thing.
    static constexpr std::size_t kLittle = 128;

    void add(std::size_t bytes) {
      held_ += bytes;
      budget_.held_ += bytes;
    }

    ByteBudget& budget_;
    const Whose whose_;
    std::size_t held_ = 0;
    std::size_t with_long_ = 0;  ///< Held when it was allowed one long thing; otherwise zero.
  };
  using AccountPtr = std::shared_ptr<Account>;

  explicit ByteBudget(Options options) : options_(options) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  /// The account with that name; the budget outlives it.
  [[nodiscard]] AccountPtr account(const std::string& client, Whose whose = Whose::kClient) {
    auto& known = accounts_[client];
    AccountPtr account = known.lock();
    if (account) return account;
    // Removes dead accounts when there are twice as many as remained the last time.
    account = std::make_shared<Account>(*this, whose);
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
