#pragma once

#include <muster/store.h>
#include <muster/testing/store_conformance.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace muster::testing_impl {

namespace pub = muster::api_v1;

/// A broken promise, in a sentence. Ends the check.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A call that did not return. Ends all checks: others would wait for it.
struct Hung : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void expect(bool kept, const std::string& sentence) {
  if (!kept) throw Broken(sentence);
}

inline pub::WriteCondition absent() {
  return {pub::WriteCondition::Kind::kAbsent, {}};
}
inline pub::WriteCondition at(const std::string& revision) {
  return {pub::WriteCondition::Kind::kAtRevision, revision};
}

/// An open store. Each call runs on a thread that is left behind if it does not return; what it
/// throws is a broken promise. Threads: as the store.
class Handle {
 public:
  Handle(std::shared_ptr<pub::Store> store, pub::Duration within)
      : store_(std::move(store)), within_(within) {}

  pub::Result<pub::StoredObject> get(const std::string& key) const;
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when = {}) const;
  pub::Status remove(const std::string& key, const std::optional<std::string>& at = {}) const;
  pub::Result<std::vector<pub::StoredKey>> list(const std::string& prefix,
                                                const std::string& after = {},
                                                std::size_t most = 1000) const;
  [[nodiscard]] pub::StoreTraits traits() const { return store_->traits(); }

 private:
  template <typename T>
  T call(const std::string& what, std::function<T(pub::Store&, pub::Duration)> work) const;

  std::shared_ptr<pub::Store> store_;
  pub::Duration within_;
};

/// What one check works with: handles on one scope that was empty before.
class Stage {
 public:
  Stage(const pub::testing::StoreUnderTest& store, std::string scope);

  /// The first handle, and a second one on the same data.
  Handle& one() { return *handles_.at(0); }
  Handle& two() { return *handles_.at(1); }
  Handle& open();
  /// Closes every handle and opens two new ones.
  void reopen();
  [[nodiscard]] const pub::testing::StoreUnderTest& store() const { return store_; }

  /// A body never written before.
  std::string fresh_body();
  /// Creates `key` and returns its revision.
  std::string create(const std::string& key);
  /// Writes by `handle`, which must succeed; returns the revision.
  std::string written(const Handle& handle, const std::string& key, const std::string& body,
                      const pub::WriteCondition& when = {});
  /// The body of an object that must be there.
  std::string body_of(const Handle& handle, const std::string& key);
  /// The keys under `prefix`, in pages of `most`.
  std::vector<std::string> keys_under(const std::string& prefix, std::size_t most = 1000);
  /// Fails unless exactly `keys` are under `prefix`, in this order.
  void expect_keys(const std::string& prefix, const std::vector<std::string>& keys,
                   std::size_t most = 1000);

 private:
  const pub::testing::StoreUnderTest& store_;
  const std::string scope_;
  std::size_t bodies_ = 0;
  std::vector<std::unique_ptr<Handle>> handles_;
};

/// The result of a call, for a sentence: "succeeded", or the failure.
template <typename T>
std::string outcome(const pub::Result<T>& result) {
  if (result) return "succeeded";
  return std::string("returned ") + pub::to_string(result.code()) +
         (result.message().empty() ? "" : " (" + result.message() + ")");
}

/// Fails unless `result` is the failure `code`.
template <typename T>
void expect_failure(const pub::Result<T>& result, pub::Code code, const std::string& what) {
  expect(result.is(code),
         what + " " + outcome(result) + " and should have returned " + pub::to_string(code));
}

/// Runs `work(index)` on `count` threads and throws what one of them has thrown.
void on_threads(std::size_t count, const std::function<void(std::size_t)>& work);

struct Check {
  const char* name;
  void (*run)(Stage&);
};
[[nodiscard]] const std::vector<Check>& object_checks();
[[nodiscard]] const std::vector<Check>& list_checks();
[[nodiscard]] const std::vector<Check>& race_checks();

}  // namespace muster::testing_impl
