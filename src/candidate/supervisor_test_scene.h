#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "candidate/process_test_scene.h"
#include "candidate/supervisor.h"

namespace muster::testing {

/// A supervisor with short times, and what was heard of its tree.
struct SupervisorTest : ProcessScene {
  SupervisorTest() {
    options.name = "billing";
    options.node = "node-a";
    options.control_groups = false;
    options.supervision.backoff_min = 5ms;
    options.supervision.stop_budget = 400ms;
    options.supervision.kill_margin = 1s;
  }
  ~SupervisorTest() override {
    supervisor.reset();
    std::filesystem::remove(file);
  }

  void start(std::vector<ChildSpec> children, Duration lease = 60s) {
    supervisor = std::make_unique<Supervisor>(loop, options, std::move(children));
    term(lease);
  }
  void term(Duration lease = 60s) {
    ready = 0;
    ending.reset();
    end.reset();
    guard = std::make_shared<LeaseGuard>(loop, Epoch(++epoch), loop.now() + lease);
    supervisor->start(
        guard, {.ready = [this] { ++ready; },
                .child_started = [this](const std::string& name, pid_t pid) { pids[name] = pid; },
                .ending = [this](const TreeEnd& each) { ending = each; },
                .ended =
                    [this](const TreeEnd& each) {
                      EXPECT_FALSE(end) << "told twice";
                      end = each;
                      left_at_end = living().size();
                    },
                .unkillable = [](const std::string&) {}});
  }
  bool is_ready() {
    return until([this] { return ready > 0; });
  }
  bool ended() {
    return until([this] { return end.has_value(); });
  }
  bool stop() {
    supervisor->stop(loop.now() + 20s);
    return ended();
  }
  /// What the script prints goes to the file.
  [[nodiscard]] ChildSpec writer(const std::string& name, const std::string& script) const {
    return {name, shell("{ " + script + "; } >> " + file)};
  }
  [[nodiscard]] std::string written() const {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  SupervisorOptions options;
  std::unique_ptr<Supervisor> supervisor;
  std::shared_ptr<LeaseGuard> guard;
  std::uint64_t epoch = 40;
  const std::string file = folder + "muster-supervisor-" + word_;
  int ready = 0;
  std::map<std::string, pid_t> pids;
  std::optional<TreeEnd> ending;
  std::optional<TreeEnd> end;
  std::size_t left_at_end = 0;
};

}  // namespace muster::testing
