#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/caller.h"
#include "store/muster/requests.h"
#include "store/store.h"

namespace muster::sim {

/// musterd's store as `muster://` serves it, through a simulated network: the requests and the
/// reading of answers are the real ones, the connection is the client library's. Cannot watch.
class ClusterStore final : public ObjectStore {
 public:
  /// `caller` outlives this.
  explicit ClusterStore(client::Caller& caller) : caller_(caller), requests_("") {}

  [[nodiscard]] Capabilities capabilities() const override {
    return {
        .watch = false, .guarded_put = true, .conditional_remove = true, .multi_key_order = true};
  }
  [[nodiscard]] std::string describe() const override { return "simulated musterd"; }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;

 private:
  /// Sends a request, if it could be made one, and reads its answer.
  template <typename Response, typename Request, typename T, typename Read>
  void send(const char* method, const Result<Request>& request, bool writes, Deadline by,
            Callback<T> done, Read read);

  client::Caller& caller_;
  musterd::Requests requests_;
  Lifetime lifetime_;
};

}  // namespace muster::sim
