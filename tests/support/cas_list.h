#pragma once

#include <string>
#include <vector>

#include "store/store.h"
#include "tests/support/test_store.h"

namespace muster {

/// One confirmed append: the revision that was replaced, and what was there instead afterwards.
struct CasStep {
  Revision predecessor;
  std::string entry;
};

/// Appends `entry` (one word) to the list of words kept in `key` by compare-and-swap, as long as it
/// takes. The body is its own history, so that the outcome of an ambiguous write can always be
/// read back (P01): the entry is in the list or it is not.
///
/// After an ambiguous write whose entry is not in the list, the write may still land. That is safe
/// here because it can land only at the revision it named, which the next attempt replaces first or
/// leaves alone by losing.
Result<CasStep> append_by_cas(TestStore& store, const Key& key, const std::string& entry,
                              Deadline give_up);

/// The words of the list.
[[nodiscard]] std::vector<std::string> list_entries(const std::string& body);

}  // namespace muster
