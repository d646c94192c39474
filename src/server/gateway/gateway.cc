#include "server/gateway/gateway.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "core/election/records.h"
#include "core/membership/service_filter.h"
#include "core/membership/validation.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/lock.pb.h"
#include "muster/v1/store.pb.h"
#include "server/gateway/election_json.h"
#include "server/gateway/feed.h"
#include "server/gateway/node_json.h"
#include "server/gateway/openapi.h"
#include "server/gateway/same_origin.h"
#include "server/web/http_paths.h"

namespace muster::server {
namespace {

/// For a unary call. Everything that a call waits for, a leader, the engine or another server, is
/// given up before.
constexpr Duration kPatience = 15s;
constexpr std::size_t kElectionsMax = 1000;

constexpr const char* kGetTopology = "/muster.v1.CoordinatorService/GetTopology";
constexpr const char* kRegisterNode = "/muster.v1.CoordinatorService/RegisterNode";
constexpr const char* kDeregisterNode = "/muster.v1.CoordinatorService/DeregisterNode";
constexpr const char* kSendHeartbeat = "/muster.v1.CoordinatorService/Heartbeat";
constexpr const char* kAcquire = "/muster.v1.LockService/Acquire";
constexpr const char* kRenew = "/muster.v1.LockService/Renew";
constexpr const char* kRelease = "/muster.v1.LockService/Release";
constexpr const char* kGetLockMethod = "/muster.v1.LockService/GetLock";
constexpr const char* kStoreList = "/muster.v1.StoreService/List";
constexpr const char* kReadStore = "/muster.v1.StoreService/Get";

std::vector<std::string> names_of(const std::map<std::string, std::string>& query) {
  std::vector<std::string> names;
  for (const auto& [name, value] : query) names.push_back(name);
  return names;
}

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

/// A switch of the query: "true", "false", or not given.
Result<bool> flag(const http::Request& request, const std::string& name) {
  const std::string text = request.parameter(name);
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  return {Errc::kInvalid, name + " must be true or false"};
}

Result<std::size_t> number(const http::Request& request, const std::string& name, std::size_t most,
                           std::size_t otherwise) {
  const std::string text = request.parameter(name);
  if (text.empty()) return otherwise;
  const auto parsed = parse_unsigned(text);
  if (parsed && *parsed >= 1 && *parsed <= most) return static_cast<std::size_t>(*parsed);
  return {Errc::kInvalid, name + " must be a whole number from 1 to " + std::to_string(most)};
}

/// As in GetTopologyRequest: of a request that names no service, all of them.
std::string services_of(const http::Request& request) {
  const std::string service = request.parameter("service");
  return service.empty() ? membership::ServiceFilter::kAll : service;
}

bool is_json(const std::string& type) {
  return to_lower(trim(std::string_view(type).substr(0, type.find(';')))) == "application/json";
}

bool reads(const http::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

Gateway::Gateway(Parts parts)
    : parts_(std::move(parts)), line_(std::make_shared<CallLine>(parts_.loop, parts_.desk)) {}

void Gateway::handle(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  const auto found = match(request.method, request.path);
  if (!found) return refuse(exchange, found.error());
  if (found->row == nullptr && found->allowed.empty()) {
    return refuse(exchange, {Errc::kNotFound, "there is no " + request.path +
                                                  "; /v1/openapi.json lists what there is"});
  }
  if (found->row == nullptr) {
    http::Response response =
        refusal_at(request.path, 405, "this path has the methods " + found->allowed);
    response.headers.emplace_back("Allow", found->allowed);
    return reply(exchange, std::move(response));
  }
  if (!reads(request)) {
    if (const Status own = check_same_origin(request); !own) return refuse(exchange, own.error());
  }
  if (!found->row->body.empty() && !is_json(request.header("content-type"))) {
    return reply(exchange,
                 refusal_at(request.path, 415, "the Content-Type must be application/json"));
  }
  const auto ask = read(exchange, *found);
  if (!ask) return refuse(exchange, ask.error());
  perform(*ask);
}

Result<Gateway::AskPtr> Gateway::read(const http::ExchangePtr& exchange, const Match& found) const {
  const http::Request& request = exchange->request();
  if (Status s = check_names(found.row->query, names_of(request.query), "parameter"); !s) {
    return s.error();
  }
  Json body;
  if (!found.row->body.empty()) {
    auto parsed = parse_object(request.body);
    if (!parsed) return parsed.error();
    if (Status s = check_names(found.row->body, names_of(*parsed), "field"); !s) return s.error();
    body = std::move(*parsed);
  } else if (!request.body.empty()) {
    return {Errc::kInvalid, "this request has no body"};
  }
  return std::make_shared<const Ask>(Ask{exchange, found.row, found.name, std::move(body)});
}

void Gateway::perform(const AskPtr& ask) {
  switch (ask->row->operation) {
    case Operation::kListElections:
      return list_elections(ask);
    case Operation::kGetElection:
      return get_election(ask);
    case Operation::kListNodes:
    case Operation::kGetNode:
      return nodes(ask);
    case Operation::kPutNode:
      return put_node(ask);
    case Operation::kDeleteNode:
      return delete_node(ask);
    case Operation::kHeartbeat:
      return heartbeat(ask);
    case Operation::kLookUpRing:
      return look_up_ring(ask);
    case Operation::kGetLock:
      return get_lock(ask);
    case Operation::kAcquireLock:
      return acquire_lock(ask);
    case Operation::kRenewLock:
      return renew_lock(ask);
    case Operation::kReleaseLock:
      return release_lock(ask);
    case Operation::kWatchNodes:
    case Operation::kWatchElection:
      return watch(ask);
    case Operation::kDescribe:
      return reply(ask, openapi());
  }
}

CallOrder Gateway::order(const http::Request& request, const std::string& method,
                         const google::protobuf::Message& message, Duration patience) {
  return {method,         message.SerializeAsString(),        request.certificate,
          request.remote, request.header(rpc::kRequestIdKey), patience};
}

template <typename Answer>
CallLine::CallId Gateway::call(const AskPtr& ask, const char* method,
                               const google::protobuf::Message& request,
                               std::function<void(const Answer& answer)> then) {
  return line_->call(
      order(ask->exchange->request(), method, request, kPatience),
      lifetime_.wrap([this, ask, then = std::move(then)](const rpc::RpcStatus& status,
                                                         const rpc::Payload& bytes) {
        if (!status.ok()) return reply(ask->exchange, error_response(status));
        Answer answer;
        if (bytes && answer.ParseFromString(*bytes)) return then(answer);
        reply(ask->exchange,
              error_response({rpc::Code::kInternal, "the answer cannot be decoded", {}}));
      }));
}

template <typename Answer>
void Gateway::call_for_json(const AskPtr& ask, const char* method,
                            const google::protobuf::Message& request) {
  call<Answer>(ask, method, request,
               [this, ask](const Answer& answer) { reply(ask, to_json(answer)); });
}

template <typename Topology>
void Gateway::with_topology(const AskPtr& ask, const std::string& services, Topology then) {
  const auto fresh = flag(ask->exchange->request(), "linearizable");
  if (!fresh) return refuse(ask->exchange, fresh.error());
  v1::GetTopologyRequest request;
  request.set_linearizable(*fresh);
  request.set_service(services);
  call<v1::GetTopologyResponse>(ask, kGetTopology, request, std::move(then));
}

void Gateway::list_elections(const AskPtr& ask) {
  const http::Request& request = ask->exchange->request();
  const auto limit = number(request, "limit", kElectionsMax, kElectionsMax);
  if (!limit) return refuse(ask->exchange, limit.error());
  const auto stale = flag(request, "stale_ok");
  if (!stale) return refuse(ask->exchange, stale.error());
  const auto list = std::make_shared<ElectionList>(request.parameter("prefix"),
                                                   request.parameter("after"), *limit, *stale);
  const auto step = std::make_shared<std::function<void()>>();
  // Each page asks for the next one; the list bounds them.
  *step = [this, ask, list, weak = std::weak_ptr(step)] {
    const auto next = list->next();
    if (!next) return reply(ask, list->json());
    call<v1::StoreListResponse>(ask, kStoreList, *next,
                                [list, again = weak.lock()](const v1::StoreListResponse& page) {
                                  list->add(page);
                                  (*again)();
                                });
  };
  (*step)();
}

void Gateway::get_election(const AskPtr& ask) {
  if (Status s = validate_name("the name", ask->name); !s) return refuse(ask->exchange, s.error());
  const auto stale = flag(ask->exchange->request(), "stale_ok");
  if (!stale) return refuse(ask->exchange, stale.error());
  v1::StoreGetRequest request;
  request.set_key(state_key(ask->exchange->request().parameter("prefix"), ask->name));
  request.set_stale_ok(*stale);
  line_->call(order(ask->exchange->request(), kReadStore, request, kPatience),
              lifetime_.wrap([this, ask](rpc::RpcStatus status, const rpc::Payload& bytes) {
                v1::StoreGetResponse answer;
                if (status.ok() && bytes && answer.ParseFromString(*bytes)) {
                  return reply(ask, election_json(ask->name, answer.object()));
                }
                if (status.ok())
                  status = {rpc::Code::kInternal, "the answer cannot be decoded", {}};
                if (status.code == rpc::Code::kNotFound) {
                  status.message = "there is no election " + ask->name;
                }
                reply(ask->exchange, error_response(status));
              }));
}

void Gateway::nodes(const AskPtr& ask) {
  const auto filter = NodeFilter::parse(ask->exchange->request().query);
  if (!filter) return refuse(ask->exchange, filter.error());
  with_topology(ask, services_of(ask->exchange->request()),
                [this, ask, filter = *filter](const v1::GetTopologyResponse& topology) {
                  if (ask->row->operation == Operation::kListNodes)
                    return reply(ask, nodes_json(topology, filter));
                  const Json node = one_node_json(topology, ask->name);
                  if (!node.is_null()) return reply(ask, node);
                  refuse(ask->exchange, {Errc::kNotFound, "there is no node " + ask->name});
                });
}

void Gateway::put_node(const AskPtr& ask) {
  const auto request = registration(ask->name, ask->body);
  if (!request) return refuse(ask->exchange, request.error());
  call_for_json<v1::RegisterNodeResponse>(ask, kRegisterNode, *request);
}

void Gateway::delete_node(const AskPtr& ask) {
  v1::DeregisterNodeRequest request;
  request.set_node_id(ask->name);
  request.set_generation_id(ask->exchange->request().parameter("generation_id"));
  call_for_json<v1::DeregisterNodeResponse>(ask, kDeregisterNode, request);
}

void Gateway::heartbeat(const AskPtr& ask) {
  v1::HeartbeatRequest request;
  if (Status s = from_json(ask->body, request); !s) return refuse(ask->exchange, s.error());
  request.set_node_id(ask->name);
  call_for_json<v1::HeartbeatResponse>(ask, kSendHeartbeat, request);
}

void Gateway::look_up_ring(const AskPtr& ask) {
  const http::Request& request = ask->exchange->request();
  const auto most = number(request, "n", RingLookup::kOwnersMax, 0);
  if (!most) return refuse(ask->exchange, most.error());
  const std::string service = request.parameter("service");
  if (!service.empty()) {
    if (Status s = membership::validate_service(service); !s) {
      return refuse(ask->exchange, s.error());
    }
  }
  with_topology(ask, service, [this, ask, most = *most](const v1::GetTopologyResponse& topology) {
    const http::Request& asked = ask->exchange->request();
    reply(ask, ring_.owners(topology, asked.parameter("service"), asked.parameter("key"), most));
  });
}

void Gateway::get_lock(const AskPtr& ask) {
  v1::GetLockRequest request;
  request.set_name(ask->name);
  request.set_prefix(ask->exchange->request().parameter("prefix"));
  call_for_json<v1::GetLockResponse>(ask, kGetLockMethod, request);
}

void Gateway::acquire_lock(const AskPtr& ask) {
  v1::LockAcquireRequest request;
  if (Status s = from_json(ask->body, request); !s) return refuse(ask->exchange, s.error());
  request.set_name(ask->name);
  std::shared_ptr<void> place;
  if (request.wait_ms() > 0) {
    place = place_for(ask);
    if (!place) return;
  }
  const auto id = call<v1::LockAcquireResponse>(
      ask, kAcquire, request, [this, ask, place](const v1::LockAcquireResponse& answer) {
        reply(ask, to_json(answer), answer.waiting() ? 202 : 200);
      });
  // A client that has gone waits for nothing.
  if (!place) return;
  ask->exchange->on_gone([weak = std::weak_ptr(line_), id] {
    if (const auto line = weak.lock()) line->cancel(id);
  });
}

void Gateway::renew_lock(const AskPtr& ask) {
  v1::LockRenewRequest request;
  if (Status s = from_json(ask->body, request); !s) return refuse(ask->exchange, s.error());
  request.set_name(ask->name);
  call_for_json<v1::LockRenewResponse>(ask, kRenew, request);
}

void Gateway::release_lock(const AskPtr& ask) {
  const http::Request& asked = ask->exchange->request();
  v1::LockReleaseRequest request;
  request.set_name(ask->name);
  request.set_session(asked.parameter("session"));
  request.set_handle(asked.parameter("handle"));
  request.set_prefix(asked.parameter("prefix"));
  call_for_json<v1::LockReleaseResponse>(ask, kRelease, request);
}

std::shared_ptr<void> Gateway::place_for(const AskPtr& ask) {
  if (*lasting_ >= kLastingMax) {
    reply(ask->exchange, error_response({rpc::Code::kUnavailable,
                                         "too many requests watch or wait over HTTP at this server",
                                         {},
                                         1s}));
    return nullptr;
  }
  ++*lasting_;
  return {lasting_.get(), [lasting = lasting_](void*) { --*lasting; }};
}

void Gateway::watch(const AskPtr& ask) {
  const http::Request& request = ask->exchange->request();
  const bool election = ask->row->operation == Operation::kWatchElection;
  if (election) {
    if (Status s = validate_name("the name", ask->name); !s) {
      return refuse(ask->exchange, s.error());
    }
  }
  const std::string id = request.header("last-event-id");
  const auto position = id.empty() ? FeedPosition{} : FeedPosition::parse(id);
  if (!position) return refuse(ask->exchange, position.error());
  const std::shared_ptr<void> place = place_for(ask);
  if (!place) return;
  Feed::Parts parts{
      ask->exchange,
      *line_,
      [ask, place](const std::string& method, const google::protobuf::Message& message) {
        return order(ask->exchange->request(), method, message, Duration(0));
      },
      [this, ask](http::Response head) {
        parts_.answered(ask->exchange->request().path, head.status);
        add_common_headers(head);
        ask->exchange->stream(std::move(head));
      },
      [this, ask](const rpc::RpcStatus& status) { reply(ask->exchange, error_response(status)); },
      *position};
  const auto feed = election ? election_feed(std::move(parts), ask->name,
                                             state_key(request.parameter("prefix"), ask->name))
                             : node_feed(std::move(parts), services_of(request));
  feed->start();
}

void Gateway::reply(const AskPtr& ask, const Json& json, int status) {
  reply(ask->exchange, http::json_response(status, dump(json)));
}

void Gateway::reply(const http::ExchangePtr& exchange, http::Response response) {
  parts_.answered(exchange->request().path, response.status);
  add_common_headers(response);
  exchange->reply(std::move(response));
}

void Gateway::refuse(const http::ExchangePtr& exchange, const Error& error) {
  reply(exchange, error_response(rpc::to_status(error)));
}

}  // namespace muster::server
