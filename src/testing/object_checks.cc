// One object at a time: what get(), put() and remove() must answer.
#include <string>
#include <vector>

#include "testing/stage.h"

namespace muster::testing_impl {
namespace {

using pub::Code;

void absent_object(Stage& stage) {
  expect_failure(stage.one().get("nothing"), Code::kNotFound,
                 "get() of an object that is not there");
}

void read_after_create(Stage& stage) {
  const std::string revision = stage.written(stage.one(), "key", "body", absent());
  for (const Handle* reader : {&stage.one(), &stage.two()}) {
    expect(stage.body_of(*reader, "key") == "body", "get() returned another body than was written");
    expect(reader->get("key")->revision == revision,
           "get() returned another revision than put() did for the same write");
  }
}

void create_twice(Stage& stage) {
  stage.written(stage.one(), "key", "first", absent());
  for (const Handle* writer : {&stage.one(), &stage.two()}) {
    expect_failure(writer->put("key", stage.fresh_body(), absent()), Code::kConflict,
                   "put() of an object that exists, on condition that it is absent,");
  }
  expect(stage.body_of(stage.one(), "key") == "first",
         "a write was refused, but it replaced the object");
}

void current_revision(Stage& stage) {
  const std::string first = stage.create("key");
  const std::string second = stage.written(stage.two(), "key", "new", at(first));
  expect(second != first, "put() returned the revision that it replaced");
  expect(stage.body_of(stage.one(), "key") == "new", "a write was accepted, but it was lost");
  expect(stage.one().get("key")->revision == second,
         "get() returned another revision than put() did for the same write");
}

void stale_revision(Stage& stage) {
  const std::string first = stage.create("key");
  stage.written(stage.one(), "key", "current", at(first));
  expect_failure(stage.two().put("key", "late", at(first)), Code::kConflict,
                 "put() at an outdated revision");
  expect(stage.body_of(stage.one(), "key") == "current",
         "a write was refused, but it replaced the object");
}

void revision_of_absent_object(Stage& stage) {
  const std::string gone = stage.create("gone");
  const auto removed = stage.one().remove("gone");
  expect(removed.ok(), "remove() " + outcome(removed) + " and should have succeeded");
  for (const char* key : {"gone", "never"}) {
    expect_failure(stage.one().put(key, stage.fresh_body(), at(gone)), Code::kConflict,
                   "put() at the revision of a removed object");
    expect_failure(stage.one().get(key), Code::kNotFound, "get() after a refused write");
  }
}

void unconditional_write(Stage& stage) {
  const std::string first = stage.written(stage.one(), "key", "one");
  const std::string second = stage.written(stage.two(), "key", "two");
  expect(first != second, "two writes got one revision");
  expect(stage.body_of(stage.one(), "key") == "two", "a write was accepted, but it was lost");
}

void revisions_never_repeat(Stage& stage) {
  std::vector<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    // Every third one is removed in between: an object made anew must not look like the old one.
    if (i % 3 == 2) expect(stage.one().remove("key").ok(), "remove() of an existing object failed");
    const std::string revision = stage.written(stage.one(), "key", stage.fresh_body());
    for (const std::string& earlier : seen) {
      expect(earlier != revision, "the revision \"" + revision +
                                      "\" was used again for another write; a revision names one "
                                      "write for ever, also after a removal");
    }
    seen.push_back(revision);
  }
}

void empty_body(Stage& stage) {
  stage.written(stage.one(), "empty", "", absent());
  expect(stage.body_of(stage.two(), "empty").empty(), "an empty body came back with content");
}

void large_body(Stage& stage) {
  std::string body(stage.store().largest_body, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>((i * 31 + i / 251));
  stage.written(stage.one(), "large", body, absent());
  expect(stage.body_of(stage.two(), "large") == body,
         "a body of " + std::to_string(body.size()) + " bytes came back changed");
}

void every_byte(Stage& stage) {
  std::string body;
  for (int round = 0; round < 3; ++round) {
    for (int byte = 0; byte < 256; ++byte) body.push_back(static_cast<char>(byte));
  }
  body += "\r\n\r\n";
  stage.written(stage.one(), "binary", body);
  expect(stage.body_of(stage.two(), "binary") == body,
         "a body with every value of a byte came back changed");
}

void removal(Stage& stage) {
  stage.create("key");
  const auto removed = stage.two().remove("key");
  expect(removed.ok(), "remove() " + outcome(removed) + " and should have succeeded");
  expect_failure(stage.one().get("key"), Code::kNotFound, "get() of a removed object");
  stage.create("key");
}

void removal_of_absent_object(Stage& stage) {
  const auto removed = stage.one().remove("nothing");
  const bool may_not_tell = removed.ok() && !stage.one().traits().removes_at_revision;
  if (!may_not_tell)
    expect_failure(removed, Code::kNotFound, "remove() of an object that is not there");
}

void removal_at_revision(Stage& stage) {
  if (!stage.one().traits().removes_at_revision) return;
  const std::string first = stage.create("key");
  const std::string second = stage.written(stage.one(), "key", stage.fresh_body(), at(first));
  expect_failure(stage.two().remove("key", first), Code::kConflict,
                 "remove() at an outdated revision");
  expect(stage.one().get("key").ok(), "a removal was refused, but it removed the object");
  const auto removed = stage.two().remove("key", second);
  expect(removed.ok(), "remove() at the current revision " + outcome(removed));
  expect_failure(stage.one().get("key"), Code::kNotFound, "get() of a removed object");
  expect_failure(stage.one().remove("key", second), Code::kNotFound,
                 "remove() at a revision of an object that is not there");
}

void kept_when_closed(Stage& stage) {
  const std::string body = stage.fresh_body();
  const std::string revision = stage.written(stage.one(), "key", body, absent());
  stage.reopen();
  expect(stage.body_of(stage.one(), "key") == body, "another body was there after reopening");
  stage.written(stage.one(), "key", stage.fresh_body(), at(revision));
}

}  // namespace

const std::vector<Check>& object_checks() {
  static const auto& checks = *new std::vector<Check>{
      {"absent object", absent_object},
      {"read after create", read_after_create},
      {"create twice", create_twice},
      {"current revision", current_revision},
      {"stale revision", stale_revision},
      {"revision of an absent object", revision_of_absent_object},
      {"unconditional write", unconditional_write},
      {"revisions never repeat", revisions_never_repeat},
      {"empty body", empty_body},
      {"large body", large_body},
      {"every byte", every_byte},
      {"removal", removal},
      {"removal of an absent object", removal_of_absent_object},
      {"removal at a revision", removal_at_revision},
      {"kept when closed", kept_when_closed},
  };
  return checks;
}

}  // namespace muster::testing_impl
