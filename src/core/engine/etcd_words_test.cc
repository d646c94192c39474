#include "core/engine/etcd_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::engine {
namespace etcd_words_test {

using ::testing::HasSubstr;

TEST(EtcdWordsTest, ReadsVersions) {
  EXPECT_EQ(parse_etcd_version("etcd Version: 3.4.23\nGit SHA: x\n"), (EtcdVersion{3, 4, 23}));
  EXPECT_EQ(parse_etcd_version("etcd Version: 3.6.0-rc.1\n"), (EtcdVersion{3, 6, 0}));
  EXPECT_LT(*parse_etcd_version("etcd Version: 3.3.25"), kOldestEtcd);
  for (const char* text : {"", "bash 5.2", "etcd Version: 3.4", "etcd Version: a.b.c",
                           "etcd Version: 99999999999999999999.1.1"}) {
    EXPECT_EQ(parse_etcd_version(text), std::nullopt) << text;
  }
}

TEST(EtcdWordsTest, ReadsLogLines) {
  const EtcdLogLine fatal = parse_etcd_log(
      R"({"level":"fatal","msg":"discovery failed","error":"bind: in use","stacktrace":"main.go"})");
  EXPECT_EQ(fatal.level, EtcdLogLine::Level::kFatal);
  EXPECT_EQ(fatal.text, "discovery failed: bind: in use");
  EXPECT_EQ(parse_etcd_log(R"({"level":"warn","msg":"slow"})").level, EtcdLogLine::Level::kWarn);
  const EtcdLogLine panic = parse_etcd_log("panic: runtime error\r");
  EXPECT_EQ(panic.level, EtcdLogLine::Level::kFatal);
  EXPECT_EQ(parse_etcd_log("goroutine 1 [running]:").level, EtcdLogLine::Level::kError);
  EXPECT_EQ(panic.text, "panic: runtime error");
  EXPECT_EQ(parse_etcd_log(R"({"level":"warn","msg":"server error","error":"removed"})").level,
            EtcdLogLine::Level::kFatal);
  EXPECT_EQ(parse_etcd_log(R"({"msg":7})").text, "");
}

TEST(EtcdWordsTest, SaysWhatToDo) {
  const auto diagnosis = [](const char* text) { return diagnose(text, "/data", "h1:9001"); };
  EXPECT_THAT(diagnosis("cannot commit: write x: no space left on device").sentence,
              HasSubstr("the disk that holds /data is full"));
  EXPECT_FALSE(diagnosis("no space left on device").permanent);
  EXPECT_THAT(diagnosis("listen tcp h1:9001: bind: address already in use").sentence,
              HasSubstr("h1:9001 is in use"));
  const Diagnosis removed = diagnosis("the member has been permanently removed from the cluster");
  EXPECT_TRUE(removed.permanent);
  EXPECT_THAT(removed.sentence, HasSubstr("--join"));
  EXPECT_TRUE(diagnosis("wal: crc mismatch").permanent);
  EXPECT_THAT(diagnosis("something new").sentence, HasSubstr("something new"));
}

}  // namespace etcd_words_test
}  // namespace muster::engine
