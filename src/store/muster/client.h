#pragma once

#include "store/remote/client.h"

namespace muster::musterd {

/// Asks the servers of a musterd cluster, and the one that they name as their leader. A server
/// carries a write to the leader by itself where it can; where it cannot, it names the leader and
/// has done nothing, so the request is sent again there. Loop thread only.
class Client final : public remote::Client {
 public:
  using remote::Client::Client;

  void prepare(grpc::ClientContext&) const override {}

 protected:
  [[nodiscard]] remote::Outcome judge(const grpc::Status& status,
                                      const grpc::ClientContext& context,
                                      remote::Stage stage) const override;
};

}  // namespace muster::musterd
