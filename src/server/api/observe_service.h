#pragma once

#include <string>

#include "muster/v1/observe.pb.h"
#include "server/api/cluster.h"
#include "server/rpc/router.h"

namespace muster::server {

/// muster.v1.ObserveService. Loop thread only.
class ObserveService {
 public:
  explicit ObserveService(Cluster& cluster) : cluster_(cluster) {}

  void add_to(rpc::Router& router);

 private:
  void Explain(const rpc::CallPtr& call, const v1::ExplainRequest& request);
  void SetLogLevel(const rpc::CallPtr& call, const v1::SetLogLevelRequest& request);

  Cluster& cluster_;
};

}  // namespace muster::server
