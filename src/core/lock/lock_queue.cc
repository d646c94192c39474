#include "core/lock/lock_queue.h"

#include <algorithm>

namespace muster {

std::deque<LockQueue::Waiting>::iterator LockQueue::find(const std::string& session) {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [&](const Waiting& each) { return each.session == session; });
}

bool LockQueue::join(const std::string& session) {
  if (const auto found = find(session); found != waiting_.end()) {
    found->until = MonoTime::max();
    return true;
  }
  if (waiting_.size() >= options_.most) return false;
  waiting_.push_back({session, MonoTime::max()});
  return true;
}

void LockQueue::absent(const std::string& session, MonoTime now) {
  if (const auto found = find(session); found != waiting_.end()) {
    found->until = now + options_.kept;
  }
}

void LockQueue::leave(const std::string& session) {
  if (const auto found = find(session); found != waiting_.end()) waiting_.erase(found);
}

std::vector<std::string> LockQueue::expire(MonoTime now) {
  std::vector<std::string> gone;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (now < each.until) return false;
    gone.push_back(each.session);
    return true;
  });
  return gone;
}

MonoTime LockQueue::wake_at() const {
  MonoTime due = MonoTime::max();
  for (const Waiting& each : waiting_) due = std::min(due, each.until);
  return due;
}

const std::string* LockQueue::head() const {
  return waiting_.empty() ? nullptr : &waiting_.front().session;
}

std::size_t LockQueue::place(const std::string& session) const {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].session == session) return i + 1;
  }
  return 0;
}

std::vector<std::string> LockQueue::sessions() const {
  std::vector<std::string> all;
  for (const Waiting& each : waiting_) all.push_back(each.session);
  return all;
}

}  // namespace muster
