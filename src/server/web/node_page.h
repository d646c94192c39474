#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/http/message.h"
#include "server/web/picture.h"

namespace muster::server {

/// Which nodes to show, and in which order.
struct NodePage {
  enum class Sort { kId, kState, kAge, kFlaps, kType, kService, kAddress };
  std::optional<membership::NodeState> state{};  ///< None: all.
  std::optional<membership::NodeType> type{};
  std::string service{};                                     ///< Empty: all.
  std::optional<std::pair<std::string, std::string>> tag{};  ///< Key and value.
  std::string q{};  ///< A part of the id, address or generation, in any case.
  Sort sort = Sort::kId;
  bool descending = false;
  std::size_t offset = 0;
  std::size_t limit = 200;

  /// kInvalid names the parameter.
  [[nodiscard]] static Result<NodePage> parse(const http::Request& request);
  /// The names of all services, sorted.
  [[nodiscard]] static std::vector<std::string> services(const std::vector<NodeRow>& rows);
  /// The rows that match, in order; all of them, for offset and limit are the caller's.
  [[nodiscard]] std::vector<const NodeRow*> select(const std::vector<NodeRow>& rows) const;
};

/// A number in a query, at most `max`; `otherwise` when it is not given.
[[nodiscard]] Result<std::size_t> number_in(const http::Request& request, const std::string& name,
                                            std::size_t otherwise, std::size_t max);

}  // namespace muster::server
