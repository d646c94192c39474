#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::security {

/// What a side of a TLS connection shows and believes, in PEM form. The key is a secret.
struct Credentials {
  std::string certificate;
  std::string key;
  std::string authorities;
  bool operator==(const Credentials&) const = default;
};

/// Which of the credentials seen on disk are in force. New ones become the next generation only as
/// a whole: files are replaced one after the other, and between two of them a certificate lies
/// beside the key of another. Until they fit, the earlier generation stays and the trouble is told.
/// Pure: no I/O, no clock, no locks; one thread.
class CredentialGenerations {
 public:
  using Check = std::function<Status(const Credentials&)>;
  /// `check` says whether certificate, key and authorities can be used together.
  explicit CredentialGenerations(Check check) : check_(std::move(check)) {}

  enum class Outcome {
    kUnchanged,  ///< As those in force.
    kAdopted,    ///< They are in force now.
    kRefused,    ///< Those before them stay in force; trouble() says why.
  };
  /// What was found on disk, or why nothing could be read.
  Outcome offer(Result<Credentials> found);

  /// 0 until something was adopted.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] const Credentials& current() const { return current_; }
  /// What was wrong with the last offer; none when it was good.
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
