#include "cli/outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/roff.h"

namespace muster::cli {
namespace outline_test {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A program with one command in another.
class OutlineTest : public ::testing::Test {
 protected:
  OutlineTest() {
    CLI::App& certs = *app_.add_subcommand("certs", "Certificates");
    certs.set_help_flag();
    CLI::App& issue = *certs.add_subcommand("issue", "Make one");
    issue.set_help_flag();
    issue.add_option("-r,--role", text_, "For whom")->type_name("node|admin")->default_str("node");
    issue.add_option("--dir", text_)->type_name("DIR")->required();
    issue.add_flag("--p12", flag_, "In one file");
    issue.add_option("--secret", text_, "Not shown")->group("");
    issue.add_option("NAME", texts_, "Whose");
    issue.add_option_group("More")->add_option("--days", text_, "How long");
    certs.add_subcommand("internal", "Not shown")->group("");
  }

  CLI::App app_{"A program", "tool"};
  std::string text_;
  std::vector<std::string> texts_;
  bool flag_ = false;
};

TEST_F(OutlineTest, HoldsWhatHelpShows) {
  const CommandOutline root = outline(app_);
  ASSERT_EQ(root.commands.size(), 1u);
  ASSERT_EQ(root.commands[0].commands.size(), 1u);
  const CommandOutline& issue = root.commands[0].commands[0];
  EXPECT_EQ(issue.path("-"), "tool-certs-issue");
  EXPECT_EQ(issue.summary, "Make one");
  ASSERT_EQ(issue.options.size(), 4u);
  EXPECT_THAT(issue.options[0].names, ElementsAre("--role", "-r"));
  EXPECT_THAT(issue.options[0].choices, ElementsAre("node", "admin"));
  EXPECT_EQ(issue.options[0].initial, "node");
  EXPECT_EQ(issue.options[0].text, "For whom");
  EXPECT_TRUE(issue.options[1].takes("DIR"));
  EXPECT_TRUE(issue.options[1].required);
  EXPECT_EQ(issue.options[2].value, "");
  EXPECT_THAT(issue.options[3].names, ElementsAre("--days"));
  ASSERT_EQ(issue.arguments.size(), 1u);
  EXPECT_THAT(issue.arguments[0].names, ElementsAre("NAME"));
  EXPECT_TRUE(issue.arguments[0].repeats);
}

TEST_F(OutlineTest, ListsEachCommandBeforeItsOwn) {
  const CommandOutline root = outline(app_);
  std::vector<std::string> paths;
  for (const CommandOutline* command : flatten(root)) paths.push_back(command->path());
  EXPECT_THAT(paths, ElementsAre("tool", "tool certs", "tool certs issue"));
}

TEST_F(OutlineTest, WordsInCapitalsAreNoChoices) {
  app_.add_option("--to", text_, "Where to")->type_name("HOST|IP");
  EXPECT_THAT(outline(app_).options.back().choices, IsEmpty());
}

TEST_F(OutlineTest, AnArgumentCalledCommandTakesTheNamesOfCommands) {
  app_.add_subcommand("help", "Explain")->add_option("COMMAND", text_);
  const CommandOutline root = outline(app_);
  EXPECT_THAT(root.commands[1].arguments[0].choices, ElementsAre("certs", "help"));
}

TEST_F(OutlineTest, WhatIsHiddenAppearsNowhere) {
  const CommandOutline root = outline(app_);
  std::string all = bash_completion(root) + zsh_completion(root) + fish_completion(root);
  for (const ManualPage& page : manual_pages(root, "1", "2026-01-31")) all += page.text;
  EXPECT_THAT(all, HasSubstr("p12"));
  EXPECT_THAT(all, Not(HasSubstr("secret")));
  EXPECT_THAT(all, Not(HasSubstr("internal")));
}

TEST_F(OutlineTest, ACommandLineOfAnotherProgramIsShown) {
  CLI::App& run = *app_.add_subcommand("run", "Run it");
  show_command_line(run);
  EXPECT_THAT(run.help("tool"), HasSubstr("Usage: tool run [OPTIONS] [-- COMMAND [ARG ...]]\n"));
  EXPECT_THAT(app_.help(), Not(HasSubstr("-- COMMAND")));
  const CommandOutline root = outline(app_);
  EXPECT_TRUE(root.commands.back().command_line);
  EXPECT_FALSE(root.command_line);
  const std::string page = manual_pages(root, "1", "2026-01-31").back().text;
  EXPECT_THAT(page, HasSubstr(" [\\fB\\-\\-\\fR \\fIcommand\\fR [\\fIargument\\fR ...]]\n"));
}

TEST_F(OutlineTest, ExitCodesAreASectionOfTheirOwn) {
  CommandOutline root = outline(app_);
  root.notes = "It goes on.\n\nExit codes: 0 done,\n64 usage.\n\nExample:\n  tool x\n";
  const ManualPage page = manual_pages(root, "1", "2026-01-31", "8")[0];
  EXPECT_EQ(page.file_name(), "tool.8");
  EXPECT_THAT(page.text, HasSubstr(".TH \"TOOL\" 8 "));
  EXPECT_THAT(page.text, HasSubstr("\n.PP\nIt goes on.\n"));
  EXPECT_THAT(page.text, HasSubstr("\n.SH EXIT STATUS\n0 done, 64 usage.\n.SH EXAMPLES\n"));
}

TEST(RoffTest, PrintsWhatIsWritten) {
  EXPECT_EQ(roff::escaped("--a\\b 'c'"), "\\-\\-a\\eb \\(aqc\\(aq");
  EXPECT_EQ(roff::escaped(".x\n.y z."), "\\&.x\n\\&.y z.");
  EXPECT_EQ(roff::escaped("1 µs → …"), "1 \\[u00B5]s \\[u2192] ...");
  EXPECT_EQ(roff::filled("a  b\nc"), "a b c\n");
  EXPECT_EQ(roff::filled(std::string(40, 'a') + " " + std::string(40, 'b')),
            std::string(40, 'a') + "\n" + std::string(40, 'b') + "\n");
}

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome muster(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{out, err};
  const int code = run(words, terminal);
  return {code, out.str(), err.str()};
}

TEST(CompletionCommandTest, KnowsEveryCommandOfTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = muster({"completion", shell});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const auto& [group, command] : all_commands()) {
      const std::string name = command->name();
      EXPECT_THAT(outcome.out, AnyOf(HasSubstr("muster " + name), HasSubstr("_muster_" + name)));
    }
  }
}

TEST(CompletionCommandTest, RefusesAnUnknownShell) {
  EXPECT_EQ(muster({"completion"}).err,
            "muster completion: name the shell: muster completion bash, zsh or fish\n");
  const Outcome outcome = muster({"completion", "tcsh"});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_THAT(outcome.err, HasSubstr("\"tcsh\" is none of bash, zsh and fish"));
}

TEST(ManCommandTest, SaysWhatIsWrong) {
  EXPECT_EQ(muster({"man", "wrker"}).err,
            "muster man: there is no command wrker; did you mean worker?\n");
  EXPECT_THAT(muster({"man", "worker", "--dir", "x"}).err, HasSubstr("leave worker or --dir out"));
  const Outcome outcome = muster({"man", "--dir", "/dev/null/x"});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_THAT(outcome.err, HasSubstr("cannot make the directory /dev/null/x"));
}

}  // namespace outline_test
}  // namespace muster::cli
