#include "server/security/audit_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/log.h"
#include "server/security/tls_test_authority.h"

namespace muster::server {
namespace audit_log_test {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

AuditLog::Entry entry(const std::string& subject) {
  return {
      wall_from_ms(1'800'000'000'000), "node n1", "10.0.0.7", "/x.Y/Put", subject, {7, 12}, 0, ""};
}

TEST(AuditLogTest, WritesOneJsonObjectALine) {
  const TestDirectory directory;
  AuditLog log({directory.file("audit")});
  ASSERT_TRUE(log.open().ok());
  log.write(entry("a key with \"quotes\"\n and \xff bytes"));
  log.write(entry("n1"));
  std::istringstream lines(content(directory.file("audit")));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line).at("caller"), "node n1");
  ASSERT_TRUE(std::getline(lines, line));
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("subject"), "n1");
  EXPECT_EQ(json.at("epoch"), 7);
  EXPECT_EQ(json.at("version"), 12);
  EXPECT_EQ(json.at("time"), 1'800'000'000'000);
  EXPECT_FALSE(std::getline(lines, line));
  struct stat facts {};
  ASSERT_EQ(::stat(directory.file("audit").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(AuditLogTest, OldFilesAreKeptUpToTheirNumber) {
  const TestDirectory directory;
  AuditLog log({directory.file("audit"), 400, 3});
  ASSERT_TRUE(log.open().ok());
  for (int i = 0; i < 20; ++i) log.write(entry("n" + std::to_string(i)));
  EXPECT_NE(content(directory.file("audit")).find("\"n19\""), std::string::npos);
  EXPECT_LE(content(directory.file("audit")).size(), 400U);
  EXPECT_TRUE(std::filesystem::exists(directory.file("audit.1")));
  EXPECT_TRUE(std::filesystem::exists(directory.file("audit.2")));
  EXPECT_FALSE(std::filesystem::exists(directory.file("audit.3")));
  EXPECT_EQ(log.lost(), 0U);
}

unsigned mode(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0U;
}

TEST(AuditLogTest, EveryFileIsForItsOwnerOnlyWhateverWasThere) {
  const TestDirectory directory;
  const mode_t open = ::umask(0);
  directory.write("audit", "");
  ASSERT_EQ(::chmod(directory.file("audit").c_str(), 0644), 0);
  // Left behind by someone, where the next file is made.
  directory.write("audit.new", "");
  ASSERT_EQ(::chmod(directory.file("audit.new").c_str(), 0666), 0);
  AuditLog log({directory.file("audit"), 400, 3});
  ASSERT_TRUE(log.open().ok());
  EXPECT_EQ(mode(directory.file("audit")), 0600U);
  for (int i = 0; i < 20; ++i) log.write(entry("n" + std::to_string(i)));
  ::umask(open);
  for (const char* name : {"audit", "audit.1", "audit.2"}) {
    EXPECT_EQ(mode(directory.file(name)), 0600U) << name;
  }
}

TEST(AuditLogTest, NoOldFileGoesWhileNoNewOneCanBeMade) {
  set_log_sink({});
  const TestDirectory directory;
  AuditLog log({directory.file("audit"), 400, 3});
  ASSERT_TRUE(log.open().ok());
  for (int i = 0; i < 6; ++i) log.write(entry("n" + std::to_string(i)));
  const std::string older = content(directory.file("audit.1"));
  ASSERT_FALSE(older.empty());
  // A directory has the name that the new file needs.
  std::filesystem::create_directory(directory.file("audit.new"));
  for (int i = 0; i < 20; ++i) log.write(entry("more"));
  EXPECT_EQ(content(directory.file("audit.1")), older);
  EXPECT_EQ(log.lost(), 0U);
  std::filesystem::remove(directory.file("audit.new"));
  log.write(entry("last"));
  EXPECT_EQ(content(directory.file("audit.2")), older);
  EXPECT_NE(content(directory.file("audit")).find("last"), std::string::npos);
}

TEST(AuditLogTest, AVeryLongNameIsCut) {
  const TestDirectory directory;
  AuditLog log({directory.file("audit")});
  ASSERT_TRUE(log.open().ok());
  log.write(entry(std::string(1'000'000, 'k')));
  EXPECT_LT(content(directory.file("audit")).size(), 2'000U);
}

TEST(AuditLogTest, GoesOnInANewFileWhenSomebodyMovedItAway) {
  const TestDirectory directory;
  AuditLog log({directory.file("audit")});
  ASSERT_TRUE(log.open().ok());
  log.write(entry("n1"));
  std::filesystem::rename(directory.file("audit"), directory.file("moved"));
  ASSERT_TRUE(log.open().ok());
  log.write(entry("n2"));
  EXPECT_NE(content(directory.file("audit")).find("n2"), std::string::npos);
  EXPECT_EQ(content(directory.file("moved")).find("n2"), std::string::npos);
}

TEST(AuditLogTest, WhatCannotBeWrittenIsCounted) {
  set_log_sink({});
  AuditLog log({"/dev/full"});
  ASSERT_TRUE(log.open().ok());
  log.write(entry("n1"));
  log.write(entry("n2"));
  EXPECT_EQ(log.lost(), 2U);
  EXPECT_TRUE(AuditLog({"/no/such/directory/audit"}).open().is(Errc::kUnavailable));
}

}  // namespace audit_log_test
}  // namespace muster::server
