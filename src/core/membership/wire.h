#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/membership/node.h"

namespace muster::membership {

/// Unknown fields are kept up to this many bytes per message.
inline constexpr std::size_t kUnknownBytesMax = 64 * 1024;
/// The longest text that is read. Valid ids and addresses are much shorter.
inline constexpr std::size_t kTextBytesMax = 1024;

/// Writes one message in the protobuf wire format: varint tags, varints, length-delimited bytes.
/// As in proto3, a zero or empty field is not written, so equal values give equal bytes.
class WireWriter {
 public:
  void number(std::uint32_t field, std::uint64_t value);
  void time(std::uint32_t field, LogTime time);
  void wall(std::uint32_t field, WallTime time);
  void text(std::uint32_t field, std::string_view value);
  /// Written even if empty: one of a repeated field, or the presence of a submessage.
  void message(std::uint32_t field, std::string_view bytes);
  /// A bare varint, an element of a packed field.
  void varint(std::uint64_t value);
  /// Fields kept from decoding, as they were.
  void raw(std::string_view fields) { bytes_ += fields; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }
  /// Reserves memory, so that a large message is not moved while it grows.
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads one message, field by field. Any fault (a truncated field, a wrong type, a number out of
/// range) is permanent: next() is false from then on and failed() is true, so a decoder checks
/// once, at its end. Never reads past its input, which must outlive the reader.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  /// Advances to the next field. False at the end of the input and after a fault.
  bool next();
  [[nodiscard]] std::uint32_t field() const { return field_; }
  [[nodiscard]] bool failed() const { return failed_; }

  /// The current field. A fault if it has another type, or a value above `max`.
  std::uint64_t number(std::uint64_t max = UINT64_MAX);
  LogTime time() { return log_time_from_ms(static_cast<std::int64_t>(number())); }
  WallTime wall() { return wall_from_ms(static_cast<std::int64_t>(number())); }
  std::string text();
  std::string_view message();
  /// Appends the current field unchanged to the unknown fields.
  void keep(std::string& unknown);

  /// Reads a bare varint, an element of a packed field. False at the end and after a fault.
  bool varint(std::uint64_t& value);
  void fail() { failed_ = true; }

 private:
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  bool take(std::size_t count);

  std::string_view rest_;
  std::string_view raw_;    ///< The current field with its tag.
  std::string_view bytes_;  ///< The current field's content, unless it is a varint.
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  bool failed_ = false;
};

}  // namespace muster::membership
