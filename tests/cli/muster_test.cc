#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "platform/testing/scripted_http_server.h"
#include "tests/cli/muster_program.h"

namespace muster {
namespace muster_test {

using testing::HasSubstr;

TEST(MusterTest, ExitCodesSayWhatHappened) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  EXPECT_EQ(run_muster({"--version"}).code, 0);
  EXPECT_EQ(run_muster({"probe", "--arbiter", store}).code, 0);
  EXPECT_EQ(run_muster({"leader", "--arbiter", store}).code, 1);
  EXPECT_EQ(run_muster({"leader", "--arbitr", store}).code, 64);
  EXPECT_EQ(run_muster({"leader", "--arbiter", "nonsense://x"}).code, 64);
  EXPECT_EQ(run_muster({"lint", "--lease-timeout", "5s"}).code, 64);
}

TEST(MusterTest, AStoreThatIsNoArbiterIsRefusedWithTheReason) {
  for (const char* command : {"probe", "leader", "worker"}) {
    const Outcome refused = run_muster({command, "--arbiter", "redis://127.0.0.1:6379/0"});
    EXPECT_EQ(refused.code, 64) << command;
    EXPECT_THAT(refused.err, HasSubstr("redis:// cannot decide elections: "));
  }
}

TEST(MusterTest, WhoOnlyReadsMakesNoStore) {
  const TempDir dir;
  const std::string absent = dir.path() / "absent";
  const std::string url = "file://" + absent;
  const std::vector<Words> readers{
      {"elections", "--arbiter", url},         {"leader", "--arbiter", url},
      {"leader", "--watch", "--arbiter", url}, {"workers", "--arbiter", url},
      {"explain", "--arbiter", url},           {"step-down", "--name", "n", "--arbiter", url},
      {"log", "inspect", "--engine", url}};
  for (const Words& words : readers) {
    const Outcome outcome = run_muster(words);
    EXPECT_EQ(outcome.code, 64) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr("the directory " + absent + " does not exist")) << words[0];
    EXPECT_FALSE(std::filesystem::exists(absent)) << words[0];
  }
}

TEST(MusterTest, AStoreThatDoesNotAnswerIsExitCode69) {
  const std::string nowhere =
      "s3://bucket/x?endpoint=http://127.0.0.1:" + std::to_string(free_port());
  const Words keys{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"};
  for (const char* command : {"leader", "workers", "probe"}) {
    const Outcome outcome =
        run_muster({command, "--arbiter", nowhere, "--timeout", "300ms", "--json"}, keys);
    EXPECT_EQ(outcome.code, 69) << command;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("muster " + std::string(command) + ": "));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

/// A bucket that takes conditions and ignores them.
ScriptedHttpServer::Reply pretend(const ScriptedHttpServer::Request& request) {
  if (request.method == "PUT") return {200, "", {{"ETag", "\"0123456789abcdef\""}}};
  if (request.method == "DELETE") return {204, ""};
  return {404, "<Error><Code>NoSuchKey</Code></Error>", {{"Content-Type", "application/xml"}}};
}

// P02: a store that only pretends to compare and swap is refused, with the reason.
TEST(MusterTest, AnUnsafeStoreIsExitCode3) {
  ScriptedHttpServer bucket(pretend);
  const std::string store = "s3://bucket/x?endpoint=" + bucket.url();
  const Words keys{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"};
  const Outcome probe = run_muster({"probe", "--arbiter", store, "--json"}, keys);
  EXPECT_EQ(probe.code, 3) << probe.err;
  EXPECT_EQ(probe.json()["safe"], false);
  EXPECT_THAT(probe.json()["reason"].get<std::string>(), HasSubstr("unsafe store"));
  EXPECT_THAT(run_muster({"probe", "--arbiter", store}, keys).out, HasSubstr("unsafe store"));

  const Outcome worker =
      run_muster({"worker", "--arbiter", store, "--json", "--startup-jitter-max", "0s"}, keys);
  EXPECT_EQ(worker.code, 3) << worker.err;
  EXPECT_EQ(worker.json()["event"], "trouble");
  EXPECT_EQ(worker.json()["kind"], "unsafe-store");
}

TEST(MusterTest, OptionsComeFromTheEnvironmentAndAFile) {
  const TempDir dir;
  const std::string file = dir.path() / "muster.yaml";
  std::ofstream(file) << "arbiter: file://" << (dir.path() / "a").string() << "\njson: true\n";
  EXPECT_EQ(run_muster({"probe", "--config", file}).json()["arbiter"],
            "file://" + (dir.path() / "a").string());
  const std::string other = "file://" + (dir.path() / "b").string();
  EXPECT_EQ(run_muster({"probe", "--config", file}, {"MUSTER_ARBITER=" + other}).json()["arbiter"],
            other);
}

TEST(MusterTest, OutputThatNobodyTakesIsAnErrorAndNoSignal) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  const Outcome full = run_muster({"lint"}, {}, " >/dev/full");
  EXPECT_EQ(full.code, 74);
  // R66: it said that the reader had closed it.
  EXPECT_THAT(full.err, HasSubstr("cannot write to standard output: no space left on the disk"));
  // A pipe whose only reader has gone.
  const std::string fifo = dir.path() / "fifo";
  ASSERT_EQ(run_program({"mkfifo", fifo}), 0);
  const std::string broken = " 3<>" + fifo + " 4>" + fifo + " 3<&- >&4";
  EXPECT_EQ(run_muster({"lint"}, {}, broken).code, 74);
  const Outcome worker = run_muster(
      {"worker", "--arbiter", store, "--id", "w1", "--startup-jitter-max", "0s"}, {}, broken);
  EXPECT_EQ(worker.code, 74);
  EXPECT_THAT(worker.err, HasSubstr("cannot write to standard output"));
  // It stopped cleanly: the lease is free.
  const Outcome leader = run_muster({"leader", "--arbiter", store, "--json"});
  EXPECT_EQ(leader.json()["leader"], nullptr);
  EXPECT_EQ(leader.json()["epoch"], 1);
}

}  // namespace muster_test
}  // namespace muster
