#include "plugins/ttl.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "plugins/record_json.h"

namespace muster {
namespace {

using record::Json;

constexpr const char* kTombstone = "muster.ttl";
// Leases and workers say when they expire, too, for people. They are no records of ours.
constexpr std::string_view kCoordinator = "plugin=coordinator/";

using record::parse;

/// None for what is no time, and for times so far off that arithmetic with them could overflow.
std::optional<WallTime> time_field(const Json& json, const char* name) {
  constexpr std::int64_t kMsMax = std::int64_t{1} << 53;
  if (!json.is_object()) return {};
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_integer()) return {};
  if (it->is_number_unsigned() && it->get<std::uint64_t>() > kMsMax) return {};
  const auto ms = it->get<std::int64_t>();
  return ms >= 0 ? std::optional(wall_from_ms(ms)) : std::nullopt;
}

std::chrono::milliseconds rounded_up_ms(Duration d) {
  return std::chrono::ceil<std::chrono::milliseconds>(d);
}

}  // namespace

std::optional<WallTime> expiry_field(std::string_view body) {
  return time_field(parse(body), "_expiresAt");
}

bool is_tombstone(std::string_view body) {
  const Json json = parse(body);
  return json.is_object() && json.contains("_tombstone") && json["_tombstone"] == kTombstone;
}

Ttl::Ttl(SyncStore& store, TtlOptions options, Random random)
    : store_(store), options_(std::move(options)), random_(random) {}

TtlMetrics Ttl::metrics() const {
  MutexLock lock(metrics_mutex_);
  return metrics_;
}

void Ttl::count(std::uint64_t TtlMetrics::*metric) {
  MutexLock lock(metrics_mutex_);
  ++(metrics_.*metric);
}

void Ttl::on_become_coordinator(const LeaseGuard&) {
  page_.clear();
  next_.clear();
}

void Ttl::coordinator_work(const LeaseGuard& guard) {
  // S08: the batch carries the epoch of its term, and is checked where it is carried out.
  if (guard.stopping() || !validate_epoch(guard.epoch())) return;
  for (std::size_t done = 0; done < options_.batch_max; ++done) {
    if (guard.stopping() || !fill_page(guard)) return;
    const Key key = std::move(page_.front());
    page_.pop_front();
    examine(key, guard);
    if (page_.empty() && next_.empty()) {
      count(&TtlMetrics::passes);
      return;
    }
  }
}

bool Ttl::fill_page(const LeaseGuard& guard) {
  while (page_.empty()) {
    if (guard.stopping()) return false;
    auto page = store_.list(options_.prefix, next_);
    if (!page) {
      log_warn("cannot list records that may have expired",
               {{"prefix", options_.prefix}, {"why", page.error().message}});
      return false;
    }
    for (ListedObject& object : page->objects) {
      if (!object.key.starts_with(kCoordinator)) page_.push_back(std::move(object.key));
    }
    next_ = std::move(page->next);
    if (page_.empty() && next_.empty()) {
      count(&TtlMetrics::passes);
      return false;
    }
  }
  return true;
}

void Ttl::examine(const Key& key, const LeaseGuard& guard) {
  count(&TtlMetrics::examined);
  const auto object = store_.get(key);
  if (object.is(Errc::kNotFound)) return count(&TtlMetrics::kept);
  if (!object) return settle(key, object.error(), &TtlMetrics::kept);
  // When it would have expired cannot be told.
  if (!object->damage.empty()) {
    return settle(key, Error{Errc::kCorrupt, object->damage}, &TtlMetrics::kept);
  }
  // The read took its time; what was found expired is touched only if that is still allowed.
  if (guard.stopping()) return count(&TtlMetrics::kept);
  if (is_tombstone(object->body)) return sweep(key, *object);
  const auto expiry = options_.expiry(object->body);
  if (!expiry || store_.clock().wall_now() - rounded_up_ms(options_.margin) < *expiry) {
    return count(&TtlMetrics::kept);
  }
  if (store_.capabilities().conditional_remove) {
    return settle(key, store_.remove(key, object->revision), &TtlMetrics::removed);
  }
  bury(key, object->revision, guard);
}

void Ttl::bury(const Key& key, const Revision& revision, const LeaseGuard& guard) {
  const Json tombstone = {{"_tombstone", kTombstone},
                          {"_removedAt", to_ms(store_.clock().wall_now())},
                          {"epoch", guard.epoch().value()},
                          {"nonce", random_.uuid()}};
  const auto put = store_.put(key, tombstone.dump(), Precondition::at(revision));
  settle(key, put ? Status(Done{}) : Status(put.error()), &TtlMetrics::removed);
}

void Ttl::sweep(const Key& key, const Object& tombstone) {
  if (store_.capabilities().conditional_remove) {
    return settle(key, store_.remove(key, tombstone.revision), &TtlMetrics::swept);
  }
  const auto removed_at = time_field(parse(tombstone.body), "_removedAt");
  if (!options_.sweep_after || !removed_at ||
      store_.clock().wall_now() - rounded_up_ms(*options_.sweep_after) < *removed_at) {
    return count(&TtlMetrics::kept);
  }
  // Not a read followed by a blind delete (S17): what was read can never change any more.
  settle(key, store_.remove(key), &TtlMetrics::swept);
}

void Ttl::settle(const Key& key, const Status& outcome, std::uint64_t TtlMetrics::*success) {
  if (outcome) return count(success);
  if (outcome.is(Errc::kConflict)) return count(&TtlMetrics::conflicts);
  if (outcome.is(Errc::kNotFound)) return count(&TtlMetrics::kept);
  // Whether it landed or not, the next pass finds the record as it is then.
  count(&TtlMetrics::unresolved);
  log_warn("a record that may have expired waits for the next pass",
           {{"key", key}, {"why", outcome.error().message}});
}

Result<TtlRecord> TtlRecord::create(SyncStore& store, const std::string& prefix,
                                    std::string_view fields, Duration ttl, Random random) {
  Key key = prefix + random.uuid();
  TtlRecord record(store, std::move(key), random);
  Status written = record.write(ttl, fields, Precondition::absent());
  if (!written) return written.error();
  return record;
}

Status TtlRecord::renew(Duration ttl, std::string_view fields) {
  return write(ttl, fields, Precondition::at(revision_));
}

Status TtlRecord::write(Duration ttl, std::string_view fields, Precondition when) {
  Json json = parse(fields);
  if (!json.is_object()) return {Errc::kInvalid, "the fields of a record are a JSON object"};
  std::string kept_fields(fields);  // It may be a view of fields_ itself.
  // One nonce until a write is confirmed, so that an earlier one that lands late is known again.
  if (nonce_ == Nonce{}) nonce_ = Nonce(random_.uuid());
  json["_expiresAt"] = to_ms(store_->clock().wall_now() + rounded_up_ms(ttl));
  json["nonce"] = nonce_.value();
  const std::string body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  auto put = store_->put(key_, body, when);
  if (put.is(Errc::kConflict) || put.is(Errc::kAmbiguous)) put = read_back(body, when, put.error());
  if (!put) return put.error();
  fields_ = std::move(kept_fields);
  revision_ = *put;
  nonce_ = Nonce{};
  return Done{};
}

Result<Revision> TtlRecord::read_back(const std::string& body, const Precondition& when,
                                      const Error& error) {
  const auto found = store_->get(key_);
  const bool creating = when.kind == Precondition::Kind::kAbsent;
  if (found.is(Errc::kNotFound) && creating) return error;
  if (found.is(Errc::kNotFound) || (found && is_tombstone(found->body))) {
    return {Errc::kNotFound, key_ + " had expired and was removed"};
  }
  if (!found) return {Errc::kAmbiguous, found.error().message};
  if (!found->damage.empty()) return {Errc::kAmbiguous, found->damage};
  if (found->body == body) return found->revision;
  const Json json = parse(found->body);
  const bool earlier = json.is_object() && json.value("nonce", Json()) == nonce_.value();
  if (earlier) revision_ = found->revision;
  if (earlier || found->revision == when.revision) {
    return {Errc::kAmbiguous, key_ + " is not renewed yet; try again"};
  }
  return {Errc::kConflict, key_ + " was written by another process"};
}

}  // namespace muster
