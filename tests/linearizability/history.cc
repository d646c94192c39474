#include "tests/linearizability/history.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace muster::history {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

/// A history that needs more configurations than this is not decided.
constexpr std::size_t kConfigurationsMax = 3'000'000;

/// The content of a key: which operation wrote it, the first of them if it was sent again.
using Content = std::int64_t;
constexpr Content kNothing = -1;
/// Of a revision that nobody was ever told of.
constexpr Content kUnheardOf = -2;

/// The operations of one key, in the order in which they were called.
class KeyHistory {
 public:
  explicit KeyHistory(std::vector<Operation> operations) : operations_(std::move(operations)) {
    std::stable_sort(operations_.begin(), operations_.end(),
                     [](const auto& a, const auto& b) { return a.called < b.called; });
  }

  std::string violation() {
    if (std::string wrong = resolve(); !wrong.empty()) return wrong;
    // What certainly did not happen has no place in the order.
    for (const Operation& op : operations_) {
      done_.push_back(op.outcome == Outcome::kRefused);
      if (op.outcome != Outcome::kRefused && op.outcome != Outcome::kOpen) ++left_;
    }
    if (explore(kNothing)) return {};
    const std::string key = operations_.front().key;
    if (seen_.size() >= kConfigurationsMax)
      return "the history of " + key + " is too wide to judge";
    return "the history of " + key + " is not linearizable; no order explains " +
           describe(operations_[farthest_]);
  }

 private:
  /// Values and revisions become the operations that wrote them.
  std::string resolve() {
    std::map<std::string, Content> writers;
    std::map<std::string, bool> written;  // Whether it may have been, by value.
    sent_again_.resize(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& op = operations_[i];
      writes_.push_back(kNothing);
      if (op.kind != Kind::kPut) continue;
      const auto [writer, first] = writers.emplace(op.value, static_cast<Content>(i));
      writes_[i] = writer->second;
      if (!first) sent_again_[static_cast<std::size_t>(writer->second)] = true;
      written[op.value] |= op.outcome != Outcome::kRefused && op.outcome != Outcome::kConflict;
    }
    const auto is_content = [](const Operation& op) {
      return op.outcome == Outcome::kOk && op.kind != Kind::kRemove;
    };
    std::map<std::string, Content> revisions;
    for (const Operation& op : operations_) {
      if (!is_content(op)) continue;
      const auto writer = writers.find(op.value);
      if (writer == writers.end()) return describe(op) + " that nobody wrote";
      if (!written[op.value]) return describe(op) + ", whose write was refused";
      const auto [known, first] = revisions.emplace(op.revision, writer->second);
      if (!first && known->second != writer->second) {
        return describe(op) + " at a revision that another value has, too";
      }
    }
    for (const Operation& op : operations_) {
      content_.push_back(op.kind == Kind::kRead && is_content(op) ? writers[op.value] : kNothing);
      const auto expected = revisions.find(op.when.revision.value());
      expected_.push_back(expected == revisions.end() ? kUnheardOf : expected->second);
    }
    return {};
  }

  [[nodiscard]] bool holds(std::size_t i, Content now) const {
    switch (operations_[i].when.kind) {
      case Precondition::Kind::kNone:
        return true;
      case Precondition::Kind::kAbsent:
        return now == kNothing;
      case Precondition::Kind::kAtRevision:
        return now == expected_[i];
    }
    return false;
  }

  /// Whether the condition of operation `i` may have failed where the content is `now`. What was
  /// written twice has two revisions, and which of them this is nobody knows.
  [[nodiscard]] bool may_conflict(std::size_t i, Content now) const {
    if (!holds(i, now)) return true;
    return operations_[i].when.kind == Precondition::Kind::kAtRevision && now >= 0 &&
           sent_again_[static_cast<std::size_t>(now)];
  }

  /// The content after operation `i`, if its answer is possible where the content is `now`.
  [[nodiscard]] std::optional<Content> step(std::size_t i, Content now) const {
    const Operation& op = operations_[i];
    if (op.kind == Kind::kRead) {
      const bool fits = op.outcome == Outcome::kOk ? now == content_[i] : now == kNothing;
      return fits ? std::optional(now) : std::nullopt;
    }
    const bool there = op.kind == Kind::kPut || now != kNothing;
    const Content after = writes_[i];
    switch (op.outcome) {
      case Outcome::kOk:
      case Outcome::kOpen:
        return there && holds(i, now) ? std::optional(after) : std::nullopt;
      case Outcome::kConflict:
        return may_conflict(i, now) ? std::optional(now) : std::nullopt;
      case Outcome::kNotFound:
        return !there ? std::optional(now) : std::nullopt;
      case Outcome::kRefused:
        break;
    }
    return {};
  }

  /// Whether what is left can be ordered from here.
  bool explore(Content now) {
    if (left_ == 0) return true;
    if (seen_.size() >= kConfigurationsMax || !seen_.insert(configuration(now)).second)
      return false;
    Duration first_answer = Duration::max();
    for (std::size_t i = 0; i < operations_.size() && operations_[i].called <= first_answer; ++i) {
      if (!done_[i]) first_answer = std::min(first_answer, operations_[i].answered);
    }
    // What is known to have happened comes first: what is open explains only what is left.
    for (const bool open : {false, true}) {
      for (std::size_t i = 0; i < operations_.size() && operations_[i].called <= first_answer;
           ++i) {
        if (done_[i] || (operations_[i].outcome == Outcome::kOpen) != open) continue;
        const auto after = step(i, now);
        if (!after) {
          if (!open) farthest_ = std::max(farthest_, i);
          continue;
        }
        done_[i] = true;
        left_ -= open ? 0 : 1;
        if (explore(*after)) return true;
        done_[i] = false;
        left_ += open ? 0 : 1;
      }
    }
    return false;
  }

  [[nodiscard]] std::string configuration(Content now) const {
    std::string text = std::to_string(now) + ":";
    unsigned char bits = 0;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      bits = static_cast<unsigned char>(bits << 1 | (done_[i] ? 1 : 0));
      if (i % 8 == 7 || i + 1 == done_.size()) text.push_back(static_cast<char>(bits));
    }
    return text;
  }

  static std::string describe(const Operation& op) {
    const char* const names[] = {"the read", "the put", "the removal"};
    std::string text = std::string(names[static_cast<int>(op.kind)]) + " of " + op.key +
                       " called at " + std::to_string(to_ms(op.called)) + " ms";
    if (!op.value.empty()) text += " of the value " + op.value;
    if (!op.revision.empty()) text += " at " + op.revision;
    return text;
  }

  std::vector<Operation> operations_;
  std::vector<Content> writes_;    ///< What a put leaves; the same for one sent again.
  std::vector<bool> sent_again_;   ///< By content.
  std::vector<Content> content_;   ///< What a read saw.
  std::vector<Content> expected_;  ///< What a condition names.
  std::vector<bool> done_;         ///< Has its place in the order that is being tried.
  std::size_t left_ = 0;           ///< How many that are known to have happened have none yet.
  std::unordered_set<std::string> seen_;
  std::size_t farthest_ = 0;
};

}  // namespace

History::Id History::add(Operation operation, Duration now) {
  operation.called = now;
  operations_.push_back(std::move(operation));
  return operations_.size() - 1;
}

History::Id History::read(const std::string& key, Duration now) {
  return add({.kind = Kind::kRead, .key = key, .value = {}, .when = {}, .revision = {}}, now);
}

History::Id History::put(const std::string& key, std::string value, Precondition when,
                         Duration now) {
  return add({.kind = Kind::kPut,
              .key = key,
              .value = std::move(value),
              .when = std::move(when),
              .revision = {}},
             now);
}

History::Id History::remove(const std::string& key, std::optional<Revision> when, Duration now) {
  return add({.kind = Kind::kRemove,
              .key = key,
              .value = {},
              .when = when ? Precondition::at(*when) : Precondition::none(),
              .revision = {}},
             now);
}

void History::again(Id id, Duration now) {
  Operation operation = operations_[id];
  operation.outcome = Outcome::kOpen;
  operation.answered = Duration::max();
  add(std::move(operation), now);
}

void History::settle(Id id, const Error* error, Duration now) {
  Operation& op = operations_[id];
  const Errc code = error == nullptr ? Errc::kAmbiguous : error->code;
  if (error == nullptr) {
    op.outcome = Outcome::kOk;
  } else if (code == Errc::kConflict) {
    op.outcome = Outcome::kConflict;
  } else if (code == Errc::kNotFound) {
    op.outcome = Outcome::kNotFound;
  } else if (op.kind != Kind::kRead && (code == Errc::kAmbiguous || code == Errc::kCancelled)) {
    return;  // It stays open.
  } else {
    op.outcome = Outcome::kRefused;
  }
  op.answered = now;
}

void History::answered(Id id, const Result<Object>& answer, Duration now) {
  if (answer) {
    operations_[id].value = answer->body;
    operations_[id].revision = answer->revision.value();
  }
  settle(id, answer ? nullptr : &answer.error(), now);
}

void History::answered(Id id, const Result<Revision>& answer, Duration now) {
  if (answer) operations_[id].revision = answer->value();
  settle(id, answer ? nullptr : &answer.error(), now);
}

void History::answered(Id id, const Status& answer, Duration now) {
  settle(id, answer ? nullptr : &answer.error(), now);
}

std::string History::violation() const {
  std::map<std::string, std::vector<Operation>> by_key;
  for (const Operation& op : operations_) by_key[op.key].push_back(op);
  for (auto& [key, operations] : by_key) {
    if (std::string wrong = KeyHistory(std::move(operations)).violation(); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace muster::history
