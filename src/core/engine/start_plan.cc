#include "core/engine/start_plan.h"

namespace muster::engine {
namespace {

using Step = StartPlan::Step;

StartPlan ask(const Members& members) {
  StartPlan plan{.step = Step::kAsk};
  for (const Member& member : members) {
    if (member.learner) continue;
    plan.contacts.insert(plan.contacts.end(), member.contacts.begin(), member.contacts.end());
  }
  return plan;
}

/// A cluster runs already.
StartPlan enter(const StartSight& sight, const Members& members) {
  const Member* const own = find_url(members, sight.peer_url);
  if (own == nullptr) return ask(members);
  // Added for whoever comes from this address, and not used yet.
  if (own->name.empty()) return {.step = Step::kJoin, .members = members};
  // Listed since the cluster began and not up so far: this is its first start.
  if (own->name == sight.name && !own->started() && !sight.peer_urls.empty()) {
    return {.step = Step::kBootstrap};
  }
  return ask(members);
}

StartPlan wait_for(const std::string& absent) {
  return {.step = Step::kWait,
          .words = "a new cluster begins when all of its servers are there; waiting for " + absent};
}

}  // namespace

StartPlan plan_start(const StartSight& sight) {
  if (sight.has_data) return {.step = Step::kRestart};
  for (const auto& [name, view] : sight.views) {
    if (view.kind == PeerView::Kind::kMember) return enter(sight, view.members);
  }
  if (sight.peer_urls.empty()) return {.step = Step::kAsk};
  std::string absent;
  for (const auto& [name, url] : sight.peer_urls) {
    if (name == sight.name) continue;
    const auto it = sight.views.find(name);
    const bool there = it != sight.views.end() && it->second.kind == PeerView::Kind::kWaiting &&
                       it->second.name == name;
    if (!there) absent += (absent.empty() ? "" : ", ") + name + " at " + url;
  }
  if (!absent.empty()) return wait_for(absent);
  return {.step = Step::kBootstrap};
}

}  // namespace muster::engine
