#include "candidate/prometheus_text.h"

#include "base/metric_text.h"

namespace muster {
namespace {

template <typename Kind>
metric::Text::Counts by_label(const std::map<Kind, std::uint64_t>& counts) {
  metric::Text::Counts named;
  for (const auto& [kind, count] : counts) named.emplace_back(to_string(kind), count);
  return named;
}

}  // namespace

std::string prometheus_text(const std::string& name_space, const Candidate& candidate) {
  const telemetry::Metrics m = candidate.metrics();
  const Duration left = candidate.lease_left();
  metric::Text f("muster_candidate_", {{"namespace", name_space}});
  f.gauge("leader", "1 while this node leads", left > Duration(0) ? 1 : 0);
  f.gauge("epoch", "Epoch of the leadership as seen here",
          static_cast<double>(candidate.epoch().value()));
  f.gauge("lease_left_seconds", "How long this node may lead without another renewal",
          std::chrono::duration<double>(left).count());
  f.gauges("state", "1 for the state that the candidate is in", "state",
           {{to_string(candidate.state()), 1}});
  f.counter("became_leader_total", "Terms begun here", m.became_leader);
  f.counters("lost_leadership_total", "Terms ended here", "reason", by_label(m.lost_leadership));
  f.counters("leader_down_total", "Terms of other leaders seen to end", "cause",
             by_label(m.leader_down));
  f.counter("leader_changes_total", "Rises of the epoch seen here", m.leader_changes);
  f.counter("election_checks_total", "Reads of the leader", m.election_checks);
  f.counter("elections_started_total", "Campaigns of this node", m.elections_started);
  f.gauge("short_terms", "Short terms in a row", static_cast<double>(m.short_terms));
  f.counter("commands_total", "Commands obeyed that operators sent through the store", m.commands);
  f.counter("troubles_total", "Troubles reported", m.troubles);
  return f.text();
}

}  // namespace muster
