#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "muster/v1/election.pb.h"
#include "server/api/cluster.h"
#include "server/api/election_session.h"
#include "server/rpc/router.h"

namespace muster::server {

/// muster.v1.ElectionService: takes part in elections for clients, and shows their leaders. Its
/// sessions end with their streams, and no term ends with this. Loop thread only.
class ElectionService {
 public:
  /// `random`: for each session its own.
  ElectionService(Cluster& cluster, std::function<Random()> random);
  ~ElectionService();

  void add_to(rpc::Router& router);
  /// Ends all streams, so that their clients go on elsewhere at once.
  void close();

  [[nodiscard]] std::size_t campaigns() const { return sessions_.size(); }
  [[nodiscard]] std::size_t leading() const;

 private:
  class Follower;
  struct Campaigning {
    std::uint64_t number = 0;
    std::unique_ptr<ElectionSession> session;
  };

  void Campaign(const rpc::CallPtr& call, const v1::CampaignRequest& opening);
  void Leader(const rpc::CallPtr& call, const v1::LeaderRequest& request);
  void Observe(const rpc::CallPtr& call, const v1::LeaderRequest& request);
  void forget(const std::string& key, std::uint64_t number);

  Cluster& cluster_;
  std::function<Random()> random_;
  std::uint64_t begun_ = 0;
  std::map<std::string, Campaigning> sessions_;  ///< By CampaignTerms::key().
  std::set<std::shared_ptr<Follower>> followers_;
  Lifetime lifetime_;
};

}  // namespace muster::server
