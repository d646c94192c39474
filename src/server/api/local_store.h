#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "server/api/cluster.h"
#include "store/muster/requests.h"
#include "store/store.h"

namespace muster::server {

/// The versioned store of the servers as one of them uses it itself: what clients have at
/// `muster://`, without a connection.
///
/// Guarantees: reads are linearizable, on a follower, too. A write is proposed here if this server
/// leads; otherwise the leader is asked to perform it. It supports watch, guarded put, conditional
/// remove and one order of all writes. A write that certainly was not performed is tried again
/// until its deadline, because the next leader may perform it; a write that may have been performed
/// ends at once with kAmbiguous. A server has one history of revisions as long as its process runs,
/// so history() is 0.
///
/// Not guaranteed: that a list of several pages is one snapshot; a watch from the list's cursor
/// reports the changes in between. A watch without a cursor may begin with changes by others that
/// were made shortly before it.
///
/// Threads: loop thread only.
class LocalStore final : public ObjectStore {
 public:
  /// Every key gets `prefix` and a '/' in front, unless `prefix` is empty. `cluster` outlives this.
  LocalStore(Cluster& cluster, std::string prefix);
  ~LocalStore() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override { return "the servers' own store"; }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override;

 private:
  struct Timed;
  template <typename T>
  struct Asked;
  struct Written;
  struct Watcher;
  class Handle;
  template <typename T>
  using Shared = std::shared_ptr<Asked<T>>;

  template <typename T>
  Shared<T> begin(Deadline by, bool writes, Callback<T> done);
  template <typename T>
  void end(const Shared<T>& asked, Result<T> result);
  template <typename T>
  void again(const Shared<T>& asked, const Error& why, std::function<void()> attempt);
  template <typename T>
  void refuse(Callback<T> done, Error error);

  /// Answers with `find`, run once this server has everything that was acknowledged before.
  template <typename T>
  void read(Deadline by, Callback<T> done, std::function<Result<T>()> find);
  template <typename T>
  void look(const Shared<T>& asked, const std::function<Result<T>()>& find);
  void write(const Result<v1::StorePutRequest>& request, Deadline by, Callback<Revision> done);
  template <typename T>
  void attempt(const Shared<T>& asked, const std::shared_ptr<const Written>& write);
  template <typename T>
  void settle(const Shared<T>& asked, const std::shared_ptr<const Written>& write,
              const Result<cluster::KvRevision>& outcome);

  [[nodiscard]] ListPage page(const v1::StoreListRequest& request, const std::string& from) const;
  void publish();
  void pump();
  void pump(const std::shared_ptr<Watcher>& watcher);
  void tell(const std::shared_ptr<Watcher>& watcher, const WatchEvent& event);

  Cluster& cluster_;
  Loop& loop_;
  const std::uint64_t listener_;
  musterd::Requests requests_;
  /// Of the latest write of this store. It may be ahead of this server's copy.
  cluster::KvRevision written_ = 0;
  std::vector<std::shared_ptr<Watcher>> watchers_;
  std::set<std::shared_ptr<Timed>> asked_;  ///< The calls that were not answered yet.
  bool pumping_ = false;                    ///< A pump is posted.
  Lifetime lifetime_;
};

}  // namespace muster::server
