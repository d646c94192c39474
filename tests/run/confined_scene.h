#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "candidate/process_test_scene.h"
#include "tests/support/child_process.h"

namespace muster::testing {

using Words = std::vector<std::string>;

/// The cgroup (version 2) of this process as a path; empty without one.
inline std::string own_cgroup() {
  std::string place, name;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string device, at, type, line; mounts >> device >> at >> type;) {
    std::getline(mounts, line);
    if (type == "cgroup2" && place.empty()) place = at;
  }
  std::ifstream cgroups("/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    if (line.starts_with("0::")) name = line.substr(3);
  }
  if (place.empty() || name.empty()) return "";
  return name == "/" ? place : place + name;
}

/// Real `muster run`s as another user, with a /proc that hides, in cgroups that were delegated or
/// not. Each test has a cgroup of its own, in which nothing is left at its end.
class ConfinedScene : public ProcessScene {
 protected:
  ConfinedScene() {
    std::filesystem::create_directory(cgroup_);
    std::filesystem::permissions(dir_.path(), std::filesystem::perms::all);
    // The programs may be where only their owner goes, such as below /root.
    const std::filesystem::path built = std::filesystem::path(MUSTER_PROGRAM).parent_path();
    for (const char* name : {"muster", "muster-guardian"}) copy(built / name, name);
  }
  ~ConfinedScene() override {
    EXPECT_TRUE(groups_left().empty()) << groups_left();
    std::ofstream(cgroup_ + "/cgroup.kill") << "1";
    until([this] { return removed(cgroup_); }, 5s);
  }

  /// Removes a cgroup and those below it; false while something is in it.
  static bool removed(const std::string& path) {
    for (const auto& each : std::filesystem::directory_iterator(path)) {
      if (each.is_directory() && !removed(each.path())) return false;
    }
    return ::rmdir(path.c_str()) == 0;
  }

  /// What the next muster is started in, and as whom.
  struct Place {
    std::string prepare = ":";  ///< For sh, as root in a mount namespace of its own.
    bool as_nobody = false;
    bool in_cgroup = true;  ///< Of the test; else in that of the test program.
  };

  /// Words that become `muster run` there, with events on standard output.
  [[nodiscard]] Words muster(const Place& place, const Words& words) const {
    const std::string enter =
        place.in_cgroup ? "echo $$ > " + cgroup_ + "/cgroup.procs; " : std::string();
    const std::string user =
        place.as_nobody ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    Words all{"perl", "-e", "alarm 60; exec @ARGV", "unshare", "-m", "--propagation", "private"};
    all.insert(all.end(),
               {"sh", "-c", "set -e; " + enter + place.prepare + "; exec " + user + "\"$@\" 2>&1",
                "sh", path_ + "/muster", "run"});
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const Place& place, const std::string& script,
                                                    const std::string& lease = "4s") const {
    return std::make_unique<ChildProcess>(muster(
        place,
        {"--arbiter", store_, "--name", "job" + word_, "--id", "n1", "--json", "--takeover-delay",
         "100ms", "--lease-timeout", lease, "--", "sh", "-c", script, "sh-9" + word_}));
  }
  /// The next event of that name; null when there is none any more.
  static nlohmann::json next(ChildProcess& child, const std::string& event) {
    for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) {
      const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.value("event", "") == event) return json;
    }
    return {};
  }
  [[nodiscard]] nlohmann::json check(const Place& place) const {
    ChildProcess child(muster(place, {"--check", "--json"}));
    const std::string line = child.read_line();
    EXPECT_EQ(child.finish(), 0) << line;
    return nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  }

  /// As systemd does it for a unit with User= and Delegate=yes.
  void delegate() const {
    for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
      ASSERT_EQ(::chown((cgroup_ + file).c_str(), 65534, 65534), 0);
    }
  }
  /// Cgroups below the test's own.
  [[nodiscard]] std::string groups_left() const {
    std::string all;
    for (const auto& each : std::filesystem::recursive_directory_iterator(cgroup_)) {
      if (each.is_directory()) all += each.path().string() + " ";
    }
    return all;
  }
  /// A copy of a program, in the test's folder.
  std::string copy(const std::string& program, const std::string& name) const {
    const std::string path = dir_.path() / name;
    std::filesystem::copy_file(program, path);
    return path;
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(dir_.path() / name);
  }
  [[nodiscard]] static pid_t parent_of(pid_t pid) {
    const auto entry = look_at(pid);
    return entry ? entry->parent : 0;
  }
  /// As one line of what is living.
  [[nodiscard]] std::string who() const {
    std::ostringstream all;
    for (const pid_t pid : living()) all << pid << ' ';
    return all.str();
  }

  const TempDir dir_;
  const std::string path_ = dir_.path();
  const std::string store_ = "file://" + path_ + "/store";
  const std::string cgroup_ = own_cgroup() + "/muster-test-" + word_;
};

}  // namespace muster::testing
