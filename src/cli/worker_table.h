#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/election/records.h"

namespace muster::cli {

/// A worker's file as it was found.
struct WorkerFile {
  WorkerId id;
  std::optional<Duration> age;  ///< By the store's clock, where it has one.
  WorkerRecord record;          ///< Empty fields when the file could not be read.
};

struct WorkerRow {
  WorkerId id;
  std::string state;  ///< leads, live, joining, silent, stopped or unknown.
  std::optional<Duration> age;
  Incarnation incarnation;
  std::string pod;
};

/// How each worker stands. The leader's published list counts while there is a leader; otherwise,
/// and for workers it does not know yet, the age of a worker's file.
[[nodiscard]] std::vector<WorkerRow> judge_workers(const std::vector<WorkerFile>& files,
                                                   const std::optional<WorkerId>& leader,
                                                   const std::vector<WorkerId>& published,
                                                   Duration worker_timeout);

/// Why the leader's place would stay empty if it were handed to this worker; empty: it would not.
[[nodiscard]] std::string unfit_to_lead(const WorkerFile& file,
                                        const std::optional<WorkerId>& leader,
                                        const std::vector<WorkerId>& published,
                                        Duration worker_timeout);

}  // namespace muster::cli
