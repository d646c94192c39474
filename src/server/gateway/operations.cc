#include "server/gateway/operations.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::server {
namespace {

using enum Operation;

constexpr Field kStale{
    "stale_ok", "boolean",
    "Answer from this server's copy, which may be older than the newest change."};
constexpr Field kPrefix{"prefix", "string",
                        "The path of the muster:// address at which it is kept (default: none)."};
constexpr Field kService{"service", "string", "Only nodes of this service."};
constexpr Field kGeneration{"generation_id", "string",
                            "A UUID that the process made when it started.", true};

constexpr std::array kElectionsQuery{
    Field{"after", "string", "Continue after this election: `next` of the last answer."},
    Field{"limit", "integer", "At most so many elections: 1 to 1000 (default: 1000)."}, kPrefix,
    kStale};
constexpr std::array kElectionQuery{kPrefix, kStale};
constexpr std::array kElectionWatchQuery{kPrefix};
constexpr std::array kNodesQuery{
    kService, Field{"state", "string", "Only nodes in this state, such as ACTIVE."},
    Field{"tag", "string", "Only nodes with this tag: KEY, or KEY=VALUE."},
    Field{"linearizable", "boolean", "Include every change that was acknowledged before."}};
constexpr std::array kNodeQuery{kNodesQuery[3]};
constexpr std::array kNodeWatchQuery{kService};
constexpr std::array kDeleteQuery{
    Field{"generation_id", "string", "Only this generation (default: any)."}};
constexpr std::array kRingQuery{
    Field{"key", "string", "The key to look up.", true},
    Field{"n", "integer", "At most so many owners: 1 to 64 (default: the replication factor)."},
    Field{"service", "string",
          "The ring of this service (default: the ring that frontend, metadata and object share)."},
    kNodesQuery[3]};
constexpr std::array kNodeBody{
    Field{"service", "string", "1 to 63 lower-case letters, digits and hyphens.", true},
    Field{"address", "string", "IPv4, IPv6 without brackets, or a host name.", true},
    Field{"port", "integer", "1 to 65535.", true},
    kGeneration,
    Field{"weight", "integer", "Shares of the ring: 1 to 1000 (default: 1)."},
    Field{"tags", "object", "At most 32, each a string."}};
constexpr std::array kBeatBody{
    kGeneration,
    Field{"reported_state", "string", "ACTIVE, JOINING or DRAINING (default: ACTIVE)."},
    Field{"known_version", "integer", "The version of the topology that the node has."}};

constexpr Field kSession{"session", "string",
                         "Made once for each holder, such as a UUID; no two share one.", true};
constexpr Field kHandle{"handle", "string", "As it was given when the lock was acquired.", true};
constexpr std::array kLockQuery{kPrefix};
constexpr std::array kReleaseQuery{
    kSession, Field{"handle", "string", "Without it: ends the wait, or what the session holds."},
    kPrefix};
constexpr std::array kAcquireBody{
    kSession,
    Field{"holder", "string", "For people (default: the session)."},
    Field{"ttl_ms", "integer", "100 to 86400000 (default: 6000)."},
    Field{"wait_ms", "integer",
          "Wait so long, at most 86400000 (default: 0). After at most 5 s there is an answer 202: "
          "ask again at once, with the same session and the rest."},
    Field{"permits", "integer", "So many holders at once, at most 64 (default: 1, or 8 readers)."},
    Field{"shared", "boolean", "A read/write lock: true takes it for reading."},
    kPrefix};
constexpr std::array kRenewBody{kSession, kHandle, kPrefix};

constexpr std::array kReadErrors{400, 403, 405, 413, 429, 503};
constexpr std::array kFindErrors{400, 403, 404, 405, 413, 429, 503};
constexpr std::array kPutErrors{400, 403, 405, 409, 411, 413, 415, 429, 500, 503};
constexpr std::array kDeleteErrors{400, 403, 404, 405, 409, 411, 413, 429, 500, 503};
constexpr std::array kBeatErrors{400, 403, 404, 405, 409, 411, 413, 415, 429, 500, 503};
constexpr std::array kLockErrors{400, 403, 404, 405, 413, 429, 500, 503};
constexpr std::array kReleaseErrors{400, 403, 404, 405, 411, 413, 429, 500, 503};
constexpr std::array kRenewErrors{400, 403, 404, 405, 411, 413, 415, 429, 500, 503};
constexpr std::array kPlainErrors{400, 403, 405, 413};

constexpr std::array kRows{
    OperationRow{kListElections,
                 "listElections",
                 "GET",
                 "/v1/elections",
                 "The elections that are kept in this cluster, in a fixed order.",
                 kElectionsQuery,
                 {},
                 "Elections",
                 kReadErrors},
    OperationRow{kGetElection,
                 "getElection",
                 "GET",
                 "/v1/elections/{name}",
                 "An election: its leader, the leader's value, the epoch and the age of the state.",
                 kElectionQuery,
                 {},
                 "Election",
                 kFindErrors},
    OperationRow{kListNodes,
                 "listNodes",
                 "GET",
                 "/v1/nodes",
                 "All nodes, by their ids.",
                 kNodesQuery,
                 {},
                 "Nodes",
                 kReadErrors},
    OperationRow{kGetNode,
                 "getNode",
                 "GET",
                 "/v1/nodes/{id}",
                 "A node.",
                 kNodeQuery,
                 {},
                 "Node",
                 kFindErrors},
    OperationRow{kPutNode,
                 "registerNode",
                 "PUT",
                 "/v1/nodes/{id}",
                 "Register a node. It is JOINING until its first heartbeat. Repeating the request "
                 "with the same generation_id changes nothing.",
                 {},
                 kNodeBody,
                 "Registered",
                 kPutErrors},
    OperationRow{kDeleteNode,
                 "deregisterNode",
                 "DELETE",
                 "/v1/nodes/{id}",
                 "Deregister a node.",
                 kDeleteQuery,
                 {},
                 "Deregistered",
                 kDeleteErrors},
    OperationRow{
        kHeartbeat,
        "sendHeartbeat",
        "POST",
        "/v1/nodes/{id}/heartbeat",
        "Tell the servers that a node is alive. 409 with \"replaced\": another process has "
        "the node's place. 409 without it: the node is DOWN; register it again, with a new "
        "generation_id.",
        {},
        kBeatBody,
        "Heartbeat",
        kBeatErrors},
    OperationRow{kLookUpRing,
                 "lookUpRing",
                 "GET",
                 "/v1/ring",
                 "The owners of a key, the primary first. A SUSPECT node is still an owner.",
                 kRingQuery,
                 {},
                 "Owners",
                 kReadErrors},
    OperationRow{kGetLock,
                 "getLock",
                 "GET",
                 "/v1/locks/{name}",
                 "Who holds a lock, and who waits for it, in order. It is no proof.",
                 kLockQuery,
                 {},
                 "Lock",
                 kLockErrors},
    OperationRow{kAcquireLock,
                 "acquireLock",
                 "PUT",
                 "/v1/locks/{name}",
                 "Take a lock, or wait for it. The session holds it until left_ms after the client "
                 "has sent this request, by the client's stopwatch. 409 names a holder.",
                 {},
                 kAcquireBody,
                 "Acquired",
                 kPutErrors},
    OperationRow{kRenewLock,
                 "renewLock",
                 "POST",
                 "/v1/locks/{name}",
                 "Renew a lock, about every third of its ttl; left_ms counts from the sending of "
                 "this request. 404: the session does not hold it any more.",
                 {},
                 kRenewBody,
                 "Renewed",
                 kRenewErrors},
    OperationRow{kReleaseLock,
                 "releaseLock",
                 "DELETE",
                 "/v1/locks/{name}",
                 "Give a lock back, or stop waiting for it.",
                 kReleaseQuery,
                 {},
                 "Released",
                 kReleaseErrors},
    OperationRow{kWatchNodes,
                 "watchNodes",
                 "GET",
                 "/v1/watch/nodes",
                 "Every change of the topology, as server-sent events: first `full_sync` with all "
                 "nodes, or with Last-Event-ID what has changed since; then `node_added`, "
                 "`node_updated`, `node_removed`, `ring_changed`; `lagged` before another "
                 "`full_sync` if the client reads too slowly; `end` with an error if the server "
                 "ends the stream.",
                 kNodeWatchQuery,
                 {},
                 "",
                 kReadErrors},
    OperationRow{kWatchElection,
                 "watchElection",
                 "GET",
                 "/v1/watch/elections/{name}",
                 "Every change of an election, as server-sent events: `election` with the state, "
                 "first the present one; `removed` if there is none; `end` with an error if the "
                 "server ends the stream. A renewal of the lease is a change.",
                 kElectionWatchQuery,
                 {},
                 "",
                 kReadErrors},
    OperationRow{kDescribe,
                 "describe",
                 "GET",
                 "/v1/openapi.json",
                 "This description.",
                 {},
                 {},
                 "Description",
                 kPlainErrors},
};

/// Whether the path is that of the row; the part in braces goes to `name`.
bool is_at(const OperationRow& row, std::string_view path, std::string_view& name) {
  const auto open = row.path.find('{');
  if (open == row.path.npos) return path == row.path;
  const std::string_view before = row.path.substr(0, open);
  const std::string_view after = row.path.substr(row.path.find('}') + 1);
  if (!path.starts_with(before) || !path.ends_with(after)) return false;
  if (path.size() <= before.size() + after.size()) return false;
  name = path.substr(before.size(), path.size() - before.size() - after.size());
  return name.find('/') == name.npos;
}

}  // namespace

std::span<const OperationRow> operation_rows() {
  return kRows;
}

Result<Match> match(std::string_view method, std::string_view path) {
  Match found;
  for (const OperationRow& row : kRows) {
    std::string_view name;
    if (!is_at(row, path, name)) continue;
    const bool reads = row.method == "GET";
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += reads ? "GET, HEAD" : std::string(row.method);
    if (row.method != method && !(reads && method == "HEAD")) continue;
    auto decoded = percent_decode(name);
    if (!decoded) return decoded.error();
    found.row = &row;
    found.name = std::move(*decoded);
  }
  return found;
}

Status check_names(std::span<const Field> fields, const std::vector<std::string>& given,
                   const char* what) {
  for (const std::string& name : given) {
    const bool known = std::any_of(fields.begin(), fields.end(),
                                   [&](const Field& field) { return field.name == name; });
    if (known) continue;
    std::string names;
    for (const Field& field : fields) {
      names += (names.empty() ? "; there are " : ", ") + std::string(field.name);
    }
    return {Errc::kInvalid, "the " + std::string(what) + " " + name + " is not known" + names};
  }
  for (const Field& field : fields) {
    if (!field.required || std::find(given.begin(), given.end(), field.name) != given.end()) {
      continue;
    }
    return {Errc::kInvalid,
            "the " + std::string(what) + " " + std::string(field.name) + " is missing"};
  }
  return Done{};
}

}  // namespace muster::server
