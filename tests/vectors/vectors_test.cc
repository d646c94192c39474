// bindings/vectors.json: what clients in every language must compute, as the product computes it.
// To write it anew: MUSTER_WRITE_VECTORS=1 build/bin/test_vectors
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/client/rpc_status.h"
#include "core/election/lease.h"
#include "core/routing/hash_ring.h"
#include "elector/lease_guard.h"
#include "elector/testing.h"

namespace muster {
namespace vectors_test {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

const std::filesystem::path kFile =
    std::filesystem::path(MUSTER_SOURCE_DIR) / "bindings/vectors.json";

// The ring: which nodes hold a key, of members by their weights.

Json ring_case(RingConfig config, const std::map<std::string, std::uint32_t>& weights) {
  std::vector<RingMember> members;
  for (const auto& [id, weight] : weights) members.push_back({NodeId(id), weight});
  const HashRing ring(std::move(members), config);
  Json owners = Json::object();
  for (const std::string key : {"", "0", "a", "hello", "customer/17", "bucket/object.txt", "ключ",
                                "a key with spaces", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}) {
    Json ids = Json::array();
    for (const std::uint32_t member : ring.lookup(key).members) {
      ids.push_back(ring.members()[member].id.value());
    }
    owners[key] = ids;
  }
  return {{"virtual_nodes", config.virtual_nodes},
          {"replication", config.replication},
          {"weights", weights},
          {"owners", owners}};
}

Json ring() {
  std::map<std::string, std::uint32_t> many;
  for (int i = 0; i < 40; ++i)
    many["node-" + std::to_string(i)] = 1U + static_cast<std::uint32_t>(i % 4);
  return {
      ring_case({16, 3}, {}),
      ring_case({16, 3}, {{"only", 1}}),
      ring_case({16, 3}, {{"o1", 1}, {"o2", 1}}),
      ring_case({16, 3}, {{"o1", 1}, {"o2", 1}, {"o3", 1}, {"o4", 1}, {"o5", 1}}),
      ring_case({16, 3}, {{"o1", 1}, {"o2", 1}, {"o3", 1}, {"o4", 1}}),
      ring_case({16, 1}, {{"small", 1}, {"large", 100}, {"none", 0}}),
      ring_case({1, 2}, {{"A", 1}, {"a", 2}, {"b", 3}, {"ab", 1000}}),
      ring_case({64, 5}, many),
  };
}

// Leases: until when the holder may lead.

Json leases() {
  Json cases = Json::array();
  for (const int lease : {100, 1000, 1001, 6000, 15000, 86'400'000}) {
    const LeaseTerms terms{milliseconds(lease), kDefaultDrift};
    const auto left = std::chrono::duration_cast<milliseconds>(terms.held());
    const auto deadline = terms.deadline(MonoTime(milliseconds(2500)));
    cases.push_back(
        {{"lease_ms", lease},
         {"left_ms", left.count()},
         {"sent_ms", 2500},
         {"deadline_ms",
          std::chrono::duration_cast<milliseconds>(deadline.time_since_epoch()).count()}});
  }
  return cases;
}

/// A client that sends beats and hears answers to them.
class Holder {
 public:
  explicit Holder(std::string title)
      : case_{{"title", std::move(title)}, {"steps", Json::array()}} {}

  Holder& send(int at, int beat) {
    move(at);
    sent_[beat] = clock_.now();
    case_["steps"].push_back({{"at_ms", at}, {"send", beat}});
    return *this;
  }
  Holder& answer(int at, int beat, int left_ms) {
    move(at);
    const MonoTime deadline = sent_.at(beat) + milliseconds(left_ms);
    if (!guard_) {
      guard_.emplace(clock_, Epoch(1), deadline);
    } else if (guard_->valid()) {
      guard_->extend(deadline);
    } else {
      guard_->close();
    }
    case_["steps"].push_back({{"at_ms", at}, {"answer", beat}, {"left_ms", left_ms}});
    return *this;
  }
  Holder& asked(int at) {
    move(at);
    Json step{{"at_ms", at}, {"valid", guard_ && guard_->valid()}};
    if (guard_ && guard_->valid()) {
      step["left_ms"] =
          std::chrono::duration_cast<milliseconds>(guard_->deadline() - clock_.now()).count();
    }
    case_["steps"].push_back(step);
    return *this;
  }
  [[nodiscard]] Json made() const { return case_; }

 private:
  void move(int at) {
    clock_.advance(milliseconds(at) - now_);
    now_ = milliseconds(at);
  }

  testing::FakeClock clock_;
  milliseconds now_{0};
  std::map<int, MonoTime> sent_;
  std::optional<LeaseGuard> guard_;
  Json case_;
};

Json terms() {
  return {
      Holder("a lease counts from when its beat was sent, not from its answer")
          .send(1000, 0)
          .asked(1500)
          .answer(1700, 0, 840)
          .asked(1700)
          .asked(1839)
          .asked(1840)
          .made(),
      Holder("each answer moves the deadline")
          .send(0, 0)
          .answer(20, 0, 5040)
          .send(2000, 1)
          .answer(2030, 1, 5040)
          .asked(5040)
          .send(4000, 2)
          .asked(7039)
          .asked(7040)
          .made(),
      Holder("an answer that comes after the deadline revives nothing, nor does any later one")
          .send(0, 0)
          .answer(10, 0, 840)
          .send(300, 1)
          .send(600, 2)
          .asked(839)
          .answer(900, 1, 840)
          .asked(900)
          .answer(950, 2, 840)
          .asked(950)
          .made(),
      Holder("an answer at the deadline is too late")
          .send(0, 0)
          .answer(1, 0, 840)
          .send(400, 1)
          .answer(840, 1, 840)
          .asked(840)
          .made(),
      Holder("a lease that is over when it is granted begins nothing")
          .send(0, 0)
          .send(300, 1)
          .answer(900, 0, 840)
          .asked(900)
          .answer(910, 1, 840)
          .asked(910)
          .made(),
      Holder("an answer to an older beat does not shorten the lease")
          .send(0, 0)
          .answer(10, 0, 840)
          .send(200, 1)
          .send(400, 2)
          .answer(420, 2, 840)
          .answer(430, 1, 840)
          .asked(1239)
          .asked(1240)
          .made(),
      Holder("several answers at once, the last one in time")
          .send(0, 0)
          .answer(10, 0, 840)
          .send(280, 1)
          .send(560, 2)
          .answer(800, 1, 840)
          .answer(1100, 2, 840)
          .asked(1399)
          .asked(1400)
          .made(),
  };
}

// Errors: what the status of a call means.

std::string error_name(Errc code) {
  std::string name = to_string(code);
  std::replace(name.begin(), name.end(), ' ', '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

Json errors() {
  using client::Effect;
  using client::Reach;
  const std::vector<std::string> codes{"OK",
                                       "CANCELLED",
                                       "UNKNOWN",
                                       "INVALID_ARGUMENT",
                                       "DEADLINE_EXCEEDED",
                                       "NOT_FOUND",
                                       "ALREADY_EXISTS",
                                       "PERMISSION_DENIED",
                                       "RESOURCE_EXHAUSTED",
                                       "FAILED_PRECONDITION",
                                       "ABORTED",
                                       "OUT_OF_RANGE",
                                       "UNIMPLEMENTED",
                                       "INTERNAL",
                                       "UNAVAILABLE",
                                       "DATA_LOSS",
                                       "UNAUTHENTICATED"};
  Json cases = Json::array();
  for (int code = 1; code < static_cast<int>(codes.size()); ++code) {
    for (const bool answered : {true, false}) {
      for (const bool elsewhere : {true, false}) {
        if (elsewhere && (!answered || code != 9)) continue;
        client::RpcStatus status;
        status.code = static_cast<client::RpcCode>(code);
        status.message = "why";
        status.reach = answered ? Reach::kAnswered : Reach::kSent;
        if (elsewhere) status.leader_address = "10.0.0.2:9000";
        const auto name = [&](Effect effect) {
          return error_name(client::to_error(status, "10.0.0.1:9000", effect).code);
        };
        cases.push_back({{"code", code},
                         {"status", codes[static_cast<std::size_t>(code)]},
                         {"answered", answered},
                         {"leader_address", elsewhere},
                         {"read", name(Effect::kRead)},
                         {"write", name(Effect::kOnce)}});
      }
    }
  }
  return cases;
}

/// One case in each line, for people who compare two versions.
std::string text_of(const Json& vectors) {
  std::string text = "{\n";
  for (auto part = vectors.begin(); part != vectors.end(); ++part) {
    if (part != vectors.begin()) text += ",\n";
    text += Json(part.key()).dump() + ": ";
    if (!part->is_array()) {
      text += part->dump();
      continue;
    }
    text += "[";
    for (auto each = part->begin(); each != part->end(); ++each) {
      text += (each == part->begin() ? "\n  " : ",\n  ") + each->dump();
    }
    text += "\n]";
  }
  return text + "\n}\n";
}

TEST(VectorsTest, TheFileHasTheAnswersOfTheProduct) {
  const Json vectors{
      {"about",
       "ring: the nodes that hold each key, the primary first (docs/formats.md, Hash ring). "
       "leases: the time for "
       "which a holder may lead, counted from when it sent the beat. terms: what a client knows "
       "that sends beats "
       "and hears answers. errors: what a gRPC status means for a call that only reads and for one "
       "that writes; "
       "answered: the trailing metadata has muster-server; leader_address: it has leader-address."},
      {"ring", ring()},
      {"leases", leases()},
      {"terms", terms()},
      {"errors", errors()}};
  const std::string text = text_of(vectors);
  if (std::getenv("MUSTER_WRITE_VECTORS") != nullptr) std::ofstream(kFile) << text;
  std::ostringstream stored;
  stored << std::ifstream(kFile).rdbuf();
  EXPECT_EQ(stored.str(), text)
      << "to write it anew: MUSTER_WRITE_VECTORS=1 build/bin/test_vectors";
}

TEST(VectorsTest, EveryCaseOfALeaseShowsATermThatEnds) {
  for (const Json& each : terms()) {
    EXPECT_FALSE(each["steps"].back()["valid"].get<bool>()) << each["title"];
  }
}

}  // namespace vectors_test
}  // namespace muster
