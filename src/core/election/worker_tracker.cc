#include "core/election/worker_tracker.h"

#include <algorithm>
#include <set>
#include <utility>

namespace muster {

WorkerTracker::Changes WorkerTracker::observe(const std::vector<Sighting>& files, MonoTime now) {
  Changes changes;
  const bool looked_away = std::exchange(looked_away_, false);
  const auto named = std::exchange(named_, std::nullopt);
  const auto presumed_live = [&named](const WorkerId& id) {
    return !named || std::find(named->begin(), named->end(), id) != named->end();
  };
  std::set<WorkerId> present;
  for (const Sighting& file : files) {
    present.insert(file.id);
    const auto [it, fresh] =
        workers_.try_emplace(file.id, Entry{file.revision, now, presumed_live(file.id)});
    Entry& entry = it->second;
    if (fresh) {
      if (entry.live) changes.appeared.push_back(file.id);
    } else if (entry.revision != file.revision) {
      if (!entry.live) changes.appeared.push_back(file.id);
      entry = {file.revision, now, true};
    } else if (entry.live && now - entry.changed_at >= timeout_) {
      entry.live = false;
      if (!looked_away) changes.timed_out.push_back(file.id);
    }
  }
  for (auto it = workers_.begin(); it != workers_.end();) {
    if (present.contains(it->first)) {
      ++it;
      continue;
    }
    if (it->second.live) changes.left.push_back(it->first);
    it = workers_.erase(it);
  }
  return changes;
}

void WorkerTracker::look_away(std::optional<std::vector<WorkerId>> live) {
  looked_away_ = true;
  named_ = std::move(live);
}

WorkerTracker::Changes WorkerTracker::stopped(const WorkerId& id, const Revision& revision) {
  Changes changes;
  const auto it = workers_.find(id);
  if (it == workers_.end() || it->second.revision != revision || !it->second.live) return changes;
  it->second.live = false;
  changes.left.push_back(id);
  return changes;
}

std::vector<WorkerId> WorkerTracker::live() const {
  std::vector<WorkerId> ids;
  for (const auto& [id, entry] : workers_) {
    if (entry.live) ids.push_back(id);
  }
  return ids;
}

std::vector<WorkerTracker::Silent> WorkerTracker::silent(MonoTime now) const {
  std::vector<Silent> files;
  for (const auto& [id, entry] : workers_) {
    if (!entry.live) files.push_back({id, entry.revision, now - entry.changed_at});
  }
  return files;
}

}  // namespace muster
