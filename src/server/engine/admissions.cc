#include "server/engine/admissions.h"

#include <utility>

#include "base/log.h"

namespace muster::engine {
namespace {

constexpr Duration kTimeout = 5s;
constexpr Duration kLookTimeout = 1s;

}  // namespace

void Admissions::admit(Admission request, Callback<Members> done) {
  admin_.members(loop_.now() + kTimeout,
                 lifetime_.wrap([this, request = std::move(request),
                                 done = std::move(done)](Result<Members> members) {
                   if (!members) return done(members.error());
                   const auto plan = plan_admission(*members, request);
                   if (!plan) return done(plan.error());
                   check(request, *plan, std::move(*members), done);
                 }));
}

void Admissions::check(const Admission& request, AdmissionPlan plan, Members members,
                       Callback<Members> done) {
  using Step = AdmissionPlan::Step;
  if (plan.step == Step::kReady) return done(std::move(members));
  views_.look(
      {{request.name, request.peer_url}}, loop_.now() + kLookTimeout,
      lifetime_.wrap([this, request, plan, done](const std::map<std::string, PeerView>& views) {
        const PeerView& view = views.begin()->second;
        if (view.kind == PeerView::Kind::kMember) {
          return done(Error{Errc::kInvalid, "a member runs at " + request.peer_url +
                                                ", so no other server can join with that address"});
        }
        if (view.kind != PeerView::Kind::kWaiting || view.name != request.name) {
          return done(Error{Errc::kUnavailable, request.name + " does not answer at " +
                                                    request.peer_url +
                                                    "; members must be able to reach each other"});
        }
        if (plan.step == Step::kAdd) return add(request, done);
        log_warn("engine member lost its data; replacing it", {{"member", request.name}});
        admin_.remove(plan.id, loop_.now() + kTimeout,
                      lifetime_.wrap([this, request, done](const Result<Done>& removed) {
                        if (!removed && !removed.is(Errc::kNotFound)) return done(removed.error());
                        add(request, done);
                      }));
      }));
}

void Admissions::add(const Admission& request, Callback<Members> done) {
  admin_.add_learner(
      request.peer_url, loop_.now() + kTimeout,
      [request, done = std::move(done)](Result<Members> members) {
        if (members) {
          log_info("engine member added", {{"member", request.name}, {"at", request.peer_url}});
        }
        done(std::move(members));
      });
}

void Admissions::remove(const std::string& name, Callback<Done> done) {
  admin_.members(
      loop_.now() + kTimeout,
      lifetime_.wrap([this, name, done = std::move(done)](const Result<Members>& members) {
        if (!members) return done(members.error());
        const auto id = plan_removal(*members, name);
        if (!id) return done(id.error());
        admin_.remove(*id, loop_.now() + kTimeout, [name, done](const Result<Done>& removed) {
          if (removed) log_warn("engine member removed", {{"member", name}});
          done(removed);
        });
      }));
}

}  // namespace muster::engine
