// The rings of /api, and what changes of them would move.

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/membership/validation.h"
#include "server/web/api.h"
#include "server/web/node_page.h"

namespace muster::server {
namespace {

constexpr std::size_t kPointsMax = 4096;
constexpr std::size_t kMovesMax = 100;
/// Planning with more virtual nodes than this would keep a server busy for seconds.
constexpr std::uint64_t kPlannedMax = 1u << 22;

RingConfig config_of(const Picture& picture) {
  return {std::max(1u, picture.ring.virtual_nodes_per_physical),
          std::max(1u, picture.ring.replication_factor)};
}

/// Whether the node is on the ring of the service; empty: on the ring of the nodes with a type.
bool on_ring(const NodeRow& node, const std::string& service) {
  return service.empty() ? node.service.empty() : service_of(node) == service;
}

std::vector<RingMember> members_of(const Picture& picture, const std::string& service,
                                   const std::vector<std::string>& without,
                                   const std::vector<std::string>& added) {
  const auto names = [](const std::vector<std::string>& list, const std::string& id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  std::vector<RingMember> members;
  for (const NodeRow& node : *picture.nodes) {
    const bool in = node.state == membership::NodeState::kActive ||
                    node.state == membership::NodeState::kSuspect;
    if (!on_ring(node, service)) continue;
    if ((in || names(added, node.id)) && !names(without, node.id)) {
      members.push_back({NodeId(node.id), node.weight, false});
    }
  }
  for (const std::string& id : added) {
    const auto known =
        std::find_if(picture.nodes->begin(), picture.nodes->end(),
                     [&](const NodeRow& node) { return node.id == id && on_ring(node, service); });
    if (known == picture.nodes->end() && !names(without, id)) {
      members.push_back({NodeId(id), 1, false});
    }
  }
  return members;
}

bool holds(const std::vector<RingMember>& members, const std::string& id) {
  return std::any_of(members.begin(), members.end(),
                     [&](const RingMember& member) { return member.id.value() == id; });
}

std::uint64_t virtual_nodes(const std::vector<RingMember>& members, RingConfig config) {
  std::uint64_t count = 0;
  for (const RingMember& member : members) {
    count += HashRing::virtual_nodes_of(member.weight, config);
  }
  return count;
}

std::vector<std::string> ids_in(const std::string& text) {
  std::vector<std::string> ids;
  for (const std::string_view part : split(text, ',')) {
    const std::string id(trim(part));
    if (!id.empty() && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::optional<std::string> Api::service_in(const http::ExchangePtr& exchange) {
  std::string service = exchange->request().parameter("service");
  if (service.empty()) return service;
  if (const Status valid = membership::validate_service(service); !valid) {
    refuse(exchange, 400, valid.error().message);
    return std::nullopt;
  }
  return service;
}

void Api::ring(const http::ExchangePtr& exchange) {
  const auto service = service_in(exchange);
  if (!service) return;
  Query query;
  query.nodes = true;
  answer(exchange, query, [this, service = *service](const Picture& p) {
    Json json = with(p, {{"virtualNodes", p.ring.virtual_nodes_per_physical},
                         {"service", service.empty() ? Json(nullptr) : Json(service)},
                         {"services", NodePage::services(*p.nodes)}});
    const RingPictures& all = painted(p);
    const auto ring = all.rings.find(service);
    json.update(
        to_json(ring != all.rings.end()
                    ? ring->second
                    : painter_.paint_service(*p.nodes, p.ring.virtual_nodes_per_physical, service),
                kPointsMax));
    return json;
  });
}

void Api::ring_plan(const http::ExchangePtr& exchange) {
  const auto service = service_in(exchange);
  if (!service) return;
  const std::vector<std::string> remove = ids_in(exchange->request().parameter("remove"));
  const std::vector<std::string> add = ids_in(exchange->request().parameter("add"));
  if (remove.empty() && add.empty()) {
    return refuse(exchange, 400, "name the change: remove=ID,… or add=ID,…");
  }
  for (const auto* ids : {&remove, &add}) {
    for (const std::string& id : *ids) {
      const Status valid = membership::validate_node_id(id);
      if (!valid) return refuse(exchange, 400, valid.error().message);
    }
  }
  Query query;
  query.nodes = true;
  answer(
      exchange, query, [this, exchange, service = *service, remove, add](const Picture& p) -> Json {
        const RingConfig config = config_of(p);
        std::vector<RingMember> before = members_of(p, service, {}, {});
        for (const auto* ids : {&remove, &add}) {
          for (const std::string& id : *ids) {
            const bool added = ids == &remove && std::find(add.begin(), add.end(), id) != add.end();
            if (added || holds(before, id) == (ids == &remove)) continue;
            refuse(exchange, 400,
                   ids == &remove ? "remove: " + id + " is not in the ring"
                                  : "add: " + id + " is in the ring already");
            return nullptr;
          }
        }
        std::vector<RingMember> after = members_of(p, service, remove, add);
        if (virtual_nodes(before, config) + virtual_nodes(after, config) > kPlannedMax) {
          refuse(exchange, 400, "the ring is too large to plan with here; use `muster ring plan`");
          return nullptr;
        }
        return with(p, to_json(plan(HashRing(std::move(before), config),
                                    HashRing(std::move(after), config)),
                               kMovesMax));
      });
}

}  // namespace muster::server
