// The checks that programs run on stores of their own (muster/testing/store_conformance.h), run on
// ours. The public namespace is no inline one here, as where the library is compiled: internal
// names come first.
#define MUSTER_INLINE
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/store_conformance.h"

#include <muster/testing/store_conformance.h>

namespace muster {
namespace {

namespace pub = api_v1;

static_assert(static_cast<int>(Errc::kNotFound) + 1 == static_cast<int>(pub::Code::kNotFound));
static_assert(static_cast<int>(Errc::kCancelled) + 1 == static_cast<int>(pub::Code::kCancelled));

pub::Error said(const Error& error) {
  return {static_cast<pub::Code>(static_cast<int>(error.code) + 1), error.message};
}

/// One of ours, as a program would have written it.
class AsProgramsWriteIt final : public pub::Store {
 public:
  explicit AsProgramsWriteIt(TestStore& store) : store_(store) {}

  pub::Result<pub::StoredObject> get(const std::string& key, pub::Duration) override {
    const auto found = store_.get(key);
    if (!found) return said(found.error());
    if (!found->damage.empty()) return {pub::Code::kCorrupt, found->damage};
    return pub::StoredObject{found->body, found->revision.value()};
  }
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration) override {
    Precondition condition;
    if (when.kind == pub::WriteCondition::Kind::kAbsent) condition = Precondition::absent();
    if (when.kind == pub::WriteCondition::Kind::kAtRevision)
      condition = Precondition::at(Revision(when.revision));
    const auto made = store_.put(key, body, condition);
    if (!made) return said(made.error());
    return made->value();
  }
  pub::Status remove(const std::string& key, const std::optional<std::string>& revision,
                     pub::Duration) override {
    std::optional<Revision> at;
    if (revision) at = Revision(*revision);
    const auto removed = store_.remove(key, at);
    if (!removed) return said(removed.error());
    return pub::Done{};
  }
  /// Our pages have other bounds, which other cases are about.
  pub::Result<std::vector<pub::StoredKey>> list(const std::string& prefix, const std::string& after,
                                                std::size_t most, pub::Duration) override {
    const auto listed = store_.list_all(prefix);
    if (!listed) return said(listed.error());
    std::vector<pub::StoredKey> keys;
    for (const ListedObject& object : listed->objects) {
      if (keys.size() < most && (after.empty() || object.key > after))
        keys.push_back({object.key, object.revision.value()});
    }
    return keys;
  }
  pub::StoreTraits traits() const override {
    return {.threads = 1, .removes_at_revision = store_.capabilities().conditional_remove};
  }

 private:
  TestStore& store_;
};

}  // namespace

void StoreConformance::keeps_promise(const std::string& check) {
  pub::testing::StoreUnderTest store;
  store.open = [this](const std::string&) {
    return std::make_shared<AsProgramsWriteIt>(open_handle());
  };
  store.within = this->store().patience;
  store.largest_body = GetParam().largest_body;
  store.only = check;
  for (const std::string& sentence : pub::testing::check_store(store)) ADD_FAILURE() << sentence;
}

}  // namespace muster
