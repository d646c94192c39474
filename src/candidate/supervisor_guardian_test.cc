// What a supervisor makes of guardians that die, are frozen, slow or helpless.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "candidate/supervisor_test_scene.h"

namespace muster {
namespace supervisor_guardian_test {

using testing::SupervisorTest;

// G2, G4: without its guardian a command's end is not proven, so there is no receipt.
TEST_F(SupervisorTest, AKilledGuardianFailsTheTreeWithoutAReceipt) {
  start({{"other", shell("$ENDLESS; :")}, {"victim", shell("(setsid $ENDLESS &) ; $ENDLESS; :")}});
  ASSERT_TRUE(is_ready());
  ASSERT_TRUE(until([this] { return living().size() == 7; }));
  const auto victim = look_at(pids["victim"]);
  ASSERT_TRUE(victim);
  ASSERT_EQ(::kill(victim->parent, SIGKILL), 0);
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kLost);
  EXPECT_EQ(end->child, "victim");
  EXPECT_TRUE(end->receipt.is(Errc::kAmbiguous));
  EXPECT_EQ(left_at_end, 0u);
}

// G4: the parent alone is enough, too.
TEST_F(SupervisorTest, AFrozenGuardianIsEndedAndLeavesNoReceipt) {
  start({{"a", shell("(setsid $ENDLESS &) ; $ENDLESS; :"), {.shutdown = 50ms}}});
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  ProcessTable table;
  table.look();
  for (const ProcessEntry& each : table.descendants(::getpid())) {
    if (each.parent != ::getpid()) continue;
    ASSERT_EQ(::kill(each.pid, SIGSTOP), 0);
  }
  ASSERT_TRUE(stop());
  EXPECT_TRUE(end->receipt.is(Errc::kAmbiguous));
  EXPECT_EQ(left_at_end, 0u);
}

// However short the margins are: a guardian that is ended leaves no proof.
TEST_F(SupervisorTest, ASlowGuardianIsGivenASecond) {
  options.supervision.kill_margin = 20ms;
  Duration slow{};
  bool proven = false;
  // Another time when the machine was so busy that the second was over.
  for (int tries = 0; tries < 10 && !proven && (tries == 0 || slow > 800ms); ++tries) {
    start({{"a", shell("$ENDLESS; :"), {.shutdown = Duration{0}}}});
    ASSERT_TRUE(until([this] { return living().size() == 3 && ready > 0; }));
    const auto parent = look_at(pids.at("a"))->parent;
    ASSERT_EQ(::kill(parent, SIGSTOP), 0);
    const MonoTime began = loop.now();
    supervisor->stop(began + 20s);
    EXPECT_TRUE(until([&] { return living() == std::vector{parent}; }));
    loop.run_until(loop.now() + 200ms);
    slow = loop.now() - began;
    ::kill(parent, SIGCONT);
    ASSERT_TRUE(ended());
    proven = end->receipt.ok();
    supervisor.reset();
  }
  EXPECT_TRUE(proven) << slow;
}

// G3: a guardian that calls a command unkillable is not taken at its word.
TEST_F(SupervisorTest, WhatAGuardianCallsUnkillableIsKilledFromHere) {
  options.guardian = folder + "muster-helpless-" + word_;
  std::ofstream(options.guardian)
      << "#!/usr/bin/env python3\n"
         "import os, socket, struct, sys\n"
         "parent = socket.socket(fileno=3)\n"
         "pid = os.fork()\n"
         "if pid == 0:\n"
         "    words = os.pread(4, 1 << 20, 0).decode().split('\\0')[:-1]\n"
         "    os.execvpe(sys.argv[9], sys.argv[9:], dict(w.split('=', 1) for w in words))\n"
         "def report(kind, signal=0):\n"
         "    parent.send(struct.pack('=Iiii240s', kind, pid, 0, signal, b''))\n"
      << "report(" << static_cast<int>(guardian::Report::Kind::kStarted) << ")\n"
      << "report(" << static_cast<int>(guardian::Report::Kind::kUnkillable) << ")\n"
      << "signal = os.waitpid(pid, 0)[1]\n"
      << "report(" << static_cast<int>(guardian::Report::Kind::kGone) << ", signal)\n";
  std::filesystem::permissions(options.guardian, std::filesystem::perms::owner_all);
  start({{"stuck", shell("exec $ENDLESS")}});
  ASSERT_TRUE(ended());
  EXPECT_EQ(end->cause, EndCause::kLost);
  EXPECT_TRUE(end->receipt);
  supervisor.reset();
  std::filesystem::remove(options.guardian);
}

}  // namespace supervisor_guardian_test
}  // namespace muster
