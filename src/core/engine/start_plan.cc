#include "core/engine/start_plan.h"

#include <utility>

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
  // Added for a server with this address, and not used yet.
  if (own->name.empty()) return {.step = Step::kJoin, .members = members};
  // Its peers have begun a moment before it.
  if (own->name == sight.name && !own->started() && sight.saw_all) {
    return {.step = Step::kBootstrap};
  }
  return ask(members);
}

/// Peers for whom `holds` is not true.
template <typename Predicate>
std::string all_but(const StartSight& sight, Predicate holds) {
  std::string others;
  for (const auto& [name, url] : sight.peer_urls) {
    if (name == sight.name) continue;
    const auto it = sight.views.find(name);
    if (it != sight.views.end() && it->second.kind == PeerView::Kind::kWaiting &&
        it->second.name == name && holds(it->second)) {
      continue;
    }
    others += (others.empty() ? "" : ", ") + name + " at " + url;
  }
  return others;
}

std::string absent(const StartSight& sight) {
  return all_but(sight, [](const PeerView&) { return true; });
}

StartPlan wait(std::string words) {
  return {.step = Step::kWait, .words = std::move(words)};
}

}  // namespace

bool sees_all(const StartSight& sight) {
  return !sight.peer_urls.empty() && absent(sight).empty();
}

StartPlan plan_start(const StartSight& sight) {
  if (sight.has_data) return {.step = Step::kRestart};
  for (const auto& [name, view] : sight.views) {
    if (view.kind == PeerView::Kind::kMember) return enter(sight, view.members);
  }
  if (sight.peer_urls.empty()) return {.step = Step::kAsk};
  if (const std::string others = absent(sight); !others.empty()) {
    return wait("a new cluster begins when all of its servers are there; waiting for " + others);
  }
  const std::string others = all_but(sight, [](const PeerView& view) { return view.saw_all; });
  if (!others.empty()) return wait("a new cluster is about to begin; waiting for " + others);
  return {.step = Step::kBootstrap};
}

}  // namespace muster::engine
