#pragma once

#include <muster/store.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

MUSTER_BEGIN_NAMESPACE

/// For tests of programs that bring a part of their own. In libmuster_testing.a:
/// find_package(muster COMPONENTS testing) gives muster::testing.
namespace testing {

/// The store that the checks open, and how thoroughly they look.
struct StoreUnderTest {
  /// Opens a handle on the data called `scope`: handles of one scope share it, also at the same
  /// time, and a scope that was never used is empty. Each run uses new scopes of letters, digits
  /// and dashes, and does not remove them.
  std::function<Result<std::shared_ptr<Store>>(const std::string& scope)> open;
  /// The time that each call is given. One that takes twice as long ends the checks.
  Duration within = Duration(10'000'000'000);
  /// The largest body that must be kept to the byte.
  std::size_t largest_body = 64 * 1024;
  /// The length of the longest list: more than a page of 1000.
  std::size_t many_keys = 1100;
  /// The name of the only check to run; empty: all of them.
  std::string only{};
};

/// The names of the checks, in the order in which they run.
[[nodiscard]] std::vector<std::string> store_checks();

/// Runs the checks and returns a sentence for each that failed: the name of the check, and which
/// promise of the store was broken how. Empty: the store keeps every promise that was checked.
///
/// Not guaranteed: promises that break only when a machine crashes, and races between processes.
/// The checks race threads with handles of their own; kill processes in a test of your own.
///
/// Threads: any; blocks. Each call of the store is made on a thread of its own. The thread of a
/// call that does not return is left behind.
[[nodiscard]] std::vector<std::string> check_store(const StoreUnderTest& store);

}  // namespace testing

MUSTER_END_NAMESPACE
