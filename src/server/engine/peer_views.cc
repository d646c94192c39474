#include "server/engine/peer_views.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/engine/presence_responder.h"

namespace muster::engine {
namespace {

using Json = nlohmann::json;

std::string text(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::vector<std::string> texts(const Json& object, const char* name) {
  std::vector<std::string> result;
  const auto it = object.find(name);
  if (it == object.end() || !it->is_array()) return result;
  for (const Json& each : *it) {
    if (each.is_string()) result.push_back(each.get<std::string>());
  }
  return result;
}

}  // namespace

PeerView read_view(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object() && !text(json, "waiting").empty()) {
    const auto saw_all = json.find("sawAll");
    return {.kind = PeerView::Kind::kWaiting,
            .name = text(json, "waiting"),
            .saw_all = saw_all != json.end() && saw_all->is_boolean() && saw_all->get<bool>()};
  }
  if (!json.is_array() || json.empty()) return {};
  PeerView view{.kind = PeerView::Kind::kMember};
  for (const Json& each : json) {
    if (!each.is_object()) return {};
    const auto id = each.find("id");
    const auto urls = texts(each, "peerURLs");
    const auto learner = each.find("isLearner");
    if (id == each.end() || !id->is_number_unsigned() || urls.empty()) return {};
    Member member{id->get<std::uint64_t>(),
                  text(each, "name"),
                  urls.front(),
                  {},
                  learner != each.end() && learner->is_boolean() && learner->get<bool>()};
    for (const std::string& url : texts(each, "clientURLs")) {
      const auto scheme = url.find("://");
      member.contacts.push_back(scheme == std::string::npos ? url : url.substr(scheme + 3));
    }
    view.members.push_back(std::move(member));
  }
  return view;
}

PeerViews::PeerViews(EventLoop& loop, const TlsFiles& tls)
    : http_(loop,
            {.ca_file = tls.ca, .cert_file = tls.cert, .key_file = tls.key, .tls13_only = true}) {}

void PeerViews::look(const std::map<std::string, std::string>& urls, MonoTime by,
                     std::function<void(std::map<std::string, PeerView>)> done) {
  if (urls.empty()) return done({});
  struct Round {
    std::map<std::string, PeerView> views;
    std::size_t left;
  };
  const auto round = std::make_shared<Round>(Round{{}, urls.size()});
  for (const auto& [name, url] : urls) {
    HttpRequest request{.url = url + kMembersPath, .headers = {}, .body = {}, .by = by};
    request.direct = true;
    request.answer_bytes_max = std::size_t{1} << 20;
    http_.send(std::move(request), [round, who = name, done](Result<HttpResponse> response) {
      round->views[who] =
          response && response->status == 200 ? read_view(response->body) : PeerView{};
      if (--round->left == 0) done(std::move(round->views));
    });
  }
}

}  // namespace muster::engine
