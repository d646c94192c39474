#include "server/engine/start_search.h"

#include <utility>

#include "base/log.h"

namespace muster::engine {
namespace {

constexpr Duration kSearchTimeout = 1s;
constexpr Duration kLookInterval = 200ms;

}  // namespace

StartSearch::StartSearch(EventLoop& loop, const EngineOptions& options,
                         const DataDirectory& directory, PeerViews& views, Found found)
    : options_(options),
      directory_(directory),
      views_(views),
      loop_(loop),
      found_(std::move(found)),
      timer_(loop) {}

void StartSearch::look() {
  StartSight sight{.name = options_.name,
                   .peer_url = options_.peer_url(options_.peer),
                   .peer_urls = {},
                   .has_data = directory_.has_data(),
                   .views = {}};
  std::map<std::string, std::string> others;
  for (const auto& [name, address] : options_.peers) {
    sight.peer_urls[name] = options_.peer_url(address);
    if (name != options_.name) others[name] = sight.peer_urls[name];
  }
  // A server without peers has nobody to answer.
  const bool alone = others.empty() && options_.join.empty();
  if (!sight.has_data && !alone && !responder_) {
    auto responder = std::make_unique<PresenceResponder>(loop_, options_.name);
    const auto port = responder->start(options_.peer_listen, options_.tls);
    if (port.is(Errc::kUnavailable)) return again(port.error().message);
    if (!port) return finish(port.error());
    responder_ = std::move(responder);
  }
  if (sight.has_data) others.clear();
  views_.look(others, loop_.now() + kSearchTimeout,
              lifetime_.wrap([this, sight = std::move(sight)](auto views) mutable {
                sight.views = std::move(views);
                if (!sight.has_data && sees_all(sight)) saw_all_ = true;
                if (saw_all_ && responder_) responder_->saw_all();
                sight.saw_all = saw_all_;
                decide(plan_start(sight));
              }));
}

void StartSearch::decide(StartPlan plan) {
  switch (plan.step) {
    case StartPlan::Step::kWait:
      return again(std::move(plan.words));
    case StartPlan::Step::kAsk:
      return ask(options_.join.empty() ? std::move(plan.contacts) : options_.join);
    case StartPlan::Step::kRestart:
    case StartPlan::Step::kBootstrap:
    case StartPlan::Step::kJoin:
      return finish(std::move(plan));
  }
}

void StartSearch::ask(std::vector<std::string> contacts) {
  std::erase(contacts, options_.contact);
  if (contacts.empty()) {
    return again("this server has no data, and the cluster names no server to ask for admission");
  }
  if (!options_.ask) {
    return finish({Errc::kUnsupported,
                   "this server has no data and must be admitted by the others, but it has no way "
                   "to ask them"});
  }
  words_ = "asking for admission to the cluster";
  options_.ask(std::move(contacts), {options_.name, options_.peer_url(options_.peer)},
               lifetime_.wrap([this](Result<Members> members) {
                 if (members) {
                   return finish(StartPlan{.step = StartPlan::Step::kJoin, .members = *members});
                 }
                 const Errc code = members.code();
                 const bool later = code == Errc::kUnavailable || code == Errc::kThrottled ||
                                    code == Errc::kAmbiguous;
                 if (!later) return finish(members.error());
                 again("not admitted yet: " + members.error().message);
               }));
}

void StartSearch::again(std::string words) {
  if (words != words_) log_info("engine waits", {{"member", options_.name}, {"for", words}});
  words_ = std::move(words);
  timer_.arm(kLookInterval, [this] { look(); });
}

void StartSearch::finish(Result<StartPlan> result) {
  // Frees the address for the engine.
  responder_.reset();
  std::exchange(found_, {})(std::move(result));
}

}  // namespace muster::engine
