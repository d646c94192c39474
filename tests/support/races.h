#pragma once

#include <functional>
#include <string>

#include "tests/support/test_store.h"

namespace muster {

/// 16 processes append 50 words each to one list by compare-and-swap; `url(i)` is the address that
/// process i uses. Fails the test unless every word is in the list once and no predecessor was
/// used twice. `meanwhile` runs while they are at it.
void expect_no_lost_swap(
    TestStore& store, const std::function<std::string(int)>& url,
    const std::function<void()>& meanwhile = [] {});

/// In each of `rounds`, 32 handles opened by `url(i)` create one key at once. Fails the test unless
/// exactly one wins each time.
void expect_one_creator(const std::function<std::string(int)>& url, int rounds);

}  // namespace muster
