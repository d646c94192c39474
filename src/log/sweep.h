#pragma once

#include <deque>
#include <functional>
#include <string>

#include "log/context.h"

namespace muster::rlog {

/// Removes the objects under a prefix that match a rule, page by page. The next sweep finds objects
/// that could not be removed by the same rule. Threads: loop thread only.
class Sweep {
 public:
  /// True for an object to be removed.
  using Rule = std::function<bool(const Key&)>;

  Sweep(Context& context, std::string prefix, Rule rule)
      : context_(context), prefix_(std::move(prefix)), rule_(std::move(rule)) {}

  /// Answers with the number of objects that could not be removed; an error if listing failed.
  void start(Callback<std::size_t> done);

 private:
  void list();
  void remove_some();

  Context& context_;
  std::string prefix_;
  Rule rule_;
  std::string from_;
  bool last_page_ = false;
  std::deque<Key> doomed_;
  std::size_t removing_ = 0;
  std::size_t left_ = 0;
  Callback<std::size_t> done_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
