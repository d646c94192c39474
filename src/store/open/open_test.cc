#include "store/open/open.h"

#include <gmock/gmock.h>

#include "platform/event_loop.h"

namespace muster {
namespace open_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(OpenStoreTest, TheSchemeChoosesTheStore) {
  EventLoop loop;
  const auto memory = open_store("memory:", loop, {});
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ((*memory)->describe(), "memory:");
  const auto muster = open_store("muster://h1,h2:9100/app", loop, {});
  ASSERT_TRUE(muster.ok());
  EXPECT_EQ((*muster)->describe(), "muster://h1,h2:9100/app");
}

TEST(OpenStoreTest, AnUnknownSchemeIsAnsweredWithTheKnownOnes) {
  EventLoop loop;
  const auto store = open_store("ftp://host/dir", loop, {});
  ASSERT_TRUE(store.is(Errc::kInvalid));
  EXPECT_THAT(store.error().message, HasSubstr("\"ftp\""));
  EXPECT_THAT(store.error().message, HasSubstr("file, memory"));
}

TEST(OpenStoreTest, AStoreThatIsNoArbiterIsRefusedWithTheReason) {
  EventLoop loop;
  for (const char* scheme : {"redis", "rediss", "valkey", "consul", "zookeeper", "zk", "mysql",
                             "mariadb", "azblob", "azure", "gs", "gcs"}) {
    SCOPED_TRACE(scheme);
    const auto store = open_store(std::string(scheme) + "://user:secret@host/app", loop, {});
    ASSERT_TRUE(store.is(Errc::kInvalid));
    const std::string& why = store.error().message;
    EXPECT_THAT(why, StartsWith(std::string(scheme) + ":// cannot decide elections: "));
    EXPECT_THAT(why, HasSubstr("; use "));
    EXPECT_THAT(why, HasSubstr("muster"));
    EXPECT_THAT(why, Not(HasSubstr("secret")));
    EXPECT_FALSE(is_built_in(scheme)) << "a program may register a store of its own for it";
  }
  EXPECT_THAT(open_store("redis://host", loop, {}).error().message,
              HasSubstr("writes that a failover loses"));
}

TEST(OpenStoreTest, WhatAStoreCannotUseIsRefused) {
  EventLoop loop;
  EXPECT_TRUE(open_store("memory:?size=1", loop, {}).is(Errc::kInvalid));
  EXPECT_TRUE(open_store("memory://name", loop, {}).is(Errc::kInvalid));
  EXPECT_TRUE(open_store("file://host/dir", loop, {}).is(Errc::kInvalid));
  EXPECT_TRUE(open_store("no address", loop, {}).is(Errc::kInvalid));
  for (const char* url : {"muster:///app", "muster://host:0/app", "muster://host/app?lease=1s",
                          "muster://user:secret@host/app"}) {
    EXPECT_TRUE(open_store(url, loop, {}).is(Errc::kInvalid)) << url;
  }
}

TEST(OpenStoreTest, ATlsFileThatCannotBeUsedIsNamed) {
  EventLoop loop;
  StoreOptions options;
  options.tls.ca = "/nonexistent/ca.pem";
  for (const char* url : {"muster://host/app", "etcd://host/app"}) {
    const auto store = open_store(url, loop, options);
    ASSERT_TRUE(store.is(Errc::kInvalid)) << url;
    EXPECT_THAT(store.error().message, HasSubstr("/nonexistent/ca.pem"));
  }
  const auto store = open_store("etcd://host/app?cacert=/nonexistent/own.pem", loop, options);
  ASSERT_TRUE(store.is(Errc::kInvalid));
  EXPECT_THAT(store.error().message, HasSubstr("/nonexistent/own.pem"));
}

}  // namespace open_test
}  // namespace muster
