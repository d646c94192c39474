#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/v1/store.pb.h"
#include "store/store.h"

namespace muster::musterd {

/// Converts calls into requests of StoreService, and its answers back. Every read is linearizable.
/// Pure.
class Requests {
 public:
  /// Every key gets `prefix` and a '/' in front, unless `prefix` is empty.
  explicit Requests(std::string prefix);

  /// Returns kInvalid if musterd would not accept the key or the body.
  [[nodiscard]] Result<v1::StoreGetRequest> get(const Key& key,
                                                const std::optional<Revision>& unless) const;
  [[nodiscard]] Result<v1::StorePutRequest> put(const Key& key, std::string body,
                                                const Precondition& when,
                                                const std::optional<Guard>& guard) const;
  [[nodiscard]] Result<v1::StoreRemoveRequest> remove(const Key& key,
                                                      const std::optional<Revision>& when) const;
  /// Returns kInvalid if `from` is not from an earlier page.
  [[nodiscard]] Result<v1::StoreListRequest> list(const std::string& prefix,
                                                  const std::string& from,
                                                  std::uint32_t page_size) const;
  /// A list request for its revision only.
  [[nodiscard]] v1::StoreListRequest revision() const;
  [[nodiscard]] v1::StoreWatchRequest watch(const std::string& prefix, std::int64_t after,
                                            const std::string& history) const;

  [[nodiscard]] static Result<Object> got(const Key& key, v1::StoreGetResponse response);
  /// The position of an answer's revision, as a cursor: never 0, which would mean "now" to a
  /// watch.
  [[nodiscard]] static std::int64_t position(std::uint64_t revision);
  /// Every page has the cursor of the first: a watch from it misses nothing of the other pages.
  [[nodiscard]] ListPage listed(const std::string& from,
                                const v1::StoreListResponse& response) const;
  /// The events after `after`, in order, each with the cursor that resumes after it.
  [[nodiscard]] std::vector<WatchEvent> events(v1::StoreWatchResponse response,
                                               std::int64_t after) const;

 private:
  [[nodiscard]] Result<std::string> full(const Key& key) const;
  [[nodiscard]] Key strip(const std::string& full_key) const;

  std::string prefix_;
};

}  // namespace muster::musterd
