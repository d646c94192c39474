#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/time.h"

namespace muster {

/// Every expected failure of the system. The list is closed on purpose: callers decide by these
/// codes alone, and each code calls for a different reaction.
enum class Errc {
  kNotFound,     ///< The requested thing does not exist.
  kUnchanged,    ///< The object is still as the caller knows it.
  kConflict,     ///< A precondition did not hold: another writer came first.
  kAmbiguous,    ///< The write may have landed or may land yet: read before you act.
  kThrottled,    ///< Too many requests; see Error::retry_after.
  kUnavailable,  ///< Unreachable now, and certainly nothing was written.
  kDenied,       ///< Credentials or role are insufficient.
  kUnsupported,  ///< The peer cannot do this at all.
  kInvalid,      ///< The caller's input is wrong.
  kCorrupt,      ///< Stored bytes are damaged.
  kCancelled,    ///< The caller gave up, or the object that owned the request is gone.
};

[[nodiscard]] const char* to_string(Errc code);

/// Whether a failure lasts until an operator acts, so that an early retry is useless: a missing
/// permission, a missing bucket, a store without a needed feature.
[[nodiscard]] constexpr bool is_lasting(Errc code) {
  return code == Errc::kDenied || code == Errc::kInvalid || code == Errc::kUnsupported;
}

/// A failure: its code, and one sentence for a person that says what to do about it.
struct Error {
  Errc code;
  std::string message;
  Duration retry_after{0};  ///< Only with kThrottled; zero if the peer named no time.
};

[[nodiscard]] inline Error invalid(std::string message) {
  return {Errc::kInvalid, std::move(message)};
}

/// A value or an Error. Reading the wrong side is a CHECK failure, not undefined behaviour.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : either_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : either_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  Result(Errc code, std::string message) : Result(Error{code, std::move(message)}) {}

  [[nodiscard]] bool ok() const { return either_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return check_ok(), *std::get_if<0>(&either_); }
  [[nodiscard]] const T& value() const& { return check_ok(), *std::get_if<0>(&either_); }
  [[nodiscard]] T&& value() && { return check_ok(), std::move(*std::get_if<0>(&either_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    MUSTER_CHECK(!ok());
    return *std::get_if<1>(&either_);
  }
  [[nodiscard]] Errc code() const { return error().code; }
  /// True when this is the failure `code`.
  [[nodiscard]] bool is(Errc code) const { return !ok() && error().code == code; }

 private:
  void check_ok() const { MUSTER_CHECK(ok()); }
  std::variant<T, Error> either_;
};

/// The value of an operation that returns no value.
struct Done {};
using Status = Result<Done>;

}  // namespace muster
