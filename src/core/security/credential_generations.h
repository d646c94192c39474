#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::security {

/// The certificates of one side of a TLS connection, in PEM form. The key is a secret.
struct Credentials {
  std::string certificate;
  std::string key;
  std::string authorities;
  bool operator==(const Credentials&) const = default;
};

/// Decides which of the credentials seen on disk are in use. New ones become the next generation
/// only as a whole: files are replaced one after the other, so a certificate may be beside the key
/// of another. Until they fit together, the earlier generation stays and the trouble is reported.
/// Pure: no I/O, no clock, no locks. Threads: one.
class CredentialGenerations {
 public:
  using Check = std::function<Status(const Credentials&)>;
  /// `check` says whether certificate, key and CA certificates fit together.
  explicit CredentialGenerations(Check check) : check_(std::move(check)) {}

  enum class Outcome {
    kUnchanged,  ///< The same as those in use.
    kAdopted,    ///< They are in use now.
    kRefused,    ///< The earlier ones stay in use; trouble() says why.
  };
  /// The credentials found on disk, or why they could not be read.
  Outcome offer(Result<Credentials> found);

  /// 0 until something was adopted.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] const Credentials& current() const { return current_; }
  /// The fault of the last offer; none if it was good.
  [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

 private:
  Outcome refuse(Error error);

  Check check_;
  Credentials current_;
  std::uint64_t generation_ = 0;
  std::uint64_t refusals_ = 0;
  std::optional<Error> trouble_;
};

}  // namespace muster::security
