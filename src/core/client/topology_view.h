#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/client/node.h"
#include "core/routing/chunked_vector.h"
#include "core/routing/ring_table.h"

namespace muster::client {

/// The owners of a key, the primary first. Valid as long as their view.
class Owners {
 public:
  /// The maximum replication factor of servers. A larger one is cut, and the answer is degraded.
  static constexpr std::size_t kMax = 64;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// A SUSPECT node is still an owner; a reader may prefer the next one.
  [[nodiscard]] const Node& operator[](std::size_t i) const { return *nodes_[i]; }
  /// Fewer nodes than the replication factor, perhaps none.
  [[nodiscard]] bool degraded() const { return degraded_; }

 private:
  friend class TopologyView;
  Owners() {}  // The array stays uninitialized: clearing it would cost more than the lookup.
  std::size_t size_ = 0;
  bool degraded_ = true;
  const Node* nodes_[kMax];
};

/// A topology at one version, or a part of it: its nodes in the order of ids, and its rings. Nodes
/// of the three services with a type share one ring, and each service also has a ring of its own. A
/// view of one service has only the latter. A view shares unchanged
/// parts with the next version, so following a topology of any size is cheap, and every reader may
/// keep its version. Immutable once published. Threads: any number.
class TopologyView {
 public:
  TopologyView() = default;
  /// Of the nodes in the image that are of these services.
  explicit TopologyView(const TopologyImage& image, ServiceFilter services = {});

  [[nodiscard]] TopologyVersion version() const { return version_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const RingConfig& ring() const { return ring_; }
  /// Null if there is none.
  [[nodiscard]] const Node* find(std::string_view id) const;
  /// Calls f(const Node&) in the order of ids.
  template <typename F>
  void for_each(F&& f) const {
    for (const auto& block : order_) {
      for (const Seat seat : *block) f(*seats_[seat]);
    }
  }
  /// The owners of the key. No lock, no allocation.
  [[nodiscard]] Owners owners(std::string_view key) const { return owners_at(key_position(key)); }
  [[nodiscard]] Owners owners_at(std::uint64_t position) const;
  /// The owners on the ring of that service; empty as above. Of a service with a type, this passes
  /// over the others' points on their common ring: a view of that service alone is faster.
  [[nodiscard]] Owners owners(std::string_view key, std::string_view service) const;
  [[nodiscard]] const ServiceFilter& services() const { return services_; }
  /// Nodes in the ring.
  [[nodiscard]] std::size_t ring_size() const { return table_.members(); }

 private:
  friend class TopologyCache;
  using Seat = RingTable::Seat;
  using Block = std::vector<Seat>;  ///< Seats in the order of their nodes' ids.
  struct Place {
    std::size_t block = 0;
    std::size_t offset = 0;
    bool found = false;
  };

  [[nodiscard]] Place locate(std::string_view id) const;
  void put(const Node& node);
  void erase(std::string_view id);
  void set_ring(const RingConfig& ring);
  void enter_ring(Seat seat);
  void leave_ring(Seat seat);
  void build_rings();
  /// Whether the node is on the ring of owners(key), or only on that of its service.
  [[nodiscard]] bool on_main_ring(const Node& node) const;
  template <typename Find>
  [[nodiscard]] Owners owners_by(const Find& find) const;
  [[nodiscard]] std::vector<std::uint64_t> positions(const Node& node) const;
  [[nodiscard]] RingTable::Before by_id() const;

  ServiceFilter services_;
  TopologyVersion version_;
  RingConfig ring_;
  std::size_t size_ = 0;
  ChunkedVector<std::shared_ptr<const Node>> seats_;  ///< Null where a seat is free.
  std::vector<Seat> free_;
  std::vector<std::shared_ptr<const Block>> order_;  ///< None of them empty.
  RingTable table_;
  /// The rings of services whose nodes are not on the one above; none of them empty.
  std::map<std::string, std::shared_ptr<const RingTable>, std::less<>> rings_;
};

}  // namespace muster::client
