#include "log/sweep.h"

#include <utility>

namespace muster::rlog {
namespace {

constexpr std::size_t kAtOnce = 8;

}  // namespace

void Sweep::start(Callback<std::size_t> done) {
  done_ = std::move(done);
  list();
}

void Sweep::list() {
  context_.store.list(prefix_, from_, context_.by(), lifetime_.wrap([this](Result<ListPage> page) {
    if (!page) return std::exchange(done_, nullptr)(page.error());
    from_ = page->next;
    last_page_ = from_.empty();
    for (ListedObject& object : page->objects) {
      if (rule_(object.key)) doomed_.push_back(std::move(object.key));
    }
    remove_some();
  }));
}

void Sweep::remove_some() {
  while (removing_ < kAtOnce && !doomed_.empty()) {
    ++removing_;
    const Key key = std::move(doomed_.front());
    doomed_.pop_front();
    context_.store.remove(key, {}, context_.by(), lifetime_.wrap([this](Status removed) {
      --removing_;
      if (!removed.ok() && !removed.is(Errc::kNotFound)) ++left_;
      remove_some();
    }));
  }
  if (removing_ > 0) return;
  if (!last_page_) return list();
  std::exchange(done_, nullptr)(left_);
}

}  // namespace muster::rlog
