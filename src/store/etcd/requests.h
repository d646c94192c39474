#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/rpc.pb.h"
#include "store/store.h"

namespace muster::etcd {

/// Converts calls into etcd requests, and etcd's answers back. Everything is one Txn, which checks
/// and acts in one round trip; a Txn that only reads is linearizable. Pure.
class Requests {
 public:
  /// Every key gets `prefix` and a '/' in front, unless `prefix` is empty.
  explicit Requests(std::string prefix);

  [[nodiscard]] etcdserverpb::TxnRequest get(const Key& key,
                                             const std::optional<Revision>& unless) const;
  [[nodiscard]] Result<Object> got(const Key& key, etcdserverpb::TxnResponse response) const;

  /// Returns kConflict if a precondition names a revision that etcd cannot have issued.
  [[nodiscard]] Result<etcdserverpb::TxnRequest> put(const Key& key, std::string body,
                                                     const Precondition& when,
                                                     const std::optional<Guard>& guard) const;
  [[nodiscard]] Result<Revision> was_put(const Key& key,
                                         const etcdserverpb::TxnResponse& response) const;

  [[nodiscard]] etcdserverpb::TxnRequest remove(const Key& key,
                                                const std::optional<Revision>& when) const;
  [[nodiscard]] Status removed(const Key& key, const etcdserverpb::TxnResponse& response) const;

  /// All pages are read at the revision of the first one, which `from` carries. kInvalid if `from`
  /// is not from an earlier page.
  [[nodiscard]] Result<etcdserverpb::TxnRequest> list(const std::string& prefix,
                                                      const std::string& from,
                                                      std::int64_t page_size) const;
  [[nodiscard]] ListPage listed(const std::string& from,
                                const etcdserverpb::TxnResponse& response) const;

  /// A read for its header. It names a key because etcd answers a transaction without reads from
  /// the member's own knowledge, however old.
  [[nodiscard]] etcdserverpb::TxnRequest revision() const;

  /// Makes a read go through etcd's log like a write, without a change: slower, but correct even
  /// from a paused leader that does not know yet that it was replaced (etcd#20418).
  static void read_through_log(etcdserverpb::TxnRequest& txn);
  [[nodiscard]] static bool goes_through_log(const etcdserverpb::TxnRequest& txn);

  [[nodiscard]] etcdserverpb::WatchRequest watch(const std::string& prefix,
                                                 std::int64_t start_revision) const;
  /// The events of a complete answer, in order, each with the cursor that resumes after it.
  [[nodiscard]] std::vector<WatchEvent> events(
      google::protobuf::RepeatedPtrField<mvccpb::Event> raw) const;

 private:
  [[nodiscard]] std::string full(std::string_view key) const { return prefix_ + std::string(key); }
  [[nodiscard]] Key strip(const std::string& full_key) const;
  bool add_compare(etcdserverpb::TxnRequest& txn, const Key& key, const Precondition& when) const;

  std::string prefix_;
};

}  // namespace muster::etcd
