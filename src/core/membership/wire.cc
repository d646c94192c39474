#include "core/membership/wire.h"

namespace muster::membership {
namespace {

/// Field numbers of protobuf end here.
constexpr std::uint64_t kFieldMax = (1U << 29) - 1;

}  // namespace

void WireWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    value >>= 7;
  }
  bytes_ += static_cast<char>(value);
}

void WireWriter::number(std::uint32_t field, std::uint64_t value) {
  if (value == 0) return;
  varint(std::uint64_t{field} << 3);
  varint(value);
}

void WireWriter::time(std::uint32_t field, LogTime time) {
  number(field, static_cast<std::uint64_t>(to_ms(time)));
}

void WireWriter::wall(std::uint32_t field, WallTime time) {
  number(field, static_cast<std::uint64_t>(to_ms(time)));
}

void WireWriter::text(std::uint32_t field, std::string_view value) {
  if (!value.empty()) message(field, value);
}

void WireWriter::message(std::uint32_t field, std::string_view bytes) {
  varint(std::uint64_t{field} << 3 | 2);
  varint(bytes.size());
  bytes_ += bytes;
}

bool WireReader::varint(std::uint64_t& value) {
  if (failed_ || rest_.empty()) return false;
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    // The tenth byte has room for one bit; more would be lost without notice.
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return true;
  }
  fail();
  return false;
}

bool WireReader::take(std::size_t count) {
  if (count > rest_.size()) {
    fail();
    return false;
  }
  bytes_ = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return true;
}

bool WireReader::next() {
  const std::string_view start = rest_;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > kFieldMax) {
    fail();
    return false;
  }
  field_ = static_cast<std::uint32_t>(tag >> 3);
  bytes_ = {};
  number_ = 0;
  bool whole = false;
  switch (tag & 7) {
    case 0:
      type_ = Type::kVarint;
      whole = varint(number_);
      break;
    case 1:
      type_ = Type::kFixed64;
      whole = take(8);
      break;
    case 2:
      type_ = Type::kBytes;
      whole = varint(number_) && take(number_);
      break;
    case 5:
      type_ = Type::kFixed32;
      whole = take(4);
      break;
    default:  // Groups, which nothing of ours ever writes.
      break;
  }
  // A field that ends early is a fault even where varint() saw nothing but the end.
  if (!whole) fail();
  raw_ = start.substr(0, start.size() - rest_.size());
  return whole;
}

std::uint64_t WireReader::number(std::uint64_t max) {
  if (type_ == Type::kVarint && number_ <= max) return number_;
  fail();
  return 0;
}

std::string_view WireReader::message() {
  if (type_ == Type::kBytes) return bytes_;
  fail();
  return {};
}

std::string WireReader::text() {
  const std::string_view content = message();
  if (content.size() > kTextBytesMax) fail();
  return failed_ ? std::string() : std::string(content);
}

void WireReader::keep(std::string& unknown) {
  if (unknown.size() + raw_.size() > kUnknownBytesMax) return fail();
  unknown += raw_;
}

}  // namespace muster::membership
