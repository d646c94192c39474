#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::server {

/// What a client may do at a path. One table: requests are matched with it, and /v1/openapi.json is
/// made from it.
enum class Operation {
  kListElections,
  kGetElection,
  kListNodes,
  kGetNode,
  kPutNode,
  kDeleteNode,
  kHeartbeat,
  kLookUpRing,
  kGetLock,
  kAcquireLock,
  kRenewLock,
  kReleaseLock,
  kWatchNodes,
  kWatchElection,
  kDescribe,
};

/// A member of a query or of a body.
struct Field {
  std::string_view name;
  std::string_view type;  ///< Of JSON Schema: string, integer, boolean, object.
  std::string_view about;
  bool required = false;
};

struct OperationRow {
  Operation operation;
  std::string_view id;  ///< In the description, such as getNode.
  std::string_view method;
  std::string_view path;  ///< With a name in braces: /v1/nodes/{id}
  std::string_view about;
  std::span<const Field> query;
  std::span<const Field> body;  ///< Empty: the request has no body.
  std::string_view answer;      ///< A schema of the description; empty: server-sent events.
  std::span<const int> errors;  ///< HTTP statuses.
};

[[nodiscard]] std::span<const OperationRow> operation_rows();

/// What a request asks for.
struct Match {
  const OperationRow* row = nullptr;  ///< Null: nothing, see `allowed`.
  std::string name{};                 ///< The part in braces, decoded.
  /// The methods that the path has; empty: there is no such path.
  std::string allowed{};
};
/// HEAD is answered like GET. kInvalid if the path is wrongly encoded.
[[nodiscard]] Result<Match> match(std::string_view method, std::string_view path);

/// kInvalid names a member that `fields` has not, or one that is required and not there.
[[nodiscard]] Status check_names(std::span<const Field> fields,
                                 const std::vector<std::string>& given, const char* what);

}  // namespace muster::server
