#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/rpc.pb.h"
#include "store/store.h"

namespace muster::etcd {

/// How our calls look in etcd's words, and etcd's answers in ours. Everything is one Txn: it asks
/// and acts in one round trip, and a Txn that only reads is linearizable. Pure.
class Requests {
 public:
  /// `prefix` is put before every key, with a '/' between; empty for none.
  explicit Requests(std::string prefix);

  [[nodiscard]] etcdserverpb::TxnRequest get(const Key& key,
                                             const std::optional<Revision>& unless) const;
  [[nodiscard]] Result<Object> got(const Key& key, etcdserverpb::TxnResponse response) const;

  /// kConflict when a precondition names a revision that no etcd ever had.
  [[nodiscard]] Result<etcdserverpb::TxnRequest> put(const Key& key, std::string body,
                                                     const Precondition& when,
                                                     const std::optional<Guard>& guard) const;
  [[nodiscard]] Result<Revision> was_put(const Key& key,
                                         const etcdserverpb::TxnResponse& response) const;

  [[nodiscard]] etcdserverpb::TxnRequest remove(const Key& key,
                                                const std::optional<Revision>& when) const;
  [[nodiscard]] Status removed(const Key& key, const etcdserverpb::TxnResponse& response) const;

  /// All pages are read at the first one's revision, which `from` carries. kInvalid when `from` is
  /// not of our making.
  [[nodiscard]] Result<etcdserverpb::TxnRequest> list(const std::string& prefix,
                                                      const std::string& from,
                                                      std::int64_t page_size) const;
  [[nodiscard]] ListPage listed(const std::string& from,
                                const etcdserverpb::TxnResponse& response) const;

  /// A read for the sake of its header. It names a key because etcd answers a transaction that
  /// reads nothing from whatever the member knows, however old.
  [[nodiscard]] etcdserverpb::TxnRequest revision() const;

  /// Makes a read go through etcd's log like a write, without changing anything: slower, and right
  /// even from a leader that was paused and does not know yet that it is none (etcd#20418).
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
