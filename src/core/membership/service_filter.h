#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "core/membership/node.h"

namespace muster::membership {

/// The services whose nodes a client asks for.
class ServiceFilter {
 public:
  /// The text for all services.
  static constexpr const char* kAll = "*";

  /// The services that have a type. Clients of 0.1 cannot tell other nodes from these.
  ServiceFilter() = default;
  /// Of the text in a request: empty as above, kAll, or the name of one service. kInvalid names the
  /// rule of such names.
  [[nodiscard]] static Result<ServiceFilter> parse(std::string text);
  [[nodiscard]] static ServiceFilter all() { return ServiceFilter(kAll); }

  [[nodiscard]] bool contains(NodeType type, std::string_view service) const;
  [[nodiscard]] bool contains(const NodeSpec& node) const {
    return contains(node.type, node.service);
  }
  /// Whether it names one service.
  [[nodiscard]] bool one() const { return !text_.empty() && text_ != kAll; }
  [[nodiscard]] const std::string& text() const { return text_; }

  bool operator==(const ServiceFilter&) const = default;

 private:
  explicit ServiceFilter(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace muster::membership
