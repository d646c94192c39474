#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/strong.h"
#include "coordinator/plugin.h"
#include "elector/nonces.h"
#include "elector/sync_store.h"

namespace muster {

/// The content of a fenced object: the epoch of its last write, and its body, unless it was erased
/// or has only been fenced so far.
struct FencedObject {
  Epoch epoch;
  std::optional<std::string> body;
};

[[nodiscard]] std::string encode(const FencedObject& object, const std::string& nonce);
/// Returns kCorrupt if the bytes are not a fenced object.
[[nodiscard]] Result<FencedObject> decode_fenced(std::string_view bytes);

/// Objects that remember the highest epoch that wrote them and refuse every lower one, without
/// grace and without a clock. A leader that was replaced while it slept cannot write here, whatever
/// it still believes: each write is a compare-and-swap on the version that was read.
///
/// A new leader must call fence() before it reads if no write of the old leader may land after that
/// read. Each object is fenced separately; there is no fence over several objects.
///
/// Not guaranteed: order between writers of one epoch (the last one wins), and protection against
/// programs that write the same keys without this class. Threads: any.
class FencedStore {
 public:
  /// Refusals count among the `epochDriftEvents` of `plugin`, if it is given.
  FencedStore(SyncStore& store, Random random, CoordinatorPlugin* plugin = nullptr)
      : store_(store), nonces_(random), plugin_(plugin) {}

  /// kNotFound if there is no body; the epoch of the object is still kept.
  [[nodiscard]] Result<FencedObject> get(const Key& key);
  /// kDenied if a higher epoch was here. kAmbiguous: the write may have landed, or may land later,
  /// unless another process writes or fences first.
  [[nodiscard]] Status put(const Key& key, std::string body, Epoch epoch);
  /// Raises the object's epoch and keeps its body: lower epochs are refused from now on.
  [[nodiscard]] Status fence(const Key& key, Epoch epoch);
  /// Removes the body and keeps the epoch.
  [[nodiscard]] Status erase(const Key& key, Epoch epoch);

 private:
  struct Found {
    FencedObject object;
    Precondition unchanged;  ///< Holds while the object is as it was read.
  };
  [[nodiscard]] Result<Found> find(const Key& key);
  template <typename Change>
  [[nodiscard]] Status write(const Key& key, Epoch epoch, Change change);

  SyncStore& store_;
  Nonces nonces_;
  CoordinatorPlugin* plugin_;
};

}  // namespace muster
