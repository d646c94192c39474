#pragma once

#include "store/muster/verdict.h"
#include "store/remote/client.h"

namespace muster::musterd {

/// Asks the servers of a musterd cluster, and the one that they name as their leader. A server
/// carries a write to the leader by itself where it can; where it cannot, it names the leader and
/// has done nothing, so the request is sent again there. Loop thread only.
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
