#include "server/web/node_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "core/membership/node.h"
#include "core/membership/validation.h"

namespace muster::server {
namespace {

constexpr std::size_t kRowsMax = 20'000;

template <typename Key>
void sort_by(std::vector<const NodeRow*>& rows, bool descending, Key key) {
  std::stable_sort(rows.begin(), rows.end(), [&](const NodeRow* a, const NodeRow* b) {
    return descending ? key(*b) < key(*a) : key(*a) < key(*b);
  });
}

}  // namespace

Result<std::size_t> number_in(const http::Request& request, const std::string& name,
                              std::size_t otherwise, std::size_t max) {
  const std::string text = request.parameter(name);
  if (text.empty()) return otherwise;
  const auto number = parse_unsigned(text);
  if (!number) return {Errc::kInvalid, name + " must be a whole number"};
  return static_cast<std::size_t>(std::min<std::uint64_t>(*number, max));
}

Result<NodePage> NodePage::parse(const http::Request& request) {
  static const std::map<std::string, Sort> kSorts{
      {"id", Sort::kId},          {"state", Sort::kState}, {"age", Sort::kAge},
      {"flaps", Sort::kFlaps},    {"type", Sort::kType},   {"service", Sort::kService},
      {"address", Sort::kAddress}};
  NodePage page;
  if (const std::string state = request.parameter("state"); !state.empty()) {
    const auto known = membership::parse_node_state(state);
    if (!known) return {Errc::kInvalid, "state: " + known.error().message};
    page.state = *known;
  }
  if (const std::string type = request.parameter("type"); !type.empty()) {
    const auto known = membership::parse_node_type(type);
    if (!known) return {Errc::kInvalid, "type: " + known.error().message};
    page.type = *known;
  }
  page.service = request.parameter("service");
  if (!page.service.empty()) {
    if (Status s = membership::validate_service(page.service); !s) return s.error();
  }
  if (const std::string tag = request.parameter("tag"); !tag.empty()) {
    const std::size_t equals = tag.find('=');
    if (equals == std::string::npos) return {Errc::kInvalid, "tag must be KEY=VALUE"};
    page.tag.emplace(tag.substr(0, equals), tag.substr(equals + 1));
  }
  page.q = to_lower(request.parameter("q"));
  const std::string sort = request.parameter("sort");
  if (!sort.empty()) {
    const auto found = kSorts.find(sort);
    if (found == kSorts.end()) {
      return {Errc::kInvalid, "sort must be id, state, age, flaps, type, service or address"};
    }
    page.sort = found->second;
  }
  const std::string order = request.parameter("order");
  if (!order.empty() && order != "asc" && order != "desc") {
    return {Errc::kInvalid, "order must be asc or desc"};
  }
  page.descending = order == "desc";
  const auto offset = number_in(request, "offset", 0, SIZE_MAX);
  if (!offset) return offset.error();
  const auto limit = number_in(request, "limit", page.limit, kRowsMax);
  if (!limit) return limit.error();
  page.offset = *offset;
  page.limit = *limit;
  return page;
}

std::vector<std::string> NodePage::services(const std::vector<NodeRow>& rows) {
  std::set<std::string_view> names;
  for (const NodeRow& row : rows) names.insert(service_of(row));
  return {names.begin(), names.end()};
}

std::vector<const NodeRow*> NodePage::select(const std::vector<NodeRow>& rows) const {
  std::vector<const NodeRow*> found;
  for (const NodeRow& row : rows) {
    if ((state && row.state != *state) || (type && row.type != *type)) continue;
    if (!service.empty() && service_of(row) != service) continue;
    if (tag) {
      const auto value = row.tags.find(tag->first);
      if (value == row.tags.end() || value->second != tag->second) continue;
    }
    if (!q.empty() && to_lower(row.id).find(q) == std::string::npos &&
        to_lower(row.address).find(q) == std::string::npos &&
        to_lower(row.generation).find(q) == std::string::npos) {
      continue;
    }
    found.push_back(&row);
  }
  switch (sort) {
    case Sort::kId:  // As they are.
      if (descending) std::reverse(found.begin(), found.end());
      break;
    case Sort::kState:
      sort_by(found, descending, [](const NodeRow& r) { return std::string(to_string(r.state)); });
      break;
    case Sort::kAge:
      sort_by(found, descending, [](const NodeRow& r) { return r.heartbeat_age; });
      break;
    case Sort::kFlaps:
      sort_by(found, descending, [](const NodeRow& r) { return r.flaps; });
      break;
    case Sort::kType:
      sort_by(found, descending, [](const NodeRow& r) { return std::string(to_string(r.type)); });
      break;
    case Sort::kService:
      sort_by(found, descending, [](const NodeRow& r) { return service_of(r); });
      break;
    case Sort::kAddress:
      sort_by(found, descending, [](const NodeRow& r) { return std::pair(r.address, r.port); });
      break;
  }
  return found;
}

}  // namespace muster::server
