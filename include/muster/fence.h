#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <cstdint>
#include <memory>
#include <string>

MUSTER_BEGIN_NAMESPACE

/// Stands before a resource and admits a token only if no higher one came before. The resource
/// keeps highest() as durably as the data that it guards, and hands it in again at start.
///
/// In a database the same is one statement at the beginning of each transaction, which is rolled
/// back when it changes no row (tables and triggers: examples/fence/sqlite.sql):
///
///     UPDATE fence SET epoch = :token WHERE resource = :resource AND epoch <= :token
///
/// Threads: one.
class MUSTER_EXPORT EpochGuard {
 public:
  explicit EpochGuard(Token highest = 0) : highest_(highest) {}
  /// False for a token below the highest so far.
  [[nodiscard]] bool admit(Token token);
  [[nodiscard]] Token highest() const { return highest_; }
  /// How many were refused.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  Token highest_;
  std::uint64_t refused_ = 0;
};

/// What a fenced object holds, and the token of its last write.
struct FencedObject {
  Token token = 0;
  std::string body;
};

/// Objects in an arbiter that remember the highest token that wrote them and refuse every lower
/// one, without grace and without a clock. A leader that was replaced while it slept cannot write
/// here, whatever it still believes: each write is a compare-and-swap on what was read.
///
/// A new leader that must be sure that nothing of the old one lands after its own first look calls
/// fence() before it reads. Each object is fenced by itself; there is no fence over several.
///
/// Not guaranteed: an order between writers with one token (the last one wins), and anything
/// against programs that write the same keys in another way.
///
/// Keys are UTF-8 with `/` between parts, at most 1024 bytes. Keys of elections, which begin with
/// `plugin=`, are refused with kInvalid.
///
/// Threads: any. Calls wait for the store, at most 5 s for each of their two or more requests.
class MUSTER_EXPORT FencedObjects {
 public:
  explicit FencedObjects(const Arbiter& arbiter);

  /// kNotFound when there is no body; the token of such an object is kept all the same.
  [[nodiscard]] Result<FencedObject> get(const std::string& key) const;
  /// kDenied when a higher token was here. kAmbiguous: it may have been written or may be yet,
  /// unless another process writes or fences first.
  [[nodiscard]] Status put(const std::string& key, const std::string& body, Token token) const;
  /// Raises the object's token and leaves its body: from now on lower ones are refused.
  [[nodiscard]] Status fence(const std::string& key, Token token) const;
  /// The body goes, the token stays.
  [[nodiscard]] Status erase(const std::string& key, Token token) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

MUSTER_END_NAMESPACE
