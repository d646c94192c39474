#include "log/inspect.h"

#include <utility>

#include "log/context.h"
#include "log/manifest_cell.h"

namespace muster::rlog {
namespace {

constexpr const char* kRemedyNewer =
    "let a running replica compact, or open one with the previous snapshot and compact there";
constexpr const char* kRemedyOlder =
    "it is only the spare snapshot; the next compaction replaces "
    "it";
constexpr const char* kRemedyCovered =
    "only the previous snapshot needs it; later compactions delete it";
constexpr const char* kRemedyEntry =
    "let a replica that has applied it compact, or repair it from a copy";

}  // namespace

struct Inspect::State {
  explicit State(Context where) : context(std::move(where)), cell(context) {}

  Context context;
  ManifestCell cell;
  Inspection result;
  std::vector<SnapshotRef> sets;  ///< Still to be read.
  SnapshotHead head;
  std::size_t part = 0;
  Index index;
  std::optional<Digest> chain;  ///< At `index`, when it is known.
  Callback<Inspection> done;
  Lifetime lifetime;

  /// Answers with the bytes, or with why there are none: kNotFound, kCorrupt.
  void get(const Key& key, std::function<void(Result<std::string>)> then) {
    ++result.objects;
    context.get(key, {}, lifetime.wrap([this, then = std::move(then)](Result<Object> object) {
      if (object) return then(std::move(object->body));
      if (object.is(Errc::kNotFound)) return then({Errc::kNotFound, "it is missing"});
      if (!is_passing(object.code())) return then(object.error());
      std::exchange(done, nullptr)(object.error());
    }));
  }
  void find(const Key& key, std::string problem, std::string remedy) {
    result.findings.push_back({key, std::move(problem), std::move(remedy)});
  }

  void begin() {
    result.manifest = cell.value();
    const Manifest& manifest = result.manifest;
    if (manifest.previous && manifest.previous != manifest.latest)
      sets.push_back(*manifest.previous);
    if (manifest.latest) sets.push_back(*manifest.latest);
    index = manifest.floor;
    if (index == Index()) {
      chain = beginning(manifest.origin).chain;
    } else if (manifest.previous && manifest.previous->position.index == index) {
      chain = manifest.previous->position.chain;
    }
    next_set();
  }
  [[nodiscard]] const char* set_remedy() const {
    return sets.back() == result.manifest.latest ? kRemedyNewer : kRemedyOlder;
  }
  [[nodiscard]] std::string set_name() const {
    const SnapshotRef& ref = sets.back();
    return context.keys.snapshot(ref.position.index, ref.position.epoch, ref.nonce);
  }
  void next_set() {
    if (sets.empty()) return next_entry();
    const Key key = Keys::head(set_name());
    get(key, [this, key](const Result<std::string>& body) {
      part = 0;
      head = {};
      if (!body) {
        find(key, body.error().message, set_remedy());
      } else if (sha256(*body) != sets.back().head) {
        find(key, "its bytes do not match the manifest", set_remedy());
      } else if (auto decoded = decode_snapshot_head(*body)) {
        head = std::move(*decoded);
      } else {
        find(key, decoded.error().message, set_remedy());
      }
      next_part();
    });
  }
  void next_part() {
    if (part == head.parts.size()) {
      sets.pop_back();
      return next_set();
    }
    const Key key = Keys::part(set_name(), part);
    get(key, [this, key](const Result<std::string>& body) {
      const SnapshotHead::Part& expected = head.parts[part++];
      if (!body) {
        find(key, body.error().message, set_remedy());
      } else if (body->size() != expected.bytes || sha256(*body) != expected.digest) {
        find(key, "its bytes do not match the snapshot's head", set_remedy());
      }
      next_part();
    });
  }
  void next_entry() {
    index = next(index);
    const Key key = context.keys.entry(index);
    get(key, [this, key](const Result<std::string>& body) {
      if (body.is(Errc::kNotFound)) return look_beyond(key);
      check_entry(key, body);
      result.head = index;
      next_entry();
    });
  }
  void check_entry(const Key& key, const Result<std::string>& body) {
    const auto& latest = result.manifest.latest;
    const bool covered = latest && index <= latest->position.index;
    const char* remedy = covered ? kRemedyCovered : kRemedyEntry;
    const Result<Entry> entry = body ? decode_entry(*body) : Result<Entry>(body.error());
    if (!entry) {
      chain.reset();
      return find(key, entry.error().message, remedy);
    }
    if (entry->header.index != index) find(key, "it is another entry", remedy);
    if (chain && entry->header.previous != *chain) {
      find(key, "it does not follow the entry before it", remedy);
    }
    chain = entry->chain;
  }
  // An absent number is the end, unless a later one is there.
  void look_beyond(const Key& absent) {
    get(context.keys.entry(next(index)), [this, absent](const Result<std::string>& body) {
      if (!body.is(Errc::kNotFound)) {
        find(absent, "it is missing, but the entry after it exists", kRemedyEntry);
        chain.reset();
        return next_entry();
      }
      std::exchange(done, nullptr)(std::move(result));
    });
  }
};

Inspect::Inspect(Loop& loop, Random random, Place place)
    : state_(std::make_unique<State>(context_at(loop, random, place))) {}
Inspect::~Inspect() = default;

void Inspect::start(Callback<Inspection> done) {
  State& state = *state_;
  state.done = std::move(done);
  state.cell.refresh([&state](const Status& read) {
    if (!read) return std::exchange(state.done, nullptr)(read.error());
    state.begin();
  });
}

struct RepairEntry::State {
  State(Context where, Index number, std::string bytes)
      : context(std::move(where)), cell(context), index(number), copy(std::move(bytes)) {}

  Context context;
  ManifestCell cell;
  Index index;
  std::string copy;
  Callback<Done> done;
  Lifetime lifetime;

  void begin() {
    const Result<Entry> entry = decode_entry(copy);
    if (!entry || entry->header.index != index) {
      return done({Errc::kInvalid, "the copy is not entry " + std::to_string(index.value())});
    }
    if (index <= cell.value().floor) return done({Errc::kInvalid, "the entry is compacted"});
    for (const auto& ref : {cell.value().latest, cell.value().previous}) {
      if (!ref || ref->position.index != index) continue;
      if (ref->position.chain != entry->chain) return done(unproven("a snapshot"));
      return look();
    }
    context.get(context.keys.entry(next(index)), {},
                lifetime.wrap([this, chain = entry->chain](const Result<Object>& after) {
                  if (!after && !after.is(Errc::kNotFound) && !after.is(Errc::kCorrupt)) {
                    return done(after.error());
                  }
                  const auto follower =
                      after ? decode_entry(after->body) : Result<Entry>(after.error());
                  if (!follower) return done(unproven("no entry after it"));
                  if (follower->header.previous != chain) {
                    return done(unproven("the entry after it"));
                  }
                  look();
                }));
  }
  [[nodiscard]] static Error unproven(const std::string& by) {
    return {Errc::kInvalid, "the copy is not proven to be the entry that was accepted: " + by +
                                " does not confirm it"};
  }
  void look() {
    context.store.get(context.keys.entry(index), {}, context.by(),
                      lifetime.wrap([this](const Result<Object>& now) {
                        // No revision to name, and none is needed: the copy is proven.
                        if (now.is(Errc::kCorrupt)) return write(Precondition::none());
                        if (!now && !now.is(Errc::kNotFound)) return done(now.error());
                        if (now && now->body == copy) {
                          return done({Errc::kUnchanged, "the entry is intact"});
                        }
                        write(now ? Precondition::at(now->revision) : Precondition::absent());
                      }));
  }
  void write(const Precondition& when) {
    context.store.put(context.keys.entry(index), copy, when, context.by(),
                      lifetime.wrap([this](const Result<Revision>& written) {
                        if (!written) return done(written.error());
                        done(Done{});
                      }));
  }
};

RepairEntry::RepairEntry(Loop& loop, Random random, Place place, Index index, std::string copy)
    : state_(std::make_unique<State>(context_at(loop, random, place), index, std::move(copy))) {}
RepairEntry::~RepairEntry() = default;

void RepairEntry::start(Callback<Done> done) {
  State& state = *state_;
  state.done = std::move(done);
  state.cell.refresh([&state](const Status& read) {
    if (!read) return state.done(read.error());
    state.begin();
  });
}

}  // namespace muster::rlog
