#include "cli/commands_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace commands_file_test {

using ::testing::HasSubstr;

const muster::Command& command(const ChildSpec& child) {
  return std::get<muster::Command>(child.work);
}

TEST(CommandsFileTest, EveryKeyIsRead) {
  const auto file = parse_commands(
      "strategy: rest_for_one\n"
      "restarts: 7\n"
      "within: 1m\n"
      "commands:\n"
      "  - {name: prepare, command: [make, ready], setup: true, timeout: 5m}\n"
      "  - name: web\n"
      "    command: [nginx, -g, 'daemon off;']\n"
      "    environment: {PORT: 80, EMPTY: ''}\n"
      "    directory: /srv\n"
      "    restart: transient\n"
      "    ready-after: 250ms\n"
      "    grace: 500ms\n",
      1s);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->strategy, RestartStrategy::kRestForOne);
  EXPECT_EQ(file->restarts_max, 7u);
  EXPECT_EQ(file->restart_window, 1min);
  ASSERT_EQ(file->children.size(), 2u);
  EXPECT_TRUE(file->children[0].rules.setup);
  EXPECT_EQ(file->children[0].rules.timeout, 5min);
  EXPECT_EQ(file->children[0].rules.restart, RestartPolicy::kPermanent);
  EXPECT_EQ(file->children[0].rules.shutdown, 1s);
  const ChildSpec& web = file->children[1];
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.rules.restart, RestartPolicy::kTransient);
  EXPECT_EQ(web.rules.ready_after, 250ms);
  EXPECT_EQ(web.rules.shutdown, 500ms);
  EXPECT_FALSE(web.rules.setup);
  EXPECT_EQ(command(web).argv, (std::vector<std::string>{"nginx", "-g", "daemon off;"}));
  EXPECT_EQ(command(web).directory, "/srv");
  EXPECT_THAT(*command(web).environment, ::testing::IsSupersetOf({"PORT=80", "EMPTY="}));
}

TEST(CommandsFileTest, WhatIsWrongIsNamedWithItsLine) {
  const auto error = [](const std::string& yaml) {
    const auto file = parse_commands(yaml, 1s);
    return file ? "accepted" : file.error().message;
  };
  EXPECT_THAT(error("commands: []\n"), HasSubstr("the file has no commands"));
  EXPECT_EQ(error(""), "the file has no commands");
  EXPECT_EQ(error("# none yet\n"), "the file has no commands");
  EXPECT_THAT(error("commands:\n  - name: a\n    command: [\"\", x]\n"),
              HasSubstr("line 3: the command has an empty name"));
  EXPECT_THAT(error("[a, b]"), HasSubstr("NAME: VALUE"));
  EXPECT_THAT(error("strategi: one_for_one\n"),
              HasSubstr("line 1: unknown key strategi of the file; did you mean strategy?"));
  EXPECT_THAT(error("commands:\n  - name: a\n    comand: [x]\n"),
              HasSubstr("line 3: unknown key comand of a command; did you mean command?"));
  EXPECT_THAT(error("commands:\n  - name: a\n    command: make all\n"),
              HasSubstr("write the command as a list"));
  EXPECT_THAT(error("commands:\n  - name: a\n"), HasSubstr("needs a name and a command"));
  EXPECT_THAT(error("commands:\n  - {name: a, name: b, command: [x]}\n"), HasSubstr("given twice"));
  EXPECT_THAT(error("commands:\n  - {name: a, command: [x]}\n  - {name: a, command: [x]}\n"),
              HasSubstr("line 3: two commands are named a"));
  EXPECT_THAT(error("commands:\n  - {name: a, command: [x], restart: always}\n"),
              HasSubstr("\"always\" is not permanent, transient or temporary"));
  EXPECT_THAT(error("commands:\n  - {name: a, command: [x], grace: 2s}\n"),
              HasSubstr("a grace of 2s is more than the lease leaves (1s)"));
  EXPECT_THAT(error("commands:\n  - {name: a, command: [x], timeout: 2s}\n"),
              HasSubstr("a: only a setup has a timeout"));
  EXPECT_THAT(error("commands:\n  - {name: a, command: [x], setup: true, timeout: 0s}\n"),
              HasSubstr("a: the timeout must be above zero"));
  EXPECT_THAT(error("commands:\n  - {name: a, command: [x], environment: [A]}\n"),
              HasSubstr("environment as NAME: VALUE"));
  EXPECT_THAT(error("commands: [\n"), HasSubstr("this is not YAML"));
  // R66: no limit at all, and a word that was cut.
  EXPECT_THAT(error("within: 0s\ncommands:\n  - {name: a, command: [x]}\n"),
              HasSubstr("line 1: the time must be above zero"));
  for (const char* nul :
       {"command: [x, \"a\\0b\"]", "command: [x], environment: {A: \"a\\0b\"}",
        "command: [x], environment: {\"A\\0\": b}", "command: [x], directory: \"a\\0b\""}) {
    EXPECT_THAT(error("commands:\n  - {name: a, " + std::string(nul) + "}\n"),
                HasSubstr("line 2: a program cannot be given a NUL character"))
        << nul;
  }
}

TEST(CommandsFileTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(read_commands("/no/such/file", 1s).error().message, HasSubstr("/no/such/file"));
  EXPECT_THAT(read_commands("/", 1s).error().message, HasSubstr("cannot read the file /"));
  const auto empty = read_commands("/dev/null", 1s);
  EXPECT_TRUE(empty.is(Errc::kInvalid));
  EXPECT_THAT(empty.error().message, HasSubstr("/dev/null, the file has no commands"));
}

}  // namespace commands_file_test
}  // namespace muster::cli
