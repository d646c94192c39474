#include "log/keys.h"

#include "base/text.h"

namespace muster::rlog {
namespace {

/// As many digits as the largest number has, so that byte order is the order of numbers.
constexpr std::size_t kDigits = 20;

std::string padded(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kDigits - digits.size(), '0') + digits;
}

}  // namespace

std::string Keys::entry(Index index) const {
  return log() + padded(index.value());
}

std::string Keys::snapshot(Index index, Epoch epoch, const Nonce& nonce) const {
  return snapshots() + padded(index.value()) + "-" + std::to_string(epoch.value()) + "-" +
         nonce.value() + "/";
}

std::string Keys::part(const std::string& set, std::size_t number) {
  return set + std::to_string(number);
}

std::optional<Index> Keys::entry_of(const std::string& key) const {
  const std::string before = log();
  if (!key.starts_with(before) || key.size() != before.size() + kDigits) return {};
  const auto number = parse_unsigned(std::string_view(key).substr(before.size()));
  if (!number) return {};
  return Index(*number);
}

std::optional<Keys::Set> Keys::set_of(const std::string& key) const {
  const std::string before = snapshots();
  if (!key.starts_with(before)) return {};
  const auto slash = key.find('/', before.size());
  const auto dash = key.find('-', before.size());
  if (slash == std::string::npos || dash == std::string::npos || dash > slash) return {};
  const std::string_view digits(key.data() + before.size(), dash - before.size());
  const auto number = parse_unsigned(digits);
  if (!number || digits.size() != kDigits) return {};
  return Set{key.substr(0, slash + 1), Index(*number)};
}

}  // namespace muster::rlog
