#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <cstdint>
#include <memory>
#include <string>

MUSTER_BEGIN_NAMESPACE

/// Protects a resource: admits a token only if no higher one came before. The resource must store
/// highest() as durably as its data, and pass it in at start.
///
/// In a database, one statement at the beginning of each transaction does the same; roll back if it
/// changes no row (tables and triggers: examples/fence/sqlite.sql):
///
///     UPDATE fence SET epoch = :token WHERE resource = :resource AND epoch <= :token
///
/// Threads: one.
class MUSTER_EXPORT EpochGuard {
 public:
  explicit EpochGuard(Token highest = 0) : highest_(highest) {}
  /// False for a token below the highest one so far.
  [[nodiscard]] bool admit(Token token);
  [[nodiscard]] Token highest() const { return highest_; }
  /// The number of refused tokens.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  Token highest_;
  std::uint64_t refused_ = 0;
};

/// The body of a fenced object, and the token of its last write.
struct FencedObject {
  Token token = 0;
  std::string body;
};

/// Objects in an arbiter that remember the highest token that wrote them and refuse every lower
/// one, without grace and without a clock. A leader that was replaced while it slept cannot write
/// here, whatever it still believes: each write is a compare-and-swap on the version that was read.
///
/// A new leader must call fence() before it reads if no write of the old leader may land after that
/// read. Each object is fenced separately; there is no fence over several objects.
///
/// Not guaranteed: an order between writers with one token (the last one wins), and protection
/// against programs that write the same keys in another way.
///
/// Keys are UTF-8 with `/` between parts, at most 1024 bytes. Keys of elections, which begin with
/// `plugin=`, are refused with kInvalid.
///
/// Threads: any. Calls wait for the store, at most 5 s for each of their two or more requests.
class MUSTER_EXPORT FencedObjects {
 public:
  explicit FencedObjects(const Arbiter& arbiter);

  /// kNotFound if there is no body; the token of the object is still kept.
  [[nodiscard]] Result<FencedObject> get(const std::string& key) const;
  /// kDenied if a higher token was here. kAmbiguous: the write may have landed, or may land later,
  /// unless another process writes or fences first.
  [[nodiscard]] Status put(const std::string& key, const std::string& body, Token token) const;
  /// Raises the object's token and keeps its body: lower tokens are refused from now on.
  [[nodiscard]] Status fence(const std::string& key, Token token) const;
  /// Removes the body and keeps the token.
  [[nodiscard]] Status erase(const std::string& key, Token token) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

MUSTER_END_NAMESPACE
