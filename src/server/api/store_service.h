#pragma once

#include <string>

#include "muster/v1/store.pb.h"
#include "server/api/cluster.h"
#include "server/api/store_hub.h"
#include "server/rpc/pipeline.h"
#include "server/rpc/router.h"

namespace muster::server {

/// muster.v1.StoreService. Loop thread only.
class StoreService {
 public:
  StoreService(Cluster& cluster, StoreHub& hub) : cluster_(cluster), hub_(hub) {}

  void add_to(rpc::Router& router);

 private:
  void Get(const rpc::CallPtr& call, const v1::StoreGetRequest& request);
  void Put(const rpc::CallPtr& call, v1::StorePutRequest request);
  void PutStream(const rpc::CallPtr& call);
  void put_all(const rpc::CallPtr& call, const std::string& bytes, rpc::Pipeline::Answer answer);
  void Remove(const rpc::CallPtr& call, v1::StoreRemoveRequest request);
  void List(const rpc::CallPtr& call, const v1::StoreListRequest& request);
  void Watch(const rpc::CallPtr& call, const v1::StoreWatchRequest& request);

  Cluster& cluster_;
  StoreHub& hub_;
};

}  // namespace muster::server
