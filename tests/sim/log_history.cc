#include "tests/sim/log_history.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

namespace muster::sim {

void History::applied(std::uint64_t last, const rlog::AcceptedEntry& entry) {
  const std::uint64_t index = entry.index.value();
  const std::string number = std::to_string(index);
  const auto after = entries_.upper_bound(last);
  if (index <= last || (after != entries_.end() && after->first < index)) {
    violate_("a replica at " + std::to_string(last) + " went on with entry " + number);
  }
  Applied now{entry.epoch, entry.incarnation.value(), {}};
  for (const std::string_view command : entry.commands) now.commands.emplace_back(command);
  const auto [it, first] = entries_.emplace(index, now);
  if (!first) {
    if (it->second != now) violate_("two entries were accepted for number " + number);
    return;
  }
  check_neighbours(index, now);
  for (const std::string& command : now.commands) {
    if (!where_.emplace(command, index).second) violate_(command + " was applied twice");
    if (denied_.contains(command)) violate_(command + " was said to have failed, and was applied");
  }
}

void History::check_neighbours(std::uint64_t index, const Applied& entry) {
  const auto it = entries_.find(index);
  const auto wrong = [](const Applied& before, const Applied& after) {
    return before.epoch > after.epoch ||
           (before.epoch == after.epoch && before.incarnation != after.incarnation);
  };
  const bool fell = it != entries_.begin() && wrong(std::prev(it)->second, entry);
  const bool rose = std::next(it) != entries_.end() && wrong(entry, std::next(it)->second);
  if (fell || rose) violate_("the epoch fell at entry " + std::to_string(index));
}

void History::loaded(std::uint64_t last, const std::vector<std::string>& commands) {
  std::vector<std::string> expected;
  for (const auto& [index, entry] : entries_) {
    if (index > last) break;
    expected.insert(expected.end(), entry.commands.begin(), entry.commands.end());
  }
  if (expected != commands) {
    violate_("the snapshot at " + std::to_string(last) + " is not what was applied up to there");
  }
}

void History::acknowledged(const std::string& command, const rlog::Ack& ack) {
  const auto it = entries_.find(ack.index.value());
  if (it == entries_.end() || ack.position >= it->second.commands.size() ||
      it->second.commands[ack.position] != command) {
    violate_(command + " was acknowledged where it is not");
  }
  if (!acknowledged_.insert(command).second) violate_(command + " was acknowledged twice");
  acknowledged_up_to_ = std::max(acknowledged_up_to_, ack.index.value());
}

void History::denied(const std::string& command) {
  denied_.insert(command);
  if (where_.contains(command)) violate_(command + " was applied, and is said to have failed");
}

void History::read(std::uint64_t at_least, std::uint64_t index) {
  if (index >= at_least) return;
  violate_("a linearizable read saw " + std::to_string(index) + " when " +
           std::to_string(at_least) + " had been acknowledged before");
}

void History::holds_everything(const std::string& who, const std::vector<std::string>& commands) {
  const std::set<std::string> held(commands.begin(), commands.end());
  for (const std::string& command : acknowledged_) {
    if (!held.contains(command)) return violate_(who + " lost " + command + ", acknowledged");
  }
}

Status LoggedState::apply(const rlog::AcceptedEntry& entry) {
  history_.applied(last_, entry);
  last_ = entry.index.value();
  for (const std::string_view command : entry.commands) commands_.emplace_back(command);
  return Done{};
}

class LoggedState::Image final : public rlog::SnapshotReader {
 public:
  explicit Image(std::string image) : image_(std::move(image)) {}
  std::optional<std::string> next_part() override {
    constexpr std::size_t kPartBytes = 400;
    if (at_ >= image_.size()) return {};
    std::string part = image_.substr(at_, kPartBytes);
    at_ += part.size();
    return part;
  }

 private:
  std::string image_;
  std::size_t at_ = 0;
};

class LoggedState::Loader final : public rlog::SnapshotLoader {
 public:
  explicit Loader(LoggedState& state) : state_(state) {}
  Status part(std::string_view bytes) override {
    image_ += bytes;
    return Done{};
  }
  Status finish() override {
    state_.commands_.clear();
    std::size_t from = image_.find('\n') + 1;
    state_.last_ = std::strtoull(image_.c_str(), nullptr, 10);
    for (std::size_t end; (end = image_.find('\n', from)) != std::string::npos; from = end + 1) {
      state_.commands_.push_back(image_.substr(from, end - from));
    }
    state_.history_.loaded(state_.last_, state_.commands_);
    return Done{};
  }

 private:
  LoggedState& state_;
  std::string image_;
};

std::unique_ptr<rlog::SnapshotReader> LoggedState::snapshot() {
  std::string image = std::to_string(last_) + "\n";
  for (const std::string& command : commands_) image += command + "\n";
  return std::make_unique<Image>(std::move(image));
}

std::unique_ptr<rlog::SnapshotLoader> LoggedState::load() {
  return std::make_unique<Loader>(*this);
}

}  // namespace muster::sim
