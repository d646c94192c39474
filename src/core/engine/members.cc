#include "core/engine/members.h"

#include <algorithm>

namespace muster::engine {
namespace {

template <typename Predicate>
const Member* find(const Members& members, Predicate predicate) {
  const auto it = std::find_if(members.begin(), members.end(), predicate);
  return it == members.end() ? nullptr : &*it;
}

}  // namespace

const Member* find_name(const Members& members, const std::string& name) {
  return find(members, [&](const Member& each) { return each.name == name; });
}

const Member* find_url(const Members& members, const std::string& peer_url) {
  return find(members, [&](const Member& each) { return each.peer_url == peer_url; });
}

const Member* find_id(const Members& members, std::uint64_t id) {
  return find(members, [&](const Member& each) { return each.id == id; });
}

Result<AdmissionPlan> plan_admission(const Members& members, const Admission& request) {
  using Step = AdmissionPlan::Step;
  const Member* const there = find_url(members, request.peer_url);
  const Member* const same = find_name(members, request.name);
  if (same != nullptr && same != there) {
    return {Errc::kInvalid, "a member " + request.name + " exists already, at " + same->peer_url +
                                "; remove it first, or choose another id"};
  }
  if (there != nullptr && there->name.empty()) return AdmissionPlan{Step::kReady, there->id};
  if (there != nullptr && there != same) {
    return {Errc::kInvalid, request.peer_url + " is the address of member " + there->name};
  }
  // A replacement is another new member, and etcd takes in one at a time.
  const Member* const learner = find(members, [](const Member& each) { return each.learner; });
  if (learner != nullptr && learner != there) {
    return {Errc::kThrottled, "the member at " + learner->peer_url +
                                  " is still catching up; one is admitted at a time"};
  }
  if (there == nullptr) return AdmissionPlan{Step::kAdd};
  // The last vote cannot be replaced: nobody would be left to agree to it.
  if (auto removal = plan_removal(members, request.name); !removal) return removal.error();
  return AdmissionPlan{Step::kReplace, there->id};
}

Result<std::uint64_t> plan_removal(const Members& members, const std::string& name) {
  const Member* const member = name.empty() ? nullptr : find_name(members, name);
  if (member == nullptr) {
    std::string known;
    for (const Member& each : members) {
      if (!each.name.empty()) known += (known.empty() ? "" : ", ") + each.name;
    }
    return {Errc::kNotFound, "there is no member \"" + name + "\"; there are: " + known};
  }
  const auto votes = std::count_if(members.begin(), members.end(),
                                   [](const Member& each) { return !each.learner; });
  if (!member->learner && votes == 1) {
    return {Errc::kInvalid, name + " is the last member with a vote and cannot be removed"};
  }
  return member->id;
}

}  // namespace muster::engine
