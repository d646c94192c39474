#include "core/client/server_board.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::client {
namespace {

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

ServerBoard::ServerBoard(std::vector<std::string> servers, std::size_t first)
    : servers_(std::move(servers)), current_(first % std::max<std::size_t>(1, servers_.size())) {
  MUSTER_CHECK(!servers_.empty());
}

std::string ServerBoard::choose(Aim aim, const std::vector<std::string>& asked) const {
  if (aim == Aim::kLeader && leader_ && !contains(asked, *leader_)) return *leader_;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const std::string& server = servers_[(current_ + i) % servers_.size()];
    if (!contains(asked, server)) return server;
  }
  // All were asked: the one asked longest ago may have changed its answer.
  const auto oldest = std::min_element(
      servers_.begin(), servers_.end(), [&](const std::string& a, const std::string& b) {
        const auto last = [&](const std::string& s) {
          return asked.rend() - std::find(asked.rbegin(), asked.rend(), s);
        };
        return last(a) < last(b);
      });
  return aim == Aim::kLeader && leader_ && asked.back() != *leader_ ? *leader_ : *oldest;
}

void ServerBoard::answered(const std::string& server) {
  if (leader_ == server) leader_failures_ = 0;
  const auto found = std::find(servers_.begin(), servers_.end(), server);
  if (found != servers_.end()) current_ = static_cast<std::size_t>(found - servers_.begin());
}

void ServerBoard::failed(const std::string& server) {
  if (leader_ == server && ++leader_failures_ >= kFailuresMax) leader_.reset();
  if (servers_[current_] == server) current_ = (current_ + 1) % servers_.size();
}

void ServerBoard::learned_leader(const std::string& address) {
  if (address.empty() || leader_ == address) return;
  leader_ = address;
  leader_failures_ = 0;
}

}  // namespace muster::client
