// OpenSSL 3 would have everybody go through EVP, which more than doubles the cost of a lookup: 120
// ns for a short key, where these functions take 54.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "core/routing/hash_ring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include <openssl/sha.h>

#include "base/check.h"

namespace muster {
namespace {

std::uint64_t hash_position(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256_CTX context;
  MUSTER_CHECK(SHA256_Init(&context) == 1);
  MUSTER_CHECK(SHA256_Update(&context, bytes.data(), bytes.size()) == 1);
  MUSTER_CHECK(SHA256_Final(digest.data(), &context) == 1);
  std::uint64_t position = 0;
  for (std::size_t i = 8; i-- > 0;) position = position << 8 | digest[i];
  return position;
}

}  // namespace

std::uint64_t key_position(std::string_view key) {
  return hash_position(key);
}

std::uint64_t virtual_node_position(const NodeId& id, std::uint32_t index) {
  std::string bytes = id.value();
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(index >> shift)));
  }
  return hash_position(bytes);
}

HashRing::HashRing(std::vector<RingMember> members, RingConfig config, PositionOf position_of)
    : members_(std::move(members)), config_(config) {
  MUSTER_CHECK(config.virtual_nodes > 0 && config.replication > 0);
  std::sort(members_.begin(), members_.end(),
            [](const RingMember& a, const RingMember& b) { return a.id < b.id; });
  MUSTER_CHECK(std::adjacent_find(members_.begin(), members_.end(),
                                  [](const RingMember& a, const RingMember& b) {
                                    return a.id == b.id;
                                  }) == members_.end());
  place_virtual_nodes(position_of);
  index_positions();
}

std::uint32_t HashRing::virtual_nodes_of(std::uint32_t weight, RingConfig config) {
  const std::uint64_t count = std::uint64_t{weight} * config.virtual_nodes;
  return static_cast<std::uint32_t>(std::min(count, kVirtualNodesMax));
}

Placement HashRing::at(std::uint64_t position) const {
  if (positions_.empty()) return {{}, true};
  const std::size_t bucket = position >> shift_;
  const auto first = positions_.begin() + starts_[bucket];
  const auto last = positions_.begin() + starts_[bucket + 1];
  const auto found = std::lower_bound(first, last, position);
  return placement(
      found == positions_.end() ? 0 : static_cast<std::size_t>(found - positions_.begin()));
}

Placement HashRing::placement(std::size_t virtual_node) const {
  return {std::span(replicas_).subspan(virtual_node * replica_count_, replica_count_),
          replica_count_ < config_.replication};
}

void HashRing::place_virtual_nodes(PositionOf position_of) {
  // Members are sorted, so comparing their indexes breaks ties by node id.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> nodes;
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    const RingMember& m = members_[member];
    const std::uint32_t count = virtual_nodes_of(m.weight, config_);
    if (count > 0) ++replica_count_;
    for (std::uint32_t index = 0; index < count; ++index) {
      nodes.emplace_back(position_of(m.id, index), member);
    }
  }
  replica_count_ = std::min<std::size_t>(replica_count_, config_.replication);
  std::sort(nodes.begin(), nodes.end());

  std::vector<std::uint32_t> owners;
  positions_.reserve(nodes.size());
  owners.reserve(nodes.size());
  for (const auto& [position, owner] : nodes) {
    positions_.push_back(position);
    owners.push_back(owner);
  }
  place_replicas(owners);
}

void HashRing::place_replicas(std::span<const std::uint32_t> owners) {
  const std::size_t n = owners.size();
  replicas_.resize(n * replica_count_);
  if (n == 0) return;
  // The replicas at the last virtual node are found by walking on from the first one.
  std::vector<std::uint32_t> here{owners[n - 1]};
  for (std::size_t i = 0; here.size() < replica_count_; ++i) {
    if (std::find(here.begin(), here.end(), owners[i]) == here.end()) here.push_back(owners[i]);
  }
  // Those at any other are its owner, then the replicas at the next one without that owner. So
  // building takes linear time however unequal the weights are.
  for (std::size_t i = n; i-- > 0;) {
    const auto again = std::find(here.begin(), here.end() - 1, owners[i]);
    std::rotate(here.begin(), again, again + 1);
    here.front() = owners[i];
    std::copy(here.begin(), here.end(),
              replicas_.begin() + static_cast<std::ptrdiff_t>(i * replica_count_));
  }
}

void HashRing::index_positions() {
  const int bits = std::max(1, static_cast<int>(std::bit_width(positions_.size())));
  shift_ = 64 - bits;
  const std::size_t buckets = std::size_t{1} << bits;
  starts_.reserve(buckets + 1);
  std::uint32_t next = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    while (next < positions_.size() && positions_[next] >> shift_ < bucket) ++next;
    starts_.push_back(next);
  }
  starts_.push_back(static_cast<std::uint32_t>(positions_.size()));
}

}  // namespace muster
