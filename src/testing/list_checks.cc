// Keys and lists: which names are possible, and what a prefix shows of them.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "testing/stage.h"

namespace muster::testing_impl {
namespace {

using pub::Code;
using Keys = std::vector<std::string>;

void characters_of_keys(Stage& stage) {
  Keys keys = {
      "plugin=coordinator/namespace=a b/state.json",
      "plus+and&ampersand",
      "percent%41and%2F",
      "caf\xc3\xa9/\xe2\x82\xac",
      "dots/a..b",
      "dots/..a",
      "dots/.hidden",
      "question?mark#hash",
      "quote'\"<>&amp;",
      "back\\slash",
      "under_score/percent%",
      "colon:semi;comma,at@dollar$bang!star*tilde~(paren)[square]{curly}|bar^caret`tick",
  };
  for (const std::string& key : keys)
    stage.written(stage.one(), key, stage.fresh_body() + " of " + key, absent());
  for (const std::string& key : keys) {
    expect(stage.body_of(stage.two(), key).ends_with(" of " + key),
           "get(\"" + key + "\") returned the body of another object");
    stage.expect_keys(key, {key});
    stage.written(stage.one(), key, stage.fresh_body(), at(stage.two().get(key)->revision));
  }
  std::sort(keys.begin(), keys.end());
  stage.expect_keys("", keys);
  for (const std::string& key : keys)
    expect(stage.one().remove(key).ok(), "remove(\"" + key + "\") of an existing object failed");
  stage.expect_keys("", {});
}

void long_keys(Stage& stage) {
  // One part of 900 bytes, and many parts; each pair differs in its last byte only.
  std::string parts;
  while (parts.size() < 850) parts += std::string(49, 'p') + "/";
  for (const std::string& stem : {std::string(899, 'k'), parts}) {
    stage.written(stage.one(), stem + "a", "a", absent());
    stage.written(stage.one(), stem + "b", "b", absent());
    expect(stage.body_of(stage.two(), stem + "a") == "a" &&
               stage.body_of(stage.two(), stem + "b") == "b",
           "two keys of 900 bytes that differ in their last byte were taken for one");
    stage.expect_keys(stem, {stem + "a", stem + "b"});
  }
}

void key_below_a_key(Stage& stage) {
  stage.written(stage.one(), "a", "leaf", absent());
  stage.written(stage.one(), "a/b", "below", absent());
  stage.written(stage.one(), "a/b/c", "further below", absent());
  expect(stage.body_of(stage.one(), "a") == "leaf",
         "the object \"a\" was changed by one of \"a/b\"");
  expect(stage.one().remove("a/b").ok(), "remove(\"a/b\") failed");
  stage.expect_keys("", {"a", "a/b/c"});
}

void keys_stay_in_their_place(Stage& stage) {
  stage.written(stage.one(), "y", "own", absent());
  for (const char* key : {"x/../y", "../y", "x/./y", "./y"}) {
    const auto written = stage.one().put(key, "other");
    expect(written.ok() || written.is(Code::kInvalid),
           std::string("put(\"") + key + "\") " + outcome(written) +
               "; it should have succeeded or returned kInvalid");
  }
  expect(stage.body_of(stage.one(), "y") == "own",
         "an object whose key has \"..\" in it replaced another object");
}

void case_of_keys(Stage& stage) {
  stage.written(stage.one(), "Key", "upper", absent());
  stage.written(stage.one(), "key", "lower", absent());
  expect(stage.body_of(stage.one(), "Key") == "upper",
         "keys that differ only in case were taken for one");
  stage.expect_keys("K", {"Key"});
}

void prefixes(Stage& stage) {
  for (const char* key : {"b", "ab", "a", "a/2", "a/10", "a/1", "a-b", "B", "a\xc3\xa9"})
    stage.create(key);
  stage.expect_keys("", {"B", "a", "a-b", "a/1", "a/10", "a/2", "ab", "a\xc3\xa9", "b"});
  stage.expect_keys("a", {"a", "a-b", "a/1", "a/10", "a/2", "ab", "a\xc3\xa9"});
  stage.expect_keys("a/", {"a/1", "a/10", "a/2"});
  stage.expect_keys("a/1", {"a/1", "a/10"});
  stage.expect_keys("ab", {"ab"});
  stage.expect_keys("c", {});
}

void list_after_write(Stage& stage) {
  for (int i = 0; i < 10; ++i) {
    const std::string revision = stage.written(stage.one(), "key", stage.fresh_body());
    const auto page = stage.two().list("key");
    expect(page.ok(), "list() " + outcome(page));
    expect(page->size() == 1, "list() did not show an object that had just been written");
    expect(page->front().revision == revision,
           "list() showed another revision than put() had returned");
    expect(stage.one().remove("key").ok(), "remove() of an existing object failed");
    stage.expect_keys("key", {});
  }
}

void pages(Stage& stage) {
  Keys keys;
  for (int i = 10; i < 50; ++i) keys.push_back("page/" + std::to_string(i));
  for (const std::string& key : keys) stage.create(key);
  stage.create("page");
  stage.create("page0");
  for (const std::size_t most : {1U, 7U, 40U, 41U, 1000U}) stage.expect_keys("page/", keys, most);
  const auto middle = stage.two().list("page/", "page/199", 2);
  expect(middle.ok() && middle->size() == 2 && middle->front().key == "page/20" &&
             middle->back().key == "page/21",
         "list(\"page/\") of two keys after \"page/199\", which does not exist, did not show "
         "\"page/20\" and \"page/21\"");
  const auto past = stage.two().list("page/", "page/49", 2);
  expect(past.ok() && past->empty(), "list(\"page/\") after its last key was not empty");
}

void many_keys(Stage& stage) {
  constexpr std::size_t kWriters = 8;
  const std::size_t count = stage.store().many_keys;
  Keys keys;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string digits = std::to_string(i);
    keys.push_back("workers/worker=" + std::string(digits.size() < 9 ? 9 - digits.size() : 0, '0') +
                   digits);
  }
  std::vector<Handle*> writers;
  for (std::size_t i = 0; i < kWriters; ++i) writers.push_back(&stage.open());
  std::atomic<std::size_t> next{0};
  on_threads(kWriters, [&](std::size_t writer) {
    for (std::size_t i = next++; i < count; i = next++) {
      const auto made = writers[writer]->put(keys[i], "worker " + keys[i], absent());
      expect(made.ok(), "put(\"" + keys[i] + "\") " + outcome(made));
    }
  });
  stage.create("workers0");
  stage.expect_keys("workers/", keys);
}

}  // namespace

const std::vector<Check>& list_checks() {
  static const auto& checks = *new std::vector<Check>{
      {"characters of keys", characters_of_keys},
      {"long keys", long_keys},
      {"key below a key", key_below_a_key},
      {"keys stay in their place", keys_stay_in_their_place},
      {"case of keys", case_of_keys},
      {"prefixes", prefixes},
      {"list after write", list_after_write},
      {"pages", pages},
      {"many keys", many_keys},
  };
  return checks;
}

}  // namespace muster::testing_impl
