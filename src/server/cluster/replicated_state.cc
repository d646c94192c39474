#include "server/cluster/replicated_state.h"

#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/log.h"
#include "core/cluster/snapshot.h"

namespace muster::server {
namespace {

class Reader final : public rlog::SnapshotReader {
 public:
  explicit Reader(cluster::ClusterState& state) : parts_(state) {}
  std::optional<std::string> next_part() override { return parts_.next(); }

 private:
  cluster::SnapshotParts parts_;
};

constexpr char kRunMark = '#';

}  // namespace

std::string server_of(const Incarnation& incarnation) {
  return incarnation.value().substr(0, incarnation.value().rfind(kRunMark));
}

Incarnation log_incarnation(const std::string& server, const std::string& run) {
  return Incarnation(server + kRunMark + run);
}

class ReplicatedState::Loader final : public rlog::SnapshotLoader {
 public:
  explicit Loader(ReplicatedState& replica) : replica_(replica) {}
  Status part(std::string_view bytes) override { return assembler_.add(bytes); }
  Status finish() override {
    auto state = assembler_.finish();
    if (!state) return state.error();
    replica_.state_ = std::move(*state);
    replica_.passed_at_ = replica_.loop_.now();
    // In the same step: a watch must not read the new state with the old one's history.
    replica_.listener_.reloaded();
    return Done{};
  }

 private:
  ReplicatedState& replica_;
  cluster::SnapshotAssembler assembler_;
};

ReplicatedState::ReplicatedState(const rlog::Options& options, Surroundings surroundings,
                                 Listener listener)
    : loop_(surroundings.loop),
      listener_(std::move(listener)),
      passed_at_(loop_.now()),
      log_(options, {surroundings.loop, surroundings.store, surroundings.random, *this,
                     [this](const rlog::Event& event) { on(event); }}) {}

ReplicatedState::~ReplicatedState() = default;

void ReplicatedState::lead(Epoch epoch, Incarnation incarnation, Callback<Done> done) {
  log_.lead(epoch, std::move(incarnation), std::move(done));
}

void ReplicatedState::propose(const cluster::Command& command, Callback<cluster::Answer> done) {
  const auto* announce = std::get_if<cluster::AnnounceServer>(&command);
  if (announce != nullptr && state_.server(announce->id) == nullptr &&
      state_.servers().size() >= cluster::kServersMax) {
    return done({Errc::kThrottled, "the cluster knows " + std::to_string(cluster::kServersMax) +
                                       " servers already; remove those that are gone for good"});
  }
  if (listener_.may_propose) {
    if (Status s = listener_.may_propose(command); !s) return done(s.error());
  }
  log_.append(cluster::encode(command),
              [this, began = loop_.now(), done = std::move(done)](Result<rlog::Ack> ack) {
                if (listener_.settled) listener_.settled(loop_.now() - began, ack.ok());
                acknowledge(ack, done);
              });
}

void ReplicatedState::acknowledge(const Result<rlog::Ack>& ack,
                                  const Callback<cluster::Answer>& done) {
  if (ack) {
    // The log acknowledges from apply (L2): apply() has answered every command of that entry just
    // before, and an acknowledgement names a command of ours in it. No entry can change that.
    MUSTER_CHECK(ack->index == answered_ && ack->position < answers_.size());
    return done(answers_[ack->position]);
  }
  // The log's conflict is about who leads; the state's, about what was asked.
  Error error = ack.error();
  if (error.code == Errc::kConflict) {
    error = {Errc::kUnavailable, "leadership has changed; nothing was done, try again"};
  }
  done(std::move(error));
}

void ReplicatedState::barrier(Callback<Done> done) {
  log_.read_barrier([done = std::move(done)](Result<rlog::Index> index) {
    if (!index) return done(index.error());
    done(Done{});
  });
}

Status ReplicatedState::apply(const rlog::AcceptedEntry& entry) {
  answers_.clear();
  answered_ = entry.index;
  if (entry.kind == rlog::EntryKind::kBarrier) {
    state_.begin_term(server_of(entry.incarnation), entry.epoch, entry.time, entry.wall);
  }
  state_.pass_time(entry.time, entry.wall);
  passed_at_ = loop_.now();
  std::vector<membership::Event> events;
  for (std::size_t i = 0; i < entry.commands.size(); ++i) {
    auto applied = state_.apply(entry.commands[i], {entry.index.value(), i, entry.time});
    if (!applied) return applied.error();
    answers_.push_back(std::move(applied->answer));
    events.insert(events.end(), std::make_move_iterator(applied->events.begin()),
                  std::make_move_iterator(applied->events.end()));
  }
  listener_.applied(events);
  return Done{};
}

std::unique_ptr<rlog::SnapshotReader> ReplicatedState::snapshot() {
  return std::make_unique<Reader>(state_);
}

std::unique_ptr<rlog::SnapshotLoader> ReplicatedState::load() {
  return std::make_unique<Loader>(*this);
}

void ReplicatedState::on(const rlog::Event& event) {
  if (const auto* deposed = std::get_if<rlog::Deposed>(&event)) {
    log_warn("deposed", {{"epoch", std::to_string(deposed->ended.value())},
                         {"by_epoch", std::to_string(deposed->by.value())},
                         {"reason", deposed->reason}});
    listener_.deposed(deposed->ended, deposed->reason);
  } else if (const auto* stopped = std::get_if<rlog::Stopped>(&event)) {
    listener_.stopped(stopped->reason);
  } else if (const auto* compacted = std::get_if<rlog::Compacted>(&event)) {
    log_info("log compacted", {{"snapshot", std::to_string(compacted->index.value())},
                               {"floor", std::to_string(compacted->floor.value())}});
  } else if (const auto* failed = std::get_if<rlog::CompactionFailed>(&event)) {
    log_warn("the log cannot be compacted and grows", {{"error", failed->reason.message}});
  } else if (const auto* reloaded = std::get_if<rlog::Reloaded>(&event)) {
    log_info("state loaded", {{"index", std::to_string(reloaded->index.value())}});
  } else if (const auto* delayed = std::get_if<rlog::Delayed>(&event)) {
    log_warn("waiting for the engine to load the state", {{"error", delayed->reason.message}});
  } else if (const auto* sealed = std::get_if<rlog::Sealed>(&event)) {
    listener_.sealed(sealed->seal);
  }
}

}  // namespace muster::server
