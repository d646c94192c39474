#include "store/file/journal.h"

#include <utility>

#include "base/text.h"
#include "platform/files.h"

namespace muster::file {

std::string Position::cursor() const {
  return std::to_string(generation) + "-" + std::to_string(sequence);
}

std::optional<Position> Position::parse(std::string_view cursor) {
  const auto dash = cursor.find('-');
  if (dash == std::string_view::npos) return {};
  const auto generation = parse_unsigned(cursor.substr(0, dash));
  const auto sequence = parse_unsigned(cursor.substr(dash + 1));
  if (!generation || !sequence) return {};
  return Position{*generation, *sequence};
}

Journal::Journal(UniqueFd file) : file_(std::move(file)), boot_id_(files::boot_id()) {}

Result<JournalState> Journal::read() const {
  const auto bytes = files::read_at(file_.get(), 0, kJournalStateBytes);
  if (!bytes) return bytes.error();
  auto state = decode_state(*bytes);
  if (state && (state->boot_id != boot_id_ || boot_id_.empty())) {
    return {Errc::kNotFound, "the journal was written before this machine was started"};
  }
  return state;
}

Status Journal::load() {
  auto state = read();
  if (!state) return state.error();
  state_ = std::move(*state);
  return Done{};
}

Status Journal::restart(std::uint64_t sequence, std::uint64_t generation) {
  state_ = {.boot_id = boot_id_, .generation = generation, .sequence = sequence, .base = sequence};
  return write_state();
}

Status Journal::begin(const Key& key, InFlight what) {
  JournalState next = state_;
  if (next.record_bytes > kJournalRecordBytesMax) {
    next.record_bytes = 0;
    next.base = next.sequence;
  }
  next.sequence += 1;
  next.in_flight = what;
  const std::string record = encode_record({next.sequence, key});
  if (Status s = files::write_at(file_.get(), kJournalRecordsAt + next.record_bytes, record); !s) {
    return s;
  }
  next.record_bytes += record.size();
  std::swap(state_, next);
  Status written = write_state();
  if (!written) std::swap(state_, next);
  return written;
}

void Journal::settle() {
  state_.in_flight = InFlight::kNothing;
  [[maybe_unused]] const Status written = write_state();
}

Result<std::optional<std::vector<JournalRecord>>> Journal::after(const Position& since) const {
  using Records = std::optional<std::vector<JournalRecord>>;
  const bool from_beginning = since.generation == 0;
  if (!from_beginning && (since.generation != state_.generation || since.sequence < state_.base ||
                          since.sequence > state_.sequence)) {
    return Records();
  }
  const auto bytes = files::read_at(file_.get(), kJournalRecordsAt, state_.record_bytes);
  if (!bytes) return bytes.error();
  auto records = decode_records(*bytes);
  if (!records || bytes->size() != state_.record_bytes) return Records();
  if (!from_beginning) {
    std::erase_if(*records, [&](const JournalRecord& r) { return r.sequence <= since.sequence; });
  }
  return Records(std::move(*records));
}

Status Journal::write_state() {
  return files::write_at(file_.get(), 0, encode_state(state_));
}

}  // namespace muster::file
