#include "server/gateway/openapi.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/lock.pb.h"
#include "server/gateway/operations.h"
#include "server/web/build_info.h"

namespace muster::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

Json reference_to(const std::string& schema) {
  return {{"$ref", "#/components/schemas/" + schema}};
}

Json typed(const char* type) {
  return {{"type", type}};
}

Json schema_of(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return typed("boolean");
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_ENUM:
      return typed("string");
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return typed("object");
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return typed("number");
    default:
      return typed("integer");
  }
}

/// Of an object that always has all of these members.
Json object(Json properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}};
}

Json array_of(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

Json members_of(const Descriptor& message) {
  Json members = Json::object();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const bool many = field.is_repeated() && !field.is_map();
    members[field.name()] = many ? array_of(schema_of(field)) : schema_of(field);
  }
  return members;
}

Json node_schema() {
  Json members = members_of(*v1::NodeInfo::descriptor());
  for (const char* hidden : {"type", "last_heartbeat_log_ms", "state_since_log_ms"}) {
    members.erase(hidden);
  }
  for (const char* shown : {"heartbeat_age_ms", "state_age_ms"}) members[shown] = typed("integer");
  members["service"] = typed("string");
  return object(std::move(members));
}

Json election_schema() {
  const Json integer = typed("integer");
  Json schema = object({{"name", typed("string")},
                        {"leader", {{"type", "string"}, {"nullable", true}}},
                        {"value", typed("string")},
                        {"epoch", integer},
                        {"lease_ms", integer},
                        {"lease_left_ms", integer},
                        {"age_ms", integer},
                        {"elected_at", integer},
                        {"workers", array_of(typed("string"))},
                        {"revision", integer}});
  schema["properties"]["damaged"] = typed("string");
  return schema;
}

Json schemas() {
  const Json integer = typed("integer");
  const Json string = typed("string");
  Json all = Json::object();
  all["Error"] = object({{"error", object({{"code", string}, {"message", string}})}});
  Json& error = all["Error"]["properties"]["error"]["properties"];
  error["replaced"] = typed("boolean");
  error["retry_after_ms"] = integer;
  all["Node"] = node_schema();
  all["Nodes"] = object({{"version", integer},
                         {"history", string},
                         {"leader_id", string},
                         {"age_ms", integer},
                         {"ring", object(members_of(*v1::HashRingConfig::descriptor()))},
                         {"nodes", array_of(reference_to("Node"))}});
  all["Registered"] = object(members_of(*v1::RegisterNodeResponse::descriptor()));
  all["Deregistered"] = object(members_of(*v1::DeregisterNodeResponse::descriptor()));
  all["Heartbeat"] = object(members_of(*v1::HeartbeatResponse::descriptor()));
  all["Owners"] = object({{"version", integer},
                          {"history", string},
                          {"key", string},
                          {"replication_factor", integer},
                          {"degraded", typed("boolean")},
                          {"owners", array_of(reference_to("Node"))}});
  all["Election"] = election_schema();
  all["Elections"] = object({{"elections", array_of(reference_to("Election"))},
                             {"next", {{"type", "string"}, {"nullable", true}}}});
  Json lock = members_of(*v1::GetLockResponse::descriptor());
  lock["holders"] = array_of(object(members_of(*v1::LockHolder::descriptor())));
  all["Lock"] = object(std::move(lock));
  all["Acquired"] = object(members_of(*v1::LockAcquireResponse::descriptor()));
  all["Renewed"] = object(members_of(*v1::LockRenewResponse::descriptor()));
  all["Released"] = object(members_of(*v1::LockReleaseResponse::descriptor()));
  all["Description"] = typed("object");
  return all;
}

Json schema_of(const Field& field) {
  return {{"type", field.type}, {"description", field.about}};
}

Json parameter(const Field& field, const char* in) {
  return {{"name", field.name},
          {"in", in},
          {"required", field.required},
          {"description", field.about},
          {"schema", {{"type", field.type}}}};
}

Json parameters(const OperationRow& row) {
  Json all = Json::array();
  const auto open = row.path.find('{');
  if (open != row.path.npos) {
    const std::string_view name = row.path.substr(open + 1, row.path.find('}') - open - 1);
    all.push_back(parameter({name, "string", "In the path.", true}, "path"));
  }
  for (const Field& field : row.query) all.push_back(parameter(field, "query"));
  if (row.answer.empty()) {
    all.push_back(parameter(
        {"Last-Event-ID", "string", "The id of the last event: the stream goes on after it."},
        "header"));
  }
  return all;
}

Json body_of(const OperationRow& row) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : row.body) {
    properties[std::string(field.name)] = schema_of(field);
    if (field.required) required.push_back(field.name);
  }
  Json schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}};
}

const char* meaning(int status) {
  switch (status) {
    case 400:
      return "The request is wrong. Unknown parameters and fields are refused.";
    case 403:
      return "The certificate, or the site that the request comes from, does not allow this.";
    case 404:
      return "There is none.";
    case 405:
      return "The path has no such method; Allow lists those it has.";
    case 409:
      return "The state does not permit this; the message says why.";
    case 411:
      return "The body has no Content-Length.";
    case 413:
      return "The body is longer than 64 KiB, or there must be none.";
    case 415:
      return "The Content-Type is not application/json.";
    case 429:
      return "Too many requests, or too many open watches; see Retry-After.";
    case 500:
      return "The outcome is unknown: read before you act.";
    case 503:
      return "Nothing was done: there is no leader, or this server is not ready; see Retry-After.";
    default:
      return "See the message.";
  }
}

Json responses(const OperationRow& row) {
  Json all = Json::object();
  const char* type = row.answer.empty() ? "text/event-stream" : "application/json";
  const Json schema = row.answer.empty() ? typed("string") : reference_to(std::string(row.answer));
  all["200"] = {
      {"description", row.answer.empty() ? "Events, until the client hangs up." : "Done."},
      {"content", {{type, {{"schema", schema}}}}}};
  if (row.operation == Operation::kAcquireLock) {
    all["202"] = all["200"];
    all["202"]["description"] = "The session waits; ask again at once, to keep its place.";
  }
  for (const int status : row.errors) {
    all[std::to_string(status)] = {
        {"description", meaning(status)},
        {"content", {{"application/json", {{"schema", reference_to("Error")}}}}}};
  }
  return all;
}

Json describe() {
  Json paths = Json::object();
  for (const OperationRow& row : operation_rows()) {
    Json operation{{"operationId", row.id}, {"description", row.about}};
    if (Json all = parameters(row); !all.empty()) operation["parameters"] = std::move(all);
    if (!row.body.empty()) operation["requestBody"] = body_of(row);
    operation["responses"] = responses(row);
    paths[std::string(row.path)][to_lower(row.method)] = std::move(operation);
  }
  return {
      {"openapi", "3.0.3"},
      {"info",
       {{"title", "musterd"},
        {"version", build_info().version},
        {"description",
         "Elections, locks, nodes, the ring and watches as JSON. The same access control, limits, "
         "audit log and forwarding to the leader as over gRPC."}}},
      {"paths", std::move(paths)},
      {"components", {{"schemas", schemas()}}}};
}

}  // namespace

const Json& openapi() {
  static const Json made = describe();
  return made;
}

}  // namespace muster::server
