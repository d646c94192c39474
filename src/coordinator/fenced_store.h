#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/strong.h"
#include "coordinator/plugin.h"
#include "elector/nonces.h"
#include "elector/sync_store.h"

namespace muster {

/// What a fenced object holds: the epoch of its last write, and its body unless it was erased or
/// only fenced so far.
struct FencedObject {
  Epoch epoch;
  std::optional<std::string> body;
};

[[nodiscard]] std::string encode(const FencedObject& object, const std::string& nonce);
/// kCorrupt when the bytes are not a fenced object.
[[nodiscard]] Result<FencedObject> decode_fenced(std::string_view bytes);

/// Objects that remember the highest epoch that wrote them and refuse every lower one, at the
/// resource, without grace and without a clock. A leader that was replaced while it slept cannot
/// write here, whatever it still believes: each write is a compare-and-swap on what was read.
///
/// A new leader that must be sure that nothing of the old one lands after its own first look calls
/// fence() before it reads. Each object is fenced by itself; there is no fence over several.
///
/// Not guaranteed: order between writers of one epoch (the last one wins), and anything against
/// programs that write the same keys without this class. Any thread.
class FencedStore {
 public:
  /// What it refuses counts among the `epochDriftEvents` of `plugin`, if there is one.
  FencedStore(SyncStore& store, Random random, CoordinatorPlugin* plugin = nullptr)
      : store_(store), nonces_(random), plugin_(plugin) {}

  /// kNotFound when there is no body; the epoch of such an object is still kept.
  [[nodiscard]] Result<FencedObject> get(const Key& key);
  /// kDenied when a higher epoch was here. kAmbiguous: it may have been written or may be yet,
  /// unless somebody else writes or fences first.
  [[nodiscard]] Status put(const Key& key, std::string body, Epoch epoch);
  /// Raises the object's epoch and leaves its body: from now on lower ones are refused.
  [[nodiscard]] Status fence(const Key& key, Epoch epoch);
  /// The body goes, the epoch stays.
  [[nodiscard]] Status erase(const Key& key, Epoch epoch);

 private:
  struct Found {
    FencedObject object;
    Precondition unchanged;  ///< Holds while the object is as it was found.
  };
  [[nodiscard]] Result<Found> find(const Key& key);
  template <typename Change>
  [[nodiscard]] Status write(const Key& key, Epoch epoch, Change change);

  SyncStore& store_;
  Nonces nonces_;
  CoordinatorPlugin* plugin_;
};

}  // namespace muster
