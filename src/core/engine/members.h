#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

/// A managed engine's members, and the decisions about who becomes or stays one. Pure.
namespace muster::engine {

/// One member as the cluster lists it.
struct Member {
  std::uint64_t id = 0;
  std::string name;      ///< Empty while it was added and has never started.
  std::string peer_url;  ///< Where the other members reach it.
  /// Where its musterd can be asked. Published by the member itself when it first serves, so that
  /// one without any has never been up.
  std::vector<std::string> contacts;
  bool learner = false;  ///< Receives everything and has no vote yet.

  [[nodiscard]] bool started() const { return !contacts.empty(); }
  bool operator==(const Member&) const = default;
};
using Members = std::vector<Member>;

/// The member of that name; null when there is none.
[[nodiscard]] const Member* find_name(const Members& members, const std::string& name);
[[nodiscard]] const Member* find_url(const Members& members, const std::string& peer_url);
[[nodiscard]] const Member* find_id(const Members& members, std::uint64_t id);

/// Somebody without data asks to become a member.
struct Admission {
  std::string name;
  std::string peer_url;
};

struct AdmissionPlan {
  enum class Step {
    kReady,    ///< It is expected already: hand it the list.
    kAdd,      ///< Add it as a learner.
    kReplace,  ///< It was member `id` and lost its data: remove that one, then add it.
  };
  Step step;
  std::uint64_t id = 0;
};
/// kInvalid when the request contradicts the list, kThrottled while another one is being added.
[[nodiscard]] Result<AdmissionPlan> plan_admission(const Members& members,
                                                   const Admission& request);

/// The id of the member to remove. kNotFound without one of that name, kInvalid when it is the
/// last one with a vote.
[[nodiscard]] Result<std::uint64_t> plan_removal(const Members& members, const std::string& name);

}  // namespace muster::engine
