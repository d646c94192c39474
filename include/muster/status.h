#pragma once

#include <muster/version.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

MUSTER_BEGIN_NAMESPACE

/// Every failure that a caller can meet. The list is closed: programs decide by these codes alone.
/// The numbers are part of the ABI and never change.
enum class Code : int {
  kNotFound = 1,     ///< The requested thing does not exist.
  kUnchanged = 2,    ///< The object is still as the caller knows it.
  kConflict = 3,     ///< A condition did not hold: another writer came first.
  kAmbiguous = 4,    ///< The write may have landed or may land yet: read before you act.
  kThrottled = 5,    ///< Too many requests; retry later.
  kUnavailable = 6,  ///< Unreachable now, and certainly nothing was written.
  kDenied = 7,       ///< Credentials or role are insufficient.
  kUnsupported = 8,  ///< The peer cannot do this at all.
  kInvalid = 9,      ///< The caller's input is wrong, or the call is not allowed here.
  kCorrupt = 10,     ///< Stored bytes are damaged.
  kCancelled = 11,   ///< The caller gave up, or the object was stopped.
  kTimeout = 12,     ///< It did not happen within the caller's time limit.
};

/// The name of a code as "kNotFound"; "unknown" for another number.
[[nodiscard]] MUSTER_EXPORT const char* to_string(Code code);

/// A failure: its kind, and one sentence for a person that says what to do about it.
struct Error {
  Code code = Code::kInvalid;
  std::string message;
};

/// Thrown by `value()` of a result that holds an error; what() is the error's message.
class MUSTER_EXPORT BadResult : public std::runtime_error {
 public:
  explicit BadResult(Error error);
  ~BadResult() override;
  [[nodiscard]] Code code() const { return code_; }

 private:
  Code code_;
};

/// Throws BadResult.
[[noreturn]] MUSTER_EXPORT void throw_bad_result(const Error& error);

/// A value, or the Error instead of it. Threads: as for the
/// value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  Result(Code code, std::string message) : error_{code, std::move(message)} {}
  /// From what converts to a value, such as a pointer to a derived class.
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U, T> &&
                                                    !std::is_convertible_v<U, Error> &&
                                                    !std::is_same_v<std::decay_t<U>, T>>>
  Result(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// The value. Throws BadResult if there is none; to call it only for that is fine.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error. Throws std::logic_error if there is none.
  [[nodiscard]] const Error& error() const {
    if (ok()) throw std::logic_error("muster: error() of a result that holds a value");
    return error_;
  }
  [[nodiscard]] Code code() const { return error().code; }
  /// True if this is the failure `code`.
  [[nodiscard]] bool is(Code code) const { return !ok() && error_.code == code; }
  /// The error's message; empty if there is none.
  [[nodiscard]] const std::string& message() const { return error_.message; }

 private:
  void check() const {
    if (!ok()) throw_bad_result(error_);
  }
  std::optional<T> value_;
  Error error_;
};

/// The value of an operation that returns no value.
struct Done {};
using Status = Result<Done>;

MUSTER_END_NAMESPACE
