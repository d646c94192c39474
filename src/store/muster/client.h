#pragma once

#include "store/muster/verdict.h"
#include "store/remote/client.h"

namespace muster::musterd {

/// Sends requests to the servers of a musterd cluster. A server forwards a write to the leader if
/// it can. Otherwise it does nothing and names the leader, and the request is sent again to that
/// server. Threads: loop thread only.
class Client final : public remote::Client {
 public:
  using remote::Client::Client;

 protected:
  [[nodiscard]] remote::Verdict judge(const rpc::Outcome& outcome,
                                      remote::Access access) const override {
    return musterd::judge(outcome, access);
  }
};

}  // namespace muster::musterd
