#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// The leader's view of the live workers: a worker is live while its file keeps changing, by
/// this machine's clock. Times in the files, and the store's clock, do not count. Pure. Threads:
/// one.
class WorkerTracker {
 public:
  explicit WorkerTracker(Duration timeout) : timeout_(timeout) {}

  struct Sighting {
    WorkerId id;
    Revision revision;
  };
  struct Changes {
    std::vector<WorkerId> appeared;
    std::vector<WorkerId> timed_out;  ///< The file still exists, and fell silent while observed.
    std::vector<WorkerId> left;       ///< The file is gone, or says that its worker stopped.
    [[nodiscard]] bool any() const {
      return !appeared.empty() || !timed_out.empty() || !left.empty();
    }
  };

  /// A complete list of the worker files. A file seen for the first time gets the full timeout.
  Changes observe(const std::vector<Sighting>& files, MonoTime now);
  /// The file at this revision was read and says that its worker has stopped.
  Changes stopped(const WorkerId& id, const Revision& revision);

  /// Sorted by bytes.
  [[nodiscard]] std::vector<WorkerId> live() const;

  struct Silent {
    WorkerId id;
    Revision revision;
    Duration silence;
  };
  /// The files of workers that are not live, with the time since their last change.
  [[nodiscard]] std::vector<Silent> silent(MonoTime now) const;
  /// Observation pauses, as when another worker leads. Workers that fall silent meanwhile are found
  /// later and not counted, because that leader has counted them. `live` is that leader's last
  /// list, if any: files not seen before, other than of these workers, count only once they change.
  void look_away(std::optional<std::vector<WorkerId>> live);

 private:
  struct Entry {
    Revision revision;
    MonoTime changed_at;
    bool live;
  };
  Duration timeout_;
  std::map<WorkerId, Entry> workers_;
  bool looked_away_ = false;
  std::optional<std::vector<WorkerId>> named_;
};

}  // namespace muster
