#include "cli/worker_table.h"

#include <algorithm>

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

}  // namespace muster::cli
