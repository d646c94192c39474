#pragma once

#include <string>

#include "base/loop.h"
#include "core/engine/members.h"
#include "server/engine/etcd_admin.h"
#include "server/engine/peer_views.h"

namespace muster::engine {

/// Lets servers into the cluster and out of it, on request. Loop thread only.
class Admissions {
 public:
  Admissions(Loop& loop, EtcdAdmin& admin, PeerViews& views)
      : loop_(loop), admin_(admin), views_(views) {}

  /// Admits a server as a learner, or again after it lost its data. It must be waiting at its
  /// address at this moment: an unreachable address would cost the cluster its quorum later, and a
  /// live member is never replaced. kInvalid: never; kThrottled, kUnavailable, kAmbiguous: ask
  /// again.
  void admit(Admission request, Callback<Members> done);
  /// kNotFound, kInvalid as plan_removal() says; kUnavailable when too few of the others run.
  void remove(const std::string& name, Callback<Done> done);

 private:
  void check(const Admission& request, AdmissionPlan plan, Members members, Callback<Members> done);
  void add(const Admission& request, Callback<Members> done);

  Loop& loop_;
  EtcdAdmin& admin_;
  PeerViews& views_;
  Lifetime lifetime_;
};

}  // namespace muster::engine
