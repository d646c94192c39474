#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::rpc {

/// A header to be sent; the name is in lower case.
struct Header {
  std::string_view name;
  std::string_view value;
};

/// Metadata of a request. A name that ends in -bin may have any bytes as its value.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Received headers, in order. It takes one or two allocations, however many there are.
class HeaderBlock {
 public:
  void add(std::string_view name, std::string_view value) {
    entries_.push_back({static_cast<std::uint32_t>(bytes_.size()),
                        static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())});
    bytes_.append(name).append(value);
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] Header operator[](std::size_t i) const {
    const Entry& entry = entries_[i];
    const std::string_view all = bytes_;
    return {all.substr(entry.at, entry.name), all.substr(entry.at + entry.name, entry.value)};
  }
  /// The first with that name; empty if there is none.
  [[nodiscard]] std::string_view find(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if ((*this)[i].name == name) return (*this)[i].value;
    }
    return {};
  }
  [[nodiscard]] bool has(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if ((*this)[i].name == name) return true;
    }
    return false;
  }
  /// As HTTP/2 counts: names, values, and 32 for each header.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size() + 32 * entries_.size(); }

 private:
  struct Entry {
    std::uint32_t at;
    std::uint32_t name;
    std::uint32_t value;
  };
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace muster::rpc
