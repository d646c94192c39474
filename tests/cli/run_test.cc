#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "platform/testing/scripted_http_server.h"
#include "tests/cli/run_program.h"

namespace muster {
namespace run_test {

using testing::HasSubstr;

/// One node on a directory of its own.
class RunTest : public testing::Test {
 protected:
  [[nodiscard]] Outcome job(const Words& options, const Words& command,
                            const Words& environment = {}) const {
    return run_job(store_, options, command, environment);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return dir_.path() / name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  TempDir dir_;
  std::string store_ = "file://" + path("store");
};

Words shell(const std::string& script) {
  return {"sh", "-c", script};
}

TEST_F(RunTest, TheCodeOfTheCommandIsOurs) {
  EXPECT_EQ(job({}, {"true"}).code, 0);
  const Outcome failed = job({}, shell("exit 7"));
  EXPECT_EQ(failed.code, 7);
  EXPECT_THAT(failed.err, HasSubstr("sh: exited with code 7"));
  EXPECT_EQ(job({}, shell("kill -KILL $$")).code, 128 + 9);
}

TEST_F(RunTest, ACodeThatIsAlsoOursIsToldApartOnStandardError) {
  const Outcome own = job({}, shell("exit 73"));
  EXPECT_EQ(own.code, 73);
  EXPECT_THAT(own.err, HasSubstr("sh: exited with code 73"));
}

TEST_F(RunTest, TheCommandKnowsItsTerm) {
  const std::string script =
      "echo $MUSTER_EPOCH $MUSTER_NAME $MUSTER_NODE; "
      "test \"$MUSTER_LEASE_DEADLINE\" -gt 0";
  const Outcome first = job({}, shell(script));
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.out, "1 job n1\n");
  EXPECT_EQ(job({}, shell(script)).out, "2 job n1\n");
}

TEST_F(RunTest, NotAcquiredIsExitCode70) {
  Runner leader(store_, "n0", {}, {"sleep", "1000"});
  ASSERT_FALSE(leader.next("child_started").is_null());
  const Outcome tried = job({"--try"}, {"echo", "ran"});
  EXPECT_EQ(tried.code, 70);
  EXPECT_EQ(tried.out, "");
  EXPECT_THAT(tried.err, HasSubstr("another node leads job"));
  const MonoTime began = boot_now();
  const Outcome waited = job({"--wait", "3s"}, {"echo", "ran"});
  EXPECT_EQ(waited.code, 70);
  EXPECT_EQ(waited.out, "");
  EXPECT_GE(boot_now() - began, 3s);
  EXPECT_THAT(waited.err, HasSubstr("not leading job after 3s"));
  EXPECT_THAT(waited.err, HasSubstr("--wait is too short to take over from a dead leader wait=3s "
                                    "takeover=8450ms"));
  EXPECT_EQ(leader.terminate(), 128 + SIGTERM);
}

TEST_F(RunTest, AStoreThatDoesNotAnswerIsExitCode72AndTheWaitIsKept) {
  const std::string nowhere =
      "s3://bucket/x?endpoint=http://127.0.0.1:" + std::to_string(free_port());
  const Words keys{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"};
  const Outcome tried = run_job(nowhere, {"--try"}, {"echo", "ran"}, keys);
  EXPECT_EQ(tried.code, 72) << tried.err;
  EXPECT_EQ(tried.out, "");
  const MonoTime began = boot_now();
  const Outcome waited = run_job(nowhere, {"--wait", "700ms"}, {"echo", "ran"}, keys);
  EXPECT_EQ(waited.code, 72) << waited.err;
  EXPECT_GE(boot_now() - began, 700ms);
  EXPECT_THAT(waited.err, HasSubstr("the store does not answer after 700ms"));
}

TEST_F(RunTest, AStoreThatIsStillSilentWhenTheWaitIsOverIsExitCode72) {
  // Connections are made and nothing answers, for longer than the wait.
  const UniqueFd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(silent.get(), generic, length), 0);
  ASSERT_EQ(::listen(silent.get(), 16), 0);
  ASSERT_EQ(::getsockname(silent.get(), generic, &length), 0);
  const std::string url = "etcd://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/x";
  const Outcome waited = run_job(url, {"--wait", "200ms"}, {"echo", "ran"}, {});
  EXPECT_EQ(waited.code, 72) << waited.err;
  EXPECT_THAT(waited.err, HasSubstr("the store does not answer after 200ms"));
}

TEST_F(RunTest, AStoreThatAnswersIsNotBlamedForANodeThatMayNotLead) {
  const Outcome waited = job({"--eligible", "off", "--wait", "700ms"}, {"echo", "ran"});
  EXPECT_EQ(waited.code, 70) << waited.err;
  EXPECT_EQ(waited.out, "");
}

// R21: also where this node would only stand by, and look well until it leads.
TEST_F(RunTest, ACommandThatCannotRunIsFoundAtTheStart) {
  for (const Words& more : {Words{}, Words{"--eligible", "off"}}) {
    const Outcome absent = job(more, {"no-such-command-anywhere"});
    EXPECT_EQ(absent.code, 64);
    EXPECT_THAT(absent.err, HasSubstr("cannot run no-such-command-anywhere: command not found"));
  }
  const Outcome denied = job({}, {write("plain", "#!/bin/sh\n")});
  EXPECT_EQ(denied.code, 64);
  EXPECT_THAT(denied.err, HasSubstr("it is not executable by this user"));
  const Outcome placed = job({"--commands", write("c.yaml",
                                                  "commands:\n  - name: a\n    command: "
                                                  "[\"true\"]\n    directory: /no/such\n")},
                             {});
  EXPECT_EQ(placed.code, 64);
  EXPECT_THAT(placed.err, HasSubstr("/no/such cannot be entered"));
}

// What runs before it may bring it, as a hook that mounts a volume does.
TEST_F(RunTest, ACommandThatAHookDoesNotBringIsExitCode73) {
  const std::string brought = path("brought");
  const std::string bring = "printf '#!/bin/sh\\nexit 5\\n' > " + brought + "; chmod +x " + brought;
  EXPECT_EQ(job({"--on-gain", bring}, {brought}).code, 5);
  const Outcome absent = job({"--on-gain", "true"}, {"no-such-command-anywhere"});
  EXPECT_EQ(absent.code, 73);
  EXPECT_THAT(absent.err, HasSubstr("command not found"));
}

// C16: restarting does not help, so the term ends and muster says why.
TEST_F(RunTest, ACommandThatExitsAtOnceForEverIsExitCode73) {
  const Outcome outcome = job({"--restart", "permanent"}, shell("echo run; exit 3"));
  EXPECT_EQ(outcome.code, 73);
  EXPECT_EQ(outcome.out, "run\nrun\nrun\nrun\n");
  EXPECT_THAT(outcome.err, HasSubstr("restarts-exhausted: sh: exited with code 3"));
  // The lease was released: the next one need not wait.
  EXPECT_EQ(job({"--try"}, {"true"}).code, 0);
}

TEST_F(RunTest, ARestartIsTold) {
  const Outcome outcome = job({"--restart", "permanent"}, shell("exit 3"));
  EXPECT_THAT(outcome.err, HasSubstr("muster run: sh: exited with code 3; started again\n"));
}

TEST_F(RunTest, ATransientCommandIsRestartedUntilItSucceeds) {
  const Outcome outcome = job(
      {"--restart", "transient"},
      shell("echo run; test -e " + path("mark") + " || { touch " + path("mark") + "; exit 1; }"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "run\nrun\n");
}

TEST_F(RunTest, WrongUseIsExitCode64) {
  EXPECT_THAT(run_muster({"run", "--arbiter", store_, "--", "true"}).err, HasSubstr("--name"));
  EXPECT_THAT(job({}, {}).err, HasSubstr("give a command after --"));
  EXPECT_THAT(job({}, {""}).err, HasSubstr("the command after -- has an empty name"));
  EXPECT_THAT(job({"--try", "--wait", "1s"}, {"true"}).err, HasSubstr("exclude each other"));
  EXPECT_THAT(job({"--on-loss", "shrug"}, {"true"}).err, HasSubstr("neither exit nor recampaign"));
  EXPECT_THAT(run_job(store_, {"true"}, {}).err, HasSubstr("write the command after --"));
  EXPECT_THAT(run_muster({"leader", "--arbiter", store_, "--", "true"}).err,
              HasSubstr("no command after --"));
  for (const Words& wrong : {Words{"--restart", "always"}, Words{"--commands", "/no/such/file"},
                             Words{"--try", "--wait", "1s"}}) {
    EXPECT_EQ(job(wrong, {"true"}).code, 64) << wrong[0];
  }
  EXPECT_EQ(run_job("nonsense://x", {}, {"true"}).code, 64);
}

// A store that nobody shares makes everybody lead.
TEST_F(RunTest, AStoreOfThisProcessAloneIsRefused) {
  const Outcome run = run_job("memory:", {}, {"echo", "ran"});
  EXPECT_EQ(run.code, 64);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("memory: belongs to this process alone"));
  EXPECT_EQ(run_muster({"worker", "--arbiter", "memory:"}).code, 64);
}

TEST_F(RunTest, UnsafeTimingsAreRefusedWithTheirSum) {
  const Outcome outcome = job({"--lease-timeout", "2s", "--grace", "1s"}, {"echo", "ran"});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("400ms + request timeout 400ms + stop budget 1s"));
  EXPECT_THAT(outcome.err, HasSubstr("must be below the held time 1680ms"));
  const Outcome hasty = job({"--lease-timeout", "99ms"}, {"echo", "ran"});
  EXPECT_EQ(hasty.code, 64);
  EXPECT_THAT(hasty.err, HasSubstr("a lease of 99ms is too short"));
}

/// A bucket that takes conditions and ignores them.
ScriptedHttpServer::Reply pretend(const ScriptedHttpServer::Request& request) {
  if (request.method == "PUT") return {200, "", {{"ETag", "\"0123456789abcdef\""}}};
  if (request.method == "DELETE") return {204, ""};
  return {404, "<Error><Code>NoSuchKey</Code></Error>", {{"Content-Type", "application/xml"}}};
}

// P02: nothing runs on the word of a store that only pretends to compare and swap.
TEST_F(RunTest, AnUnsafeStoreIsExitCode3) {
  ScriptedHttpServer bucket(pretend);
  const Outcome outcome = run_job("s3://bucket/x?endpoint=" + bucket.url(), {}, {"echo", "ran"},
                                  {"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("unsafe store"));
}

// The lease is long, so that a busy machine has the time to see the command die.
TEST_F(RunTest, ACommandThatIgnoresTermIsKilledAfterItsGrace) {
  Runner runner(store_, "n1", {"--lease-timeout", "60s", "--grace", "300ms"},
                shell("trap '' TERM; echo up >&2; while :; do sleep 0.05; done"));
  ASSERT_TRUE(runner.says("up"));
  EXPECT_EQ(runner.terminate(), 128 + SIGKILL) << runner.rest();
}

TEST_F(RunTest, NoGraceIsHonouredAndWhatCannotBeNoneIsRefused) {
  Runner runner(store_, "n1",
                {"--lease-timeout", "60s", "--grace", "0s", "--heartbeat-jitter", "0s"},
                shell("trap '' TERM; echo up >&2; while :; do sleep 0.05; done"));
  ASSERT_TRUE(runner.says("up"));
  const MonoTime began = boot_now();
  EXPECT_EQ(runner.terminate(), 128 + SIGKILL);
  EXPECT_LT(boot_now() - began, 4s) << "the grace that follows from the lease is 5s";
  for (const char* option :
       {"--kill-margin", "--request-timeout", "--heartbeat-interval", "--worker-timeout"}) {
    const Outcome refused = job({option, "0s"}, {"echo", "ran"});
    EXPECT_EQ(refused.code, 64) << option;
    EXPECT_THAT(refused.err, HasSubstr("must be above zero")) << option;
    EXPECT_THAT(refused.err, HasSubstr(option));
  }
}

TEST_F(RunTest, ASecondSignalDoesNotWaitForTheGrace) {
  // It tells when the second one is no longer the same wish.
  const std::string later = "trap '' TERM; trap 'sleep 0.7; echo later >&2' INT; ";
  Runner runner(store_, "n1", {"--lease-timeout", "60s", "--grace", "20s"},
                shell(later + "echo up >&2; while :; do sleep 0.05; done"));
  ASSERT_TRUE(runner.says("up"));
  const MonoTime began = boot_now();
  runner.signal(SIGINT);
  ASSERT_TRUE(runner.says("later"));
  EXPECT_EQ(runner.terminate(), 128 + SIGKILL);
  EXPECT_LT(boot_now() - began, 15s);
}

TEST_F(RunTest, AFloodOfOutputPassesThrough) {
  const Outcome outcome = job({}, shell("yes 0123456789 | head -n 300000"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 300000u * 11);
}

TEST_F(RunTest, StandardInputPassesThroughAndMayBeClosed) {
  const std::string script = "read line; echo got $line; exec <&-; exit 5";
  ChildProcess child(prepared(
      {"run", "--arbiter", store_, "--name", "job", "--", "sh", "-c", script}, path("errors")));
  child.write_line("words");
  EXPECT_EQ(child.read_line(), "got words");
  EXPECT_EQ(child.finish(), 5);
}

TEST_F(RunTest, SignalsArePassedOn) {
  Runner runner(store_, "n1", {},
                shell("trap 'exit 21' USR1; echo up >&2; while :; do sleep 0.02; done"));
  ASSERT_TRUE(runner.says("up"));
  runner.signal(SIGUSR1);
  EXPECT_EQ(runner.finish(), 21);
}

TEST_F(RunTest, TermWhileWaitingEndsItInOrder) {
  Runner leader(store_, "n0", {}, {"sleep", "1000"});
  ASSERT_FALSE(leader.next("child_started").is_null());
  Runner waiting(store_, "n1", {}, {"sleep", "1000"});
  ASSERT_FALSE(waiting.next("leader_changed").is_null());
  waiting.signal(SIGTERM);
  const auto exit = waiting.next("exit");
  EXPECT_EQ(exit["code"], 128 + SIGTERM);
  EXPECT_THAT(exit["reason"].get<std::string>(), HasSubstr("stopped by SIGTERM while waiting"));
  EXPECT_EQ(waiting.finish(), 128 + SIGTERM);
}

TEST_F(RunTest, SeveralCommandsStartInOrderWithTheirOwnSurroundings) {
  const std::string file = write("commands.yaml",
                                 "strategy: one_for_all\n"
                                 "commands:\n"
                                 "  - name: prepare\n"
                                 "    command: [sh, -c, 'echo prepared']\n"
                                 "    setup: true\n"
                                 "  - name: first\n"
                                 "    command: [sh, -c, 'echo $WORD; exec sleep 1000']\n"
                                 "    environment: {WORD: hello}\n"
                                 "    ready-after: 50ms\n"
                                 "  - name: second\n"
                                 "    command: [sh, -c, 'pwd']\n"
                                 "    restart: temporary\n"
                                 "    directory: /\n");
  Words words{"run", "--arbiter", store_, "--name", "job", "--id", "n1", "--commands", file};
  ChildProcess child(prepared(words, path("errors")));
  EXPECT_EQ(child.read_line(), "prepared");
  EXPECT_EQ(child.read_line(), "hello");
  EXPECT_EQ(child.read_line(), "/");
  ::kill(child.pid(), SIGTERM);
  EXPECT_EQ(child.finish(), 128 + SIGTERM);
}

TEST_F(RunTest, HooksRunBeforeTheCommandAndAfterTheTerm) {
  const std::string log = path("log");
  const Outcome outcome = job({"--on-gain", "echo gain $MUSTER_EPOCH >> " + log, "--on-loss-exec",
                               "echo loss $MUSTER_EPOCH $MUSTER_NAME $MUSTER_REASON >> " + log},
                              shell("echo work >> " + log));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(content(log), "gain 1\nwork\nloss 1 job stopped\n");
}

TEST_F(RunTest, StandardInputAndOutputAreTheCommandsAndNotTheHooks) {
  const Outcome outcome =
      run_muster({"run", "--arbiter", store_, "--name", "job", "--on-gain", "cat; echo gained",
                  "--on-loss-exec", "cat; echo lost", "--", "cat"},
                 {}, " <" + write("input", "for the command\n"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "for the command\n");
  EXPECT_THAT(outcome.err, HasSubstr("gained\n"));
  EXPECT_THAT(outcome.err, HasSubstr("lost\n"));
}

// As the entrypoint of a container it becomes the parent of whatever others leave behind; so it
// does here, of a child that the shell has left it.
TEST_F(RunTest, ChildrenThatItDidNotStartAreReaped) {
  // The command is the child of the guardian, and that of muster.
  const std::string command =
      "read -r _ _ _ muster _ < /proc/$PPID/stat;"
      "for i in $(seq 300); do"
      "  sleep 0.1; cat /proc/[0-9]*/stat 2>/dev/null | grep -q \"(sleep) . $muster \" || exit 0;"
      "done; exit 9";
  EXPECT_EQ(run_program({"sh", "-c", "sleep 0.5 & exec \"$@\"", "sh", MUSTER_PROGRAM, "run",
                         "--arbiter", store_, "--name", "job", "--", "sh", "-c", command}),
            0);
}

TEST_F(RunTest, AGainHookThatFailsStartsNothing) {
  const Outcome outcome = job({"--on-gain", "exit 4"}, {"echo", "ran"});
  EXPECT_EQ(outcome.code, 73);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("start-failed: on-gain: exited with code 4"));
}

TEST_F(RunTest, ALossHookThatFailsIsReportedAndChangesNothing) {
  const Outcome outcome = job({"--on-loss-exec", "exit 9"}, {"true"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("on-loss-exec failed with 9"));
}

// C12: what the environment says is read, strictly, and options win over it.
TEST_F(RunTest, TheEnvironmentOfTheCandidateIsRead) {
  EXPECT_EQ(job({"--try"}, {"true"}, {"COORDINATOR_ELIGIBLE=no"}).code, 70);
  EXPECT_EQ(job({"--try"}, {"true"}, {"COORDINATOR_NODE_TYPE=poller"}).code, 70);
  EXPECT_EQ(job({"--try", "--eligible", "on"}, {"true"}, {"COORDINATOR_ELIGIBLE=no"}).code, 0);
  const Outcome wrong = job({}, {"true"}, {"COORDINATOR_TAKEOVER_DELAY=soon"});
  EXPECT_EQ(wrong.code, 64);
  EXPECT_THAT(wrong.err, HasSubstr("COORDINATOR_TAKEOVER_DELAY=\"soon\" must be a whole number"));
}

TEST_F(RunTest, OptionsComeFromAFileAndFromTheEnvironment) {
  const std::string file = write("muster.yaml", "arbiter: " + store_ + "\nname: job\n");
  EXPECT_EQ(run_muster({"run", "--config", file, "--", "sh", "-c", "echo $MUSTER_NAME"}).out,
            "job\n");
  EXPECT_EQ(run_muster({"run", "--config", file, "--", "sh", "-c", "echo $MUSTER_NAME"},
                       {"MUSTER_NAME=other"})
                .out,
            "other\n");
}

TEST_F(RunTest, AVariableThatLooksLikeASlipIsRefusedAndOthersArePassedOver) {
  const Outcome slip = job({}, {"echo", "ran"}, {"MUSTER_LEASE_TIMEOU=60s"});
  EXPECT_EQ(slip.code, 64);
  EXPECT_EQ(slip.out, "");
  EXPECT_THAT(slip.err, HasSubstr("unknown variable MUSTER_LEASE_TIMEOU; did you mean "
                                  "MUSTER_LEASE_TIMEOUT?"));
  EXPECT_EQ(job({}, {"true"}, {"MUSTER_HAERTBEAT_JITTER=1s"}).code, 64);
  const Words others{"MUSTER_SERVICE_HOST=10.0.0.1", "MUSTER_PORT_9000_TCP=tcp://10.0.0.1:9000",
                     "MUSTER_COLOUR_OF_TEAM=blue", "MUSTER_LEASE_DEADLINE=1"};
  EXPECT_EQ(job({}, {"true"}, others).code, 0);
}

}  // namespace run_test
}  // namespace muster
