#include "server/web/api.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "server/web/http_paths.h"
#include "server/web/node_page.h"

namespace muster::server {
namespace {

/// Shares of a ring are kept for so long for each of its points: painting it takes 0.1 us a point,
/// and pages that list nodes while these change must not cost more than the nodes do.
constexpr Duration kPointKept = 20us;
constexpr std::size_t kDecisionsMax = 5000;
constexpr Duration kSweepEvery = 500ms;

bool matches(const cluster::Decision& d, const std::string& q) {
  if (q.empty()) return true;
  for (const std::string& text : {std::string(to_string(d.kind)), d.subject,
                                  std::string(to_string(d.why)), cluster::sentence(d)}) {
    if (to_lower(text).find(q) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Api::Api(Surroundings surroundings) : with_(std::move(surroundings)), sweep_timer_(with_.loop) {}

void Api::handle(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  if (with_.authorize) {
    if (const Status allowed = with_.authorize(request); !allowed) {
      return refuse(exchange, 403, allowed.error().message);
    }
  }
  const std::string& path = request.path;
  if (with_.v1 && is_v1(path)) return with_.v1(exchange);
  if (request.method != "GET" && request.method != "HEAD") {
    return refuse(exchange, 405, "this path is read-only: use GET");
  }
  if (path.starts_with("/api/")) return api(exchange, path.substr(5));
  if (path == "/metrics") return metrics(exchange);
  if (path == "/readyz") return ready(exchange);
  if (path == "/healthz") {
    return reply(exchange, http::json_response(200, R"({"healthy":true})"));
  }
  page(exchange);
}

void Api::api(const http::ExchangePtr& exchange, const std::string& name) {
  if (name == "overview") {
    return answer(exchange, {}, [](const Picture& p) { return to_json(p.overview); });
  }
  if (name == "nodes") return nodes(exchange);
  if (name == "ring") return ring(exchange);
  if (name == "ring/plan") return ring_plan(exchange);
  if (name == "decisions") return decisions(exchange);
  if (name == "series") return series(exchange);
  if (name == "events") return events(exchange);
  if (name == "namespaces") {
    Query query;
    query.namespaces = true;
    return answer(exchange, query, [](const Picture& p) {
      Json rows = Json::array();
      for (const NamespaceRow& row : p.namespaces) rows.push_back(to_json(row));
      return with(p, {{"namespaces", std::move(rows)}});
    });
  }
  const std::string kNode = "node/";
  const std::string kExplain = "/explain";
  if (name.starts_with(kNode) && name.ends_with(kExplain) &&
      name.size() > kNode.size() + kExplain.size()) {
    const auto id = percent_decode(
        std::string_view(name).substr(kNode.size(), name.size() - kNode.size() - kExplain.size()));
    if (!id) return refuse(exchange, 400, id.error().message);
    return explain(exchange, *id);
  }
  refuse(exchange, 404, "there is no /api/" + name);
}

void Api::answer(const http::ExchangePtr& exchange, const Query& query, Draw draw) {
  with_.ask(query, [this, exchange, draw = std::move(draw)](const PicturePtr& picture) {
    const Json json = draw(*picture);
    if (json.is_null()) return;  // Answered already.
    reply(exchange, http::json_response(200, dump(json)));
  });
}

const RingPictures& Api::painted(const Picture& picture) {
  if (!ring_made_ || ring_version_ != picture.nodes_version) {
    ring_ = painter_.paint(*picture.nodes, picture.ring.virtual_nodes_per_physical);
    ring_version_ = picture.nodes_version;
    ring_made_ = true;
    ring_painted_ = with_.loop.now();
  }
  return ring_;
}

bool Api::shares_fresh() const {
  return ring_made_ && with_.loop.now() - ring_painted_ < kPointKept * ring_.points;
}

const Shares& Api::shares(const Picture& picture) {
  return shares_fresh() ? ring_.shares : painted(picture).shares;
}

void Api::nodes(const http::ExchangePtr& exchange) {
  const auto page = NodePage::parse(exchange->request());
  if (!page) return refuse(exchange, 400, page.error().message);
  Query query;
  query.nodes = true;
  answer(exchange, query, [this, page = *page](const Picture& p) {
    const Shares& shares = this->shares(p);
    const std::vector<const NodeRow*> found = page.select(*p.nodes);
    Json rows = Json::array();
    for (std::size_t i = page.offset; i < found.size() && i - page.offset < page.limit; ++i) {
      rows.push_back(to_json(*found[i], shares));
    }
    return with(p, {{"total", found.size()},
                    {"services", NodePage::services(*p.nodes)},
                    {"nodes", std::move(rows)}});
  });
}

void Api::decisions(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  const auto limit = number_in(request, "limit", 200, kDecisionsMax);
  const auto since = number_in(request, "since", 0, SIZE_MAX);
  if (!limit || !since) {
    return refuse(exchange, 400, (limit ? since : limit).error().message);
  }
  const std::string q = to_lower(request.parameter("q"));
  const bool newest = request.parameter("since").empty();
  Query query;
  query.decisions = Query::Range{};
  if (!newest) query.decisions->since = *since;
  query.decisions->limit = q.empty() ? *limit : cluster::DecisionLog::kCapacity;
  answer(exchange, query, [q, newest, limit = *limit](const Picture& p) {
    std::vector<const cluster::Decision*> found;
    for (const auto& each : p.decisions) {
      if (matches(*each, q)) found.push_back(each.get());
    }
    const std::size_t count = std::min(limit, found.size());
    const std::size_t first = newest ? found.size() - count : 0;
    Json rows = Json::array();
    for (std::size_t i = first; i < first + count; ++i) rows.push_back(to_json(*found[i]));
    return with(p, {{"decisions", std::move(rows)},
                    {"oldest", p.oldest_decision},
                    {"newest", p.newest_decision}});
  });
}

void Api::explain(const http::ExchangePtr& exchange, const std::string& id) {
  Query query;
  query.nodes = true;
  query.about = id;
  answer(exchange, query, [this, exchange, id](const Picture& p) -> Json {
    const auto row =
        std::lower_bound(p.nodes->begin(), p.nodes->end(), id,
                         [](const NodeRow& a, const std::string& b) { return a.id < b; });
    const bool known = row != p.nodes->end() && row->id == id;
    if (!known && p.decisions.empty()) {
      refuse(exchange, 404, "nothing is known about a node " + id);
      return nullptr;
    }
    Json timeline = Json::array();
    for (const auto& each : p.decisions) timeline.push_back(to_json(*each));
    return with(p, {{"node", known ? to_json(*row, painted(p).shares) : Json(nullptr)},
                    {"timeline", std::move(timeline)}});
  });
}

void Api::series(const http::ExchangePtr& exchange) {
  const auto minutes = number_in(exchange->request(), "minutes", 15, 60);
  if (!minutes) return refuse(exchange, 400, minutes.error().message);
  Query query;
  query.series = std::chrono::minutes(*minutes);
  answer(exchange, query, [](const Picture& p) {
    return with(p, {{"stepMs", to_ms(Series::kStep)},
                    {"series", series_json(p.series)},
                    {"startMs", p.series.empty() ? 0 : to_ms(p.series.front().at)}});
  });
}

void Api::events(const http::ExchangePtr& exchange) {
  if (streams_.full()) return refuse(exchange, 503, "too many event streams are open");
  const auto has = parse_unsigned(exchange->request().header("last-event-id")).value_or(0);
  Query query;
  query.flush = true;
  query.decisions = {has, has == 0 ? 0 : kDecisionsMax};
  with_.ask(query, [this, exchange, has](const PicturePtr& picture) {
    with_.answered(exchange->request().path, 200);
    streams_.add(exchange, *picture, has);
    count_listeners();
  });
}

void Api::count_listeners() {
  streams_.sweep(with_.authorize);
  with_.listeners(streams_.size());
  if (streams_.size() == 0) return sweep_timer_.cancel();
  sweep_timer_.arm(kSweepEvery, [this] { count_listeners(); });
}

void Api::update(const UpdatePtr& update) {
  streams_.update(*update, ring_.shares);
  if (update->upserts.empty() && update->removed.empty()) return;
  if (streams_.size() == 0 || shares_fresh() || std::exchange(shares_wanted_, true)) return;
  // New shares for the next change; at most one painting for each that was told.
  Query query;
  query.nodes = true;
  with_.ask(query, [this](const PicturePtr& picture) {
    shares_wanted_ = false;
    painted(*picture);
  });
}

void Api::metrics(const http::ExchangePtr& exchange) {
  Query query;
  query.metrics = true;
  with_.ask(query, [this, exchange](const PicturePtr&) {
    reply(exchange, http::metrics_response(with_.metrics.text()));
  });
}

void Api::ready(const http::ExchangePtr& exchange) {
  with_.ask({}, [this, exchange](const PicturePtr& picture) {
    const cluster::Verdict& verdict = picture->overview.verdict;
    if (!verdict.healthy) return refuse(exchange, 503, verdict.reason);
    Json json{{"ready", true}};
    if (!verdict.reason.empty()) json["reason"] = verdict.reason;
    reply(exchange, http::json_response(200, dump(json)));
  });
}

void Api::page(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  for (const PageFile& file : with_.page) {
    if (file.path != request.path) continue;
    http::Response response{200, std::string(file.type), http::body(std::string(file.body)), {}};
    response.headers = {{"Cache-Control", "no-cache"}, {"ETag", std::string(file.etag)}};
    if (request.header("if-none-match") == file.etag) {
      response.status = 304;
      response.content = http::body("");
    }
    return reply(exchange, std::move(response));
  }
  if (request.path != "/" || !with_.page.empty()) {
    return refuse(exchange, 404, "there is no " + request.path + " here");
  }
  reply(exchange, {200,
                   "text/plain; charset=utf-8",
                   http::body("This musterd was built without its page. /api/overview, /metrics, "
                              "/healthz and /readyz answer.\n"),
                   {}});
}

http::Response Api::refused(const http::RefusedRequest& refusal) {
  with_.answered(refusal.path, refusal.status);
  http::Response response = refusal_at(refusal.path, refusal.status, refusal.sentence);
  add_common_headers(response);
  return response;
}

void Api::reply(const http::ExchangePtr& exchange, http::Response response) {
  with_.answered(exchange->request().path, response.status);
  add_common_headers(response);
  exchange->reply(std::move(response));
}

void Api::refuse(const http::ExchangePtr& exchange, int status, const std::string& sentence) {
  reply(exchange, refusal_at(exchange->request().path, status, sentence));
}

}  // namespace muster::server
