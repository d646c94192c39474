#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/status_server.h"

namespace muster::cli {
namespace program_test {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome muster(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Terminal terminal{out, err};
  const int code = run(words, terminal);
  return {code, out.str(), err.str()};
}

/// A variable that is there for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A YAML file that is there for one test.
class File {
 public:
  explicit File(const std::string& text)
      : path_(::testing::TempDir() + "muster-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml") {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::int64_t lease_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out)["leaseTimeout"];
}

TEST(ProgramTest, PrintsItsVersion) {
  EXPECT_EQ(muster({"--version"}).out, std::string("muster ") + MUSTER_VERSION + "\n");
}

TEST(ProgramTest, VersionIsACommandToo) {
  EXPECT_EQ(muster({"version"}).out, muster({"--version"}).out);
}

TEST(ProgramTest, HelpOfAnActionIsThatOfItsCommandLine) {
  const Outcome help = muster({"help", "certs", "issue"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.out, muster({"certs", "issue", "--help"}).out);
  EXPECT_EQ(muster({"help", "certs", "isue"}).err,
            "muster help: unknown command certs isue; did you mean issue?\n");
}

TEST(ProgramTest, HelpNamesDefaultsAndKeepsToItsWidth) {
  const std::string help = muster({"run", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("(default: 6s)"));
  EXPECT_THAT(help, Not(HasSubstr("TIME=")));
  for (const std::string_view line : split(help, '\n')) EXPECT_LE(line.size(), 110U) << line;
}

TEST(ProgramTest, EveryCommandIsListedAndHasAnExample) {
  const Outcome all = muster({"help"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(muster({"--help"}).out, all.out);
  for (const auto& [group, command] : all_commands()) {
    EXPECT_THAT(all.out, HasSubstr(std::string("\n") + group + ":\n"));
    EXPECT_THAT(all.out, HasSubstr(std::string("\n  ") + command->name() + " "));
    const Outcome help = muster({command->name(), "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr(std::string("Example:\n  muster ") + command->name()));
    EXPECT_EQ(muster({"help", command->name()}).out, help.out);
  }
}

TEST(ProgramTest, WrongUseIsOneSentenceAndExitCode64) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{}, "muster: no command is given; muster help lists them\n"},
      {{"leadr"}, "muster: unknown command leadr; did you mean leader?\n"},
      {{"help", "lnt"}, "muster help: unknown command lnt; did you mean lint?\n"},
      {{"xyzzy-quux"}, "muster: unknown command xyzzy-quux; muster help lists the commands\n"},
      {{"lint", "--lease-timout", "5s"},
       "muster lint: unknown option --lease-timout; did you mean --lease-timeout?\n"},
      {{"lint", "--lease-timout=5s"},
       "muster lint: unknown option --lease-timout; did you mean --lease-timeout?\n"},
      {{"lint", "extra"},
       "muster lint: unexpected argument extra; muster lint --help shows what it "
       "takes\n"},
      {{"lint", "--workers"}, "muster lint: --workers needs a value\n"},
      {{"lint", "--workers", "2", "--workers", "3"},
       "muster lint: --workers is given more than once; keep one of them\n"},
      {{"lint", "--workers", "0"},
       "muster lint: --workers: \"0\" is not a whole number from 1 to 1000000\n"},
      {{"lint", "--lease-timeout", "15"},
       "muster lint: --lease-timeout: \"15\" is not a duration; write it like 250ms, 5s, 2m or "
       "1h\n"},
      {{"leader"},
       "muster leader: name the store that decides the election: --arbiter URL (such as "
       "file:///var/lib/app/muster) or MUSTER_ARBITER\n"},
      {{"leader", "--arbiter", "memory:", "--cert", "a"},
       "muster leader: --cert and --key belong together: give both or neither\n"},
      {{"topology", "--server", "host"},
       "muster topology: --server: \"host\" is not a server address: the port is missing; write "
       "host:port, "
       "such as 127.0.0.1:9000\n"},
      {{"topology", "--key", "a"},
       "muster topology: --cert and --key belong together: give both or neither\n"},
      {{"topology", "--watch", "--linearizable"},
       "muster topology: --watch and --linearizable exclude each other; keep one\n"},
      {{"nodes", "--state", "dead"},
       "muster nodes: --state: \"dead\" is no state of a node; there are active, joining, "
       "draining, "
       "down, suspect\n"},
      {{"node"}, "muster node: say what to do: register, drain, undrain, remove or explain\n"},
      {{"node", "drian", "a"},
       "muster node: \"drian\" is none of register, drain, undrain, remove and explain\n"},
      {{"node", "undrain", "a", "--cancel"}, "muster node: --cancel belongs to drain\n"},
      {{"node", "drain"}, "muster node: name the node: muster node drain ID\n"},
      {{"node", "register", "a"},
       "muster node: name the address of the node: --address HOST and --port PORT\n"},
      {{"node", "register", "a", "--weight", "1048577"},
       "muster node: --weight: \"1048577\" is not a whole number from 1 to 1000\n"},
      {{"ring", "set", "--virtual-nodes-per-physical", "4097"},
       "muster ring: --virtual-nodes-per-physical: \"4097\" is not a whole number from 1 to "
       "4096\n"},
      {{"ring", "set", "--replication-factor", "65"},
       "muster ring: --replication-factor: \"65\" is not a whole number from 1 to 64\n"},
      {{"ring", "lookup"}, "muster ring: name the key: muster ring lookup KEY\n"},
      {{"ring", "plan"}, "muster ring: name the change: --add ID or --remove ID\n"},
      {{"ring", "plan", "k"}, "muster ring: only lookup takes a key; \"k\" is one too many\n"},
      {{"ring", "set"},
       "muster ring: give a value to set: --virtual-nodes-per-physical N or --replication-factor "
       "N\n"},
      {{"ring", "lookup", "k", "--replication-factor", "2"},
       "muster ring: --virtual-nodes-per-physical and --replication-factor belong to set\n"},
      {{"server", "list", "--to", "s1"}, "muster server: --to belongs to transfer\n"},
      {{"backup"}, "muster backup: name the file to write: muster backup FILE\n"},
      {{"restore"}, "muster restore: name the backup file: muster restore FILE\n"},
      {{"move"}, "muster move: name the target engine: muster move --to ENGINE\n"},
      {{"server", "remove"}, "muster server: name the server: muster server remove ID\n"},
      {{"server", "add"}, "muster server: name the server: muster server add ID\n"},
      {{"server", "list", "--peer", "h:1"}, "muster server: --peer belongs to add\n"},
      {{"server", "list", "s1"}, "muster server: an ID belongs to add and remove\n"},
      {{"log"}, "muster log: say what to do: inspect or repair\n"},
      {{"log", "inspect"}, "muster log: name the engine: --engine URL\n"},
      {{"log", "inspect", "--backup", "b"}, "muster log: --backup belongs to repair\n"},
      {{"log", "inspect", "--engine", "muster://h:1/p"},
       "muster log: --engine is file:///dir, etcd://host:port/prefix or s3://bucket/prefix, not "
       "muster:\n"},
      {{"log", "inspect", "--engine", "memory:"},
       "muster log: --engine is file:///dir, etcd://host:port/prefix or s3://bucket/prefix, not "
       "memory:\n"},
      {{"node", "register", "a", "--port", "0"},
       "muster node: --port: \"0\" is not a whole number from 1 to 65535\n"},
  };
  for (const auto& [words, sentence] : cases) {
    const Outcome outcome = muster(words);
    EXPECT_EQ(outcome.code, 64) << sentence;
    EXPECT_EQ(outcome.err, sentence);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(ProgramTest, RefusesUnsafeTimingsAndShowsTheSum) {
  for (const char* command : {"lint", "worker"}) {
    const Outcome outcome = muster({command, "--lease-timeout", "5s"});
    EXPECT_EQ(outcome.code, 64);
    EXPECT_THAT(outcome.err, HasSubstr("= 7500ms must be below the held time 4200ms"));
  }
  EXPECT_THAT(muster({"lint", "--worker-timeout", "5s"}).err, HasSubstr("workerTimeout 5s"));
}

TEST(ProgramTest, TheCommandLineWinsOverTheEnvironmentAndThatOverTheFile) {
  const File file("lease-timeout: 16s\nworkers: 5\n");
  const std::vector<std::string> base{"lint", "--json", "--config", file.path()};
  EXPECT_EQ(lease_of(muster({"lint", "--json"})), 15000);
  EXPECT_EQ(lease_of(muster(base)), 16000);
  const Variable variable("MUSTER_LEASE_TIMEOUT", "17s");
  EXPECT_EQ(lease_of(muster(base)), 17000);
  std::vector<std::string> more = base;
  more.insert(more.end(), {"--lease-timeout", "18s"});
  EXPECT_EQ(lease_of(muster(more)), 18000);
}

TEST(ProgramTest, TheEnvironmentIsParsedStrictly) {
  {
    const Variable variable("MUSTER_LEASE_TIMEOUT", "soon");
    const Outcome outcome = muster({"lint"});
    EXPECT_EQ(outcome.code, 64);
    EXPECT_THAT(outcome.err, HasSubstr("MUSTER_LEASE_TIMEOUT: --lease-timeout: \"soon\" is not"));
  }
  {
    const Variable variable("MUSTER_JSON", "perhaps");
    EXPECT_EQ(muster({"lint"}).err,
              "muster lint: MUSTER_JSON: \"perhaps\" is neither true nor false\n");
  }
  for (const auto& [value, json] : {std::pair("yes", true), {"0", false}, {"", false}}) {
    const Variable variable("MUSTER_JSON", value);
    EXPECT_EQ(muster({"lint"}).out.starts_with("{"), json) << value;
  }
}

TEST(ProgramTest, AFileIsNamedByTheEnvironmentToo) {
  const File file("lease-timeout: 16s\njson: true\n");
  const Variable variable("MUSTER_CONFIG", file.path().c_str());
  EXPECT_EQ(lease_of(muster({"lint"})), 16000);
}

TEST(ProgramTest, AnUnknownKeyInAFileIsAnErrorThatNamesTheNearest) {
  const File file("arbiter: file:///tmp/x\nlease-timout: 16s\n");
  const Outcome outcome = muster({"lint", "--config", file.path()});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_EQ(outcome.err,
            "muster lint: " + file.path() +
                ", line 2: unknown option lease-timout; did you mean lease-timeout?\n");
}

TEST(ProgramTest, AFileMayHoldOptionsOfOtherCommands) {
  const File file("arbiter: file:///tmp/x\nid: w1\nhttp: 127.0.0.1:0\nlease-timeout: 16s\n");
  EXPECT_EQ(lease_of(muster({"lint", "--json", "--config", file.path()})), 16000);
}

TEST(ProgramTest, AWrongValueInAFileIsShownWithItsLine) {
  const File file("workers: 3\nlease-timeout: 31\n");
  EXPECT_THAT(muster({"lint", "--config", file.path()}).err,
              HasSubstr(file.path() + ", line 2: --lease-timeout: \"31\" is not a duration"));
  EXPECT_THAT(muster({"lint", "--config", "/no/such/file"}).err,
              HasSubstr("cannot read the file /no/such/file"));
}

// R61: a file without an end is not read to it.
TEST(ProgramTest, AConfigFileWithoutAnEndIsRefused) {
  const Outcome outcome = muster({"lint", "--config", "/dev/zero"});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/zero is larger than 1048576 bytes"));
}

TEST(ProgramTest, LintPrintsOneJsonObject) {
  EXPECT_EQ(muster({"lint", "--json", "--workers", "8"}).out,
            R"({"workers":8,"heartbeatInterval":5000,"heartbeatJitter":1000,"leaseTimeout":15000,)"
            R"("workerTimeout":20000,"requestTimeout":3000,"failoverWorstMs":22000,)"
            R"("failoverWorstSlowStoreMs":43000,"workersMax":30250,"requestsPerFollowerCycle":1.5,)"
            R"("requestsPerLeaderCycle":2.0,"requestsPerHour":8312.7273,"putsPerHour":3010.9091,)"
            R"("getsPerHour":4581.8182,"listsPerHour":720.0,"dollarsPerMonth":14.9557,)"
            R"("nodeHeartbeatInterval":10000,"nodesMax":1666})"
            "\n");
}

TEST(ProgramTest, LintSaysWhatItAssumes) {
  const std::string text = muster({"lint"}).out;
  EXPECT_THAT(text, HasSubstr("at worst 22s after a crash"));
  EXPECT_THAT(text, HasSubstr("US standard prices"));
}

TEST(ProgramTest, OneLookAtAnEmptyMemoryStore) {
  const Outcome leader = muster({"leader", "--arbiter", "memory:", "--json"});
  EXPECT_EQ(leader.code, 1);
  EXPECT_EQ(leader.out,
            R"({"name":"default","leader":null,"epoch":0,"leaseLeftMs":null,"ageMs":null,)"
            R"("confirmed":true})"
            "\n");
  EXPECT_EQ(muster({"workers", "--arbiter", "memory:", "--json", "--namespace", "a"}).out,
            R"({"namespace":"a","leader":null,"epoch":0,"workers":[]})"
            "\n");
  EXPECT_EQ(muster({"probe", "--arbiter", "memory:", "--json"}).out,
            R"({"arbiter":"memory:","safe":true,"reason":null,"remarks":[]})"
            "\n");
}

// R43: two names for one thing.
TEST(ProgramTest, NameAndNamespaceAreOneOptionEverywhere) {
  for (const char* option : {"--name", "--namespace"}) {
    EXPECT_THAT(muster({"leader", "--arbiter", "memory:", option, "cron"}).out,
                HasSubstr("there has been no leader of cron yet"));
    EXPECT_THAT(muster({"workers", "--arbiter", "memory:", option, "cron"}).out,
                HasSubstr("election cron"));
    EXPECT_THAT(muster({"step-down", "--arbiter", "memory:", option, "cron"}).err,
                HasSubstr("nobody leads cron"));
    EXPECT_EQ(muster({"explain", "--arbiter", "memory:", option, "cron"}).code, 1);
  }
  const Outcome both =
      muster({"leader", "--arbiter", "memory:", "--name", "a", "--namespace", "b"});
  EXPECT_EQ(both.code, 64);
  EXPECT_THAT(both.err, HasSubstr("more than once"));
}

TEST(ProgramTest, EitherVariableOrSettingNamesTheElection) {
  const std::vector<std::string> ask{"leader", "--arbiter", "memory:"};
  {
    Variable old("MUSTER_NAMESPACE", "cron");
    EXPECT_THAT(muster(ask).out, HasSubstr("there has been no leader of cron yet"));
    // As in a command of muster run, which gives it MUSTER_NAME.
    Variable of_run("MUSTER_NAME", "job");
    EXPECT_THAT(muster(ask).out, HasSubstr("there has been no leader of job yet"));
  }
  const File file("name: a\nnamespace: b\n");
  const Outcome differ = muster({"leader", "--arbiter", "memory:", "--config", file.path()});
  EXPECT_EQ(differ.code, 64);
  EXPECT_THAT(differ.err, HasSubstr("line 1 has set the same option to another value"));
}

TEST(ProgramTest, AStoreWithoutElectionsHasNone) {
  EXPECT_EQ(muster({"elections", "--arbiter", "memory:"}).out, "no elections in this store\n");
  EXPECT_EQ(muster({"elections", "--arbiter", "memory:", "--json"}).out, "{\"elections\":[]}\n");
}

TEST(ProgramTest, ColoursOnlyWhereTheyAreWelcome) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{out, err, /*colour=*/true};
  EXPECT_EQ(run({"leader", "--arbiter", "memory:"}, terminal), 1);
  EXPECT_THAT(out.str(), HasSubstr("\033[31m"));
  out.str("");
  EXPECT_EQ(run({"leader", "--arbiter", "memory:", "--json"}, terminal), 1);
  EXPECT_EQ(out.str().find('\033'), std::string::npos);
  EXPECT_EQ(muster({"leader", "--arbiter", "memory:"}).out,
            "there has been no leader of default "
            "yet\n");
}

TEST(ProgramTest, OutputThatCannotBeWrittenIsAnError) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Terminal terminal{out, err};
  EXPECT_EQ(run({"lint"}, terminal), 74);
  EXPECT_THAT(err.str(), HasSubstr("cannot write to standard output"));
}

TEST(HttpAddressTest, LoopbackIsTheDefault) {
  EXPECT_EQ(url_of(parse_http_address("9010").value()), "http://127.0.0.1:9010");
  EXPECT_EQ(url_of(parse_http_address(":0").value()), "http://127.0.0.1:0");
  EXPECT_EQ(parse_http_address("0.0.0.0:80").value().host, "0.0.0.0");
  EXPECT_EQ(url_of(parse_http_address("[::1]:9010").value()), "http://[::1]:9010");
  for (const char* wrong : {"", "x", "localhost", "127.0.0.1:", "127.0.0.1:65536", "::1:9010"}) {
    EXPECT_FALSE(parse_http_address(wrong).ok()) << wrong;
  }
}

TEST(ProgramTest, ActionsOfACommandHaveHelpAndErrorsOfTheirOwn) {
  const Outcome all = muster({"certs", "--help"});
  EXPECT_EQ(all.code, 0);
  for (const std::string action : {"init", "issue", "revoke", "crl"}) {
    EXPECT_THAT(all.out, HasSubstr("\n  " + action + " "));
    const Outcome help = muster({"certs", action, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Example:\n  muster certs " + action));
    EXPECT_EQ(muster({"certs", action}).err,
              "muster certs " + action + ": name the directory of the CA: --dir DIR\n");
  }
  EXPECT_EQ(muster({"certs"}).code, 64);
  EXPECT_EQ(muster({"certs", "isue"}).err,
            "muster certs: unexpected argument isue; did you mean issue?\n");
  EXPECT_EQ(muster({"certs", "issue", "--rol", "x"}).err,
            "muster certs issue: unknown option --rol; did you mean --role?\n");
  EXPECT_THAT(muster({"certs", "issue", "--dir", "d", "--role", "king"}).err,
              HasSubstr("\"king\" is none of server, node, agent, admin, reader"));
  EXPECT_THAT(muster({"certs", "issue", "--dir", "d", "--id", "n1"}).err, HasSubstr("--role"));
}

TEST(ProgramTest, AFileMaySetOptionsOfActions) {
  const File file("dir: /nonexistent/pki\nlease-timeout: 30s\n");
  EXPECT_THAT(muster({"certs", "crl", "--config", file.path()}).err,
              HasSubstr("there is no CA in /nonexistent/pki"));
  EXPECT_EQ(
      lease_of(muster({"lint", "--json", "--worker-timeout", "40s", "--config", file.path()})),
      30'000);
}

}  // namespace program_test
}  // namespace muster::cli
