// Checks the store in sqlite_store.h:
//   check DIRECTORY
#include <muster/testing/store_conformance.h>

#include <cstdio>
#include <string>

#include "sqlite_store.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  muster::testing::StoreUnderTest store;
  store.open = [&](const std::string& scope) {
    return SqliteStore::open({.scheme = "sqlite", .path = argv[1] + ("/" + scope + ".db")});
  };
  const auto failures = muster::testing::check_store(store);
  for (const std::string& sentence : failures) std::printf("%s\n", sentence.c_str());
  std::printf("%zu checks, %zu failures\n", muster::testing::store_checks().size(),
              failures.size());
  return failures.empty() ? 0 : 1;
}
