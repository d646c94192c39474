#include "core/election/records.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>

namespace muster {
namespace records_test {

LeaderState sample() {
  LeaderState state;
  state.leader = WorkerId("pod-123");
  state.epoch = Epoch(7);
  state.incarnation = Incarnation("0b6f");
  state.nonce = Nonce("n1");
  state.lease = 15s;
  state.written_at = wall_from_ms(1699876543000);
  state.elected_at = wall_from_ms(1699876500000);
  state.leader_pod = "host-1";
  state.elected_by = "pod-123";
  state.workers = {WorkerId("pod-123"), WorkerId("pod-456")};
  state.value = "10.0.0.7:9000";
  return state;
}

TEST(LeaderStateTest, SurvivesEncodingAndDecoding) {
  EXPECT_EQ(*decode_leader_state(encode(sample())), sample());
  LeaderState released = sample();
  released.leader.reset();
  released.released = ReleaseReceipt{WorkerId("pod-123"), Incarnation("0b6f"), Epoch(7)};
  released.preferred = WorkerId("pod-456");
  EXPECT_EQ(*decode_leader_state(encode(released)), released);
}

TEST(LeaderStateTest, HoldsTheFieldsThatTheOriginalReads) {
  const std::string body = encode(sample());
  for (const char* field :
       {"leaderId", "epoch", "leaseExpiresAt", "leaderPod", "leaseStart", "leaseEnd", "electedBy",
        "electedAt", "_expiresAt", "incarnation", "nonce", "workers"}) {
    EXPECT_NE(body.find(std::string("\"") + field + "\":"), std::string::npos) << field;
  }
  EXPECT_NE(body.find("\"leaseExpiresAt\":1699876558000"), std::string::npos);
}

TEST(LeaderStateTest, ReadsWhatAWorkerWithoutIncarnationsWrote) {
  const auto state = decode_leader_state(
      R"({"leaderId":"a","epoch":3,"leaseStart":1000,"leaseEnd":16000,"leaseExpiresAt":16000})");
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->lease, 15s);
  EXPECT_EQ(state->incarnation.value(), "");
}

// S18: an epoch written as a string made every worker believe itself; here it is corrupt, and
// recovery does not go below it.
TEST(LeaderStateTest, CorruptBodiesAreToldApartAndTheirEpochIsSalvaged) {
  for (const char* body : {"", "{", "[]", "42", R"({"leaderId":"a"})", R"({"epoch":-1})",
                           R"({"epoch":1e300})", R"({"epoch":1.5})", R"({"leaderId":5,"epoch":1})",
                           R"({"epoch":1,"leaseStart":5,"leaseEnd":4})",
                           R"({"epoch":1,"leaseStart":0,"leaseEnd":9007199254740991})"}) {
    EXPECT_TRUE(decode_leader_state(body).is(Errc::kCorrupt)) << body;
  }
  EXPECT_TRUE(decode_leader_state(R"({"leaderId":"a","epoch":"12"})").is(Errc::kCorrupt));
  EXPECT_EQ(salvage_epoch(R"({"leaderId":"a","epoch":"12"})"), Epoch(12));
  EXPECT_EQ(salvage_epoch(R"({"leaderId":"a","epoch": 12, "nonc)"), Epoch(12));
  EXPECT_EQ(salvage_epoch("garbage"), Epoch(0));
  EXPECT_EQ(salvage_epoch(R"({"leaderId":"a","epoch":12)"), Epoch(0)) << "of 12, or of 1200";
}

// Anyone who follows must be able to count on.
TEST(LeaderStateTest, AnEpochAtTheEndOfAllNumbersIsNone) {
  EXPECT_TRUE(decode_leader_state(R"({"epoch":6755399441055743})").ok());
  EXPECT_TRUE(decode_leader_state(R"({"epoch":6755399441055744})").is(Errc::kCorrupt));
  EXPECT_TRUE(decode_metadata(R"({"epochFloor":6755399441055744})").is(Errc::kCorrupt));
  EXPECT_EQ(kEpochMax, Epoch(6755399441055743));
  EXPECT_EQ(salvage_epoch(R"({"epoch": 9007199254740991, "leader)"), Epoch(0));
}

TEST(NamespaceMetadataTest, SurvivesAndKeepsFieldsItDoesNotKnow) {
  NamespaceMetadata metadata;
  metadata.epoch_floor = Epoch(9);
  metadata.lease_max = 30s;
  metadata.creator = "pod-1";
  metadata.created_at = wall_from_ms(5);
  metadata.heartbeat_interval = 5s;
  metadata.lease_timeout = 15s;
  metadata.worker_timeout = 20s;
  const std::string body = encode(metadata, R"({"theirs":true,"epochFloor":3})");
  EXPECT_NE(body.find("\"theirs\":true"), std::string::npos);
  EXPECT_EQ(*decode_metadata(body), metadata);
}

TEST(NamespaceMetadataTest, ANewerFormatIsRefusedNotGuessed) {
  EXPECT_TRUE(decode_metadata(R"({"format":2,"epochFloor":1})").is(Errc::kUnsupported));
  EXPECT_TRUE(decode_metadata(R"({"epochFloor":"1"})").is(Errc::kCorrupt));
}

TEST(NamespaceMetadataTest, AnAbsurdLeaseLastsNoLongerThanTheLongestThereIs) {
  EXPECT_EQ(decode_metadata(R"({"leaseMax":9007199254740991})")->lease_max, 24h);
}

TEST(WorkerRecordTest, SurvivesEncodingAndDecoding) {
  WorkerRecord record;
  record.worker = WorkerId("w1");
  record.incarnation = Incarnation("i");
  record.nonce = Nonce("n");
  record.last_heartbeat = wall_from_ms(3);
  record.registered_at = wall_from_ms(2);
  record.expires_at = wall_from_ms(9);
  record.pod = "pod";
  record.plugin_name = "coordinator";
  record.name_space = "default";
  record.stopped = true;
  record.sweep = true;
  record.aside = "paused";
  EXPECT_EQ(*decode_worker(encode(record)), record);
  record.outage = Outage{wall_from_ms(1), 31s, 7, 3};
  EXPECT_EQ(*decode_worker(encode(record)), record);
  EXPECT_TRUE(decode_worker("{}").is(Errc::kCorrupt));
}

TEST(WorkerRecordTest, AnOutageIsReadOnlyWhenItIsOne) {
  const auto outage = [](const std::string& text) {
    return decode_worker(R"({"workerId":"w1","outage":)" + text + "}")->outage;
  };
  EXPECT_EQ(decode_worker(R"({"workerId":"w1"})")->outage, std::nullopt);
  EXPECT_EQ(outage(R"({"since":5,"lasted":31000,"failures":7,"opened":3,"newer":true})"),
            (Outage{wall_from_ms(5), 31s, 7, 3}));
  for (const char* none : {"null", "[]", "7", "{}", R"({"since":5,"lasted":1,"failures":7})",
                           R"({"failures":7,"opened":0})", R"({"failures":-1,"opened":1})"}) {
    EXPECT_EQ(outage(none), std::nullopt) << none;
  }
  EXPECT_EQ(outage(R"({"lasted":9007199254740991,"failures":1,"opened":1})")->lasted,
            std::chrono::days(3650));
}

TEST(NamespaceKeysTest, FollowTheLayoutOfTheOriginal) {
  const NamespaceKeys keys("default");
  EXPECT_EQ(keys.state, "plugin=coordinator/namespace=default/state.json");
  EXPECT_EQ(keys.metadata, "plugin=coordinator/namespace=default/metadata.json");
  EXPECT_EQ(keys.worker(WorkerId("w1")),
            "plugin=coordinator/namespace=default/workers/worker=w1.json");
  EXPECT_EQ(keys.worker_of(keys.worker(WorkerId("w1"))), WorkerId("w1"));
  EXPECT_EQ(keys.worker_of(keys.workers + "other.txt"), std::nullopt);
}

TEST(NamespaceKeysTest, NamesThatCouldLeaveTheirPlaceAreRefused) {
  EXPECT_TRUE(validate_name("worker id", "pod-1_a.b:c@d").ok());
  for (const char* bad : {"", "a/b", "..", "a b", "é", "a\n"}) {
    EXPECT_TRUE(validate_name("worker id", bad).is(Errc::kInvalid)) << bad;
  }
}

/// What decoding adds to the memory of this process at its peak.
long megabytes_of(const std::function<void()>& decode) {
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{};
    rusage after{};
    (void)::getrusage(RUSAGE_SELF, &before);
    decode();
    (void)::getrusage(RUSAGE_SELF, &after);
    const long grown = (after.ru_maxrss - before.ru_maxrss) / 1024;
    ::_exit(static_cast<int>(std::min(grown, 250L)));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// R39: an id with a line break forged a line of `muster leader` and of the events.
TEST(HostileBodyTest, NoIdReachesATerminalAsAnEscape) {
  const std::string odd = R"("a\n\u001b[31mX")";
  EXPECT_TRUE(decode_leader_state("{\"epoch\":1,\"leaderId\":" + odd + "}").is(Errc::kCorrupt));
  const auto state = decode_leader_state(R"({"epoch":1,"leaderId":"w1","workers":["w1",)" + odd +
                                         R"(],"leaderPod":)" + odd + R"(,"preferred":)" + odd +
                                         R"(,"released":{"workerId":)" + odd + "}}");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->workers, std::vector<WorkerId>{WorkerId("w1")});
  EXPECT_EQ(state->leader_pod, "a\\x0a\\x1b[31mX");
  EXPECT_EQ(state->preferred, WorkerId("a\\x0a\\x1b[31mX"));
  EXPECT_EQ(state->released->worker, WorkerId("a\\x0a\\x1b[31mX"));
  EXPECT_EQ(decode_worker("{\"workerId\":\"w\",\"pod\":" + odd + "}")->pod, "a\\x0a\\x1b[31mX");
  const NamespaceKeys keys("default");
  EXPECT_FALSE(keys.worker_of(keys.worker(WorkerId("a\nb"))));
  EXPECT_FALSE(election_of(std::string(kElectionsPrefix) + "a\x1b/state.json"));
}

// Anyone who may write to the store must not be able to take the memory of all who read it.
TEST(HostileBodyTest, BracketsCostNoMoreThanTheirBytes) {
  std::string deep;
  while (deep.size() < 15'000'000) deep += "{\"a\":[";
  std::string wide = "{\"epoch\":1,\"workers\":[";
  while (wide.size() < 15'000'000) wide += "{},";
  wide += "0]}";
  for (const std::string& body : {deep, wide}) {
    EXPECT_TRUE(decode_leader_state(body).is(Errc::kCorrupt));
    EXPECT_TRUE(decode_metadata(body).is(Errc::kCorrupt));
    EXPECT_TRUE(decode_worker(body).is(Errc::kCorrupt));
    EXPECT_EQ(encode(NamespaceMetadata{}, body), encode(NamespaceMetadata{}));
    EXPECT_LT(megabytes_of([&] { (void)decode_leader_state(body); }), 32);
  }
}

}  // namespace records_test
}  // namespace muster
