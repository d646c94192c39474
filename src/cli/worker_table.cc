#include "cli/worker_table.h"

#include <algorithm>

#include "base/text.h"

namespace muster::cli {

std::vector<WorkerRow> judge_workers(const std::vector<WorkerFile>& files,
                                     const std::optional<WorkerId>& leader,
                                     const std::vector<WorkerId>& published,
                                     Duration worker_timeout) {
  const auto state_of = [&](const WorkerFile& file) -> std::string {
    if (leader == file.id) return "leads";
    if (file.record.stopped) return "stopped";
    const bool listed = std::find(published.begin(), published.end(), file.id) != published.end();
    if (leader && listed) return "live";
    if (!file.age) return "unknown";
    if (*file.age > worker_timeout) return "silent";
    return leader && !published.empty() ? "joining" : "live";
  };
  std::vector<WorkerRow> rows;
  for (const WorkerFile& file : files) {
    rows.push_back({file.id, state_of(file), file.age, file.record.incarnation, file.record.pod});
  }
  return rows;
}

std::string unfit_to_lead(const WorkerFile& file, const std::optional<WorkerId>& leader,
                          const std::vector<WorkerId>& published, Duration worker_timeout) {
  const std::string& id = file.id.value();
  // Its own timeout says how rarely it may write.
  const Duration own = file.record.expires_at - file.record.last_heartbeat;
  const Duration patience = std::max(worker_timeout, own);
  const std::string state = judge_workers({file}, leader, published, patience).front().state;
  if (state == "leads") return id + " leads already";
  if (state == "stopped") return id + " has left";
  // Also when the leader still lists it, as it does for a while.
  if (file.age && *file.age > patience) {
    return id + " has been silent for " +
           format_duration(std::chrono::duration_cast<std::chrono::seconds>(*file.age));
  }
  if (state == "unknown") return id + " is not among the nodes that the leader sees";
  if (!file.record.aside.empty()) return id + " does not campaign (" + file.record.aside + ")";
  return {};
}

}  // namespace muster::cli
