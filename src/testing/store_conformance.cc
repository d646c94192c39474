#include <exception>
#include <random>
#include <string>
#include <vector>

#include "testing/stage.h"

namespace muster::testing_impl {
namespace {

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto* some : {&object_checks(), &list_checks(), &race_checks()})
    all.insert(all.end(), some->begin(), some->end());
  return all;
}

/// Scopes must be new ones in a store that has kept those of earlier runs.
std::string new_scope() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string scope = "conformance-";
  for (int i = 0; i < 16; ++i) scope += kDigits[random() % 16];
  return scope;
}

}  // namespace
}  // namespace muster::testing_impl

MUSTER_BEGIN_NAMESPACE
namespace testing {

std::vector<std::string> store_checks() {
  std::vector<std::string> names;
  for (const testing_impl::Check& check : testing_impl::all_checks())
    names.emplace_back(check.name);
  return names;
}

std::vector<std::string> check_store(const StoreUnderTest& store) {
  std::vector<std::string> failures;
  bool found = false;
  for (const testing_impl::Check& check : testing_impl::all_checks()) {
    if (!store.only.empty() && store.only != check.name) continue;
    found = true;
    const auto failed = [&](const char* why) {
      failures.push_back(check.name + std::string(": ") + why);
    };
    try {
      testing_impl::Stage stage(store, testing_impl::new_scope());
      check.run(stage);
    } catch (const testing_impl::Hung& hung) {
      failed(hung.what());
      failures.push_back("The checks after \"" + std::string(check.name) + "\" did not run.");
      return failures;
    } catch (const std::exception& broken) {
      failed(broken.what());
    } catch (...) {
      failed("the opener has thrown");
    }
  }
  if (!found) failures.push_back("There is no check \"" + store.only + "\".");
  return failures;
}

}  // namespace testing
MUSTER_END_NAMESPACE
