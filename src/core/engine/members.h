#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

/// The members of a managed engine, and the decisions about membership. Pure.
namespace muster::engine {

/// One member in the cluster's list.
struct Member {
  std::uint64_t id = 0;
  std::string name;      ///< Empty if it was added and has never started.
  std::string peer_url;  ///< Its address for the other members.
  /// The addresses of its musterd. The member publishes them when it first serves, so a member
  /// without any has never been up.
  std::vector<std::string> contacts;
  bool learner = false;  ///< Receives everything and has no vote yet.

  [[nodiscard]] bool started() const { return !contacts.empty(); }
  bool operator==(const Member&) const = default;
};
using Members = std::vector<Member>;

/// The member with that name; null if there is none.
[[nodiscard]] const Member* find_name(const Members& members, const std::string& name);
[[nodiscard]] const Member* find_url(const Members& members, const std::string& peer_url);
[[nodiscard]] const Member* find_id(const Members& members, std::uint64_t id);

/// The request of a server without data to become a member.
struct Admission {
  std::string name;
  std::string peer_url;
};

struct AdmissionPlan {
  enum class Step {
    kReady,    ///< It is expected already: give it the list.
    kAdd,      ///< Add it as a learner.
    kReplace,  ///< It was member `id` and lost its data: remove that, then add it.
  };
  Step step;
  std::uint64_t id = 0;
};
/// kInvalid if the request contradicts the list, kThrottled while another one is being added.
[[nodiscard]] Result<AdmissionPlan> plan_admission(const Members& members,
                                                   const Admission& request);

/// The id of the member to remove. kNotFound without one of that name, kInvalid if it is the last
/// one with a vote.
[[nodiscard]] Result<std::uint64_t> plan_removal(const Members& members, const std::string& name);

}  // namespace muster::engine
