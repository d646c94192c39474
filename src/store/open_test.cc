#include "store/open.h"

#include <gmock/gmock.h>

#include "platform/event_loop.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(OpenStoreTest, TheSchemeChoosesTheStore) {
  EventLoop loop;
  const auto memory = open_store("memory:", loop, {});
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ((*memory)->describe(), "memory:");
}

TEST(OpenStoreTest, AnUnknownSchemeIsAnsweredWithTheKnownOnes) {
  EventLoop loop;
  const auto store = open_store("ftp://host/dir", loop, {});
  ASSERT_TRUE(store.is(Errc::kInvalid));
  EXPECT_THAT(store.error().message, HasSubstr("\"ftp\""));
  EXPECT_THAT(store.error().message, HasSubstr("file, memory"));
}

TEST(OpenStoreTest, WhatAStoreCannotUseIsRefused) {
  EventLoop loop;
  EXPECT_TRUE(open_store("memory:?size=1", loop, {}).is(Errc::kInvalid));
  EXPECT_TRUE(open_store("memory://name", loop, {}).is(Errc::kInvalid));
  EXPECT_TRUE(open_store("file://host/dir", loop, {}).is(Errc::kInvalid));
  EXPECT_TRUE(open_store("no address", loop, {}).is(Errc::kInvalid));
}

}  // namespace
}  // namespace muster
