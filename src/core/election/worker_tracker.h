#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// Who is in, as the leader sees it: a worker is live while its file keeps changing, by this
/// machine's clock. What the files say about time, and what the store's clock says, does not
/// count. Pure; one thread.
class WorkerTracker {
 public:
  explicit WorkerTracker(Duration timeout) : timeout_(timeout) {}

  struct Sighting {
    WorkerId id;
    Revision revision;
  };
  struct Changes {
    std::vector<WorkerId> appeared;
    std::vector<WorkerId> timed_out;  ///< The file is still there, and fell silent under our eyes.
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
  /// The files of workers that are not live, with how long they have not changed.
  [[nodiscard]] std::vector<Silent> silent(MonoTime now) const;
  /// Nobody looks for a while, as when another worker leads. Who falls silent meanwhile is found at
  /// the next look, and not counted: the leader of that time has. `live` is whom that leader named
  /// last, if it named anybody: of files not seen before, others' count only once they change.
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
