#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/log/manifest.h"
#include "log/context.h"

namespace muster::rlog {

/// Reads one snapshot from the store: its head, then its parts in order, some of them ahead, each
/// checked against its digest in the head. Threads: loop thread only.
class SnapshotFetch {
 public:
  using OnPart = std::function<Status(std::size_t number, std::string_view bytes)>;

  SnapshotFetch(Context& context, SnapshotRef ref, OnPart on_part)
      : context_(context), ref_(std::move(ref)), on_part_(std::move(on_part)) {
    set_ = context_.keys.snapshot(ref_.position.index, ref_.position.epoch, ref_.nonce);
  }

  /// kNotFound: one of its objects is missing; begin again at the manifest (L6). kCorrupt: an
  /// object was changed, and is named. kUnavailable: the store did not answer. Otherwise the error
  /// of `on_part`. Called once.
  void start(Callback<SnapshotHead> done);

 private:
  void read(const std::string& key, int tries, std::function<void(std::string)> then);
  void begin(std::string body);
  void ask_ahead();
  void give();
  void end(Result<SnapshotHead> result);

  Context& context_;
  SnapshotRef ref_;
  OnPart on_part_;
  std::string set_;
  SnapshotHead head_;
  std::size_t next_to_ask_ = 0;
  std::size_t next_to_give_ = 0;
  std::map<std::size_t, std::string> arrived_;
  Callback<SnapshotHead> done_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
