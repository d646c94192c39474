#include "log/move.h"

#include <algorithm>
#include <utility>

#include "log/archive.h"
#include "log/export.h"
#include "log/filling.h"

namespace muster::rlog {
struct Move::State {
  State(Context from, Context to, std::string move)
      : source(std::move(from)), target(std::move(to)), id(std::move(move)), filling(target, id) {}
  Context source;
  Context target;
  std::string id;
  Filling filling;
  std::unique_ptr<ManifestCell> manifest;
  std::unique_ptr<Export> copy;
};

Move::Move(Loop& loop, Random random, Place source, Place target, std::string move_id)
    : state_(std::make_unique<State>(context_at(loop, random, source),
                                     context_at(loop, Random(random.next()), target),
                                     std::move(move_id))) {}
Move::~Move() = default;

void Move::prepare(Callback<Done> done) {
  State& state = *state_;
  state.manifest = std::make_unique<ManifestCell>(state.source);
  state.manifest->refresh([&state, done = std::move(done)](const Status& read) {
    if (!read) return done(read.error());
    const Manifest& manifest = state.manifest->value();
    state.filling.begin(manifest.log_id, manifest.origin, done);
  });
}

void Move::finish(Callback<Done> done) {
  State& state = *state_;
  const auto copy = [&state, done](const Status& prepared) {
    if (!prepared || state.filling.opened()) return done(prepared);
    state.copy = std::make_unique<Export>(
        state.source, [&state](const Key& key, std::string body, Callback<Done> next) {
          state.filling.put(key, std::move(body), std::move(next));
        });
    state.copy->start([&state, done](const Result<Export::Outcome>& outcome) {
      if (!outcome) return done(outcome.error());
      const Position& end = outcome->end;
      if (!end.seal || end.seal->move_id != state.id) {
        return done({Errc::kConflict, end.seal ? "the log was sealed for " + end.seal->move_id
                                               : "the log is not sealed"});
      }
      state.filling.open(outcome->manifest, [&state, done](const Status& opened) {
        if (!opened.is(Errc::kConflict)) return done(opened);
        // Another process that finishes the same move may have been first.
        state.filling.look([&state, done, opened](const Status& seen) {
          done(seen && state.filling.opened() ? Status(Done{}) : opened);
        });
      });
    });
  };
  prepare(copy);
}

struct Backup::State {
  State(Context from, Sink to) : source(std::move(from)), sink(std::move(to)) {}
  Context source;
  Sink sink;
  ArchiveWriter writer;
  std::unique_ptr<Export> copy;
};

Backup::Backup(Loop& loop, Random random, Place source, Sink sink)
    : state_(std::make_unique<State>(context_at(loop, random, source), std::move(sink))) {}
Backup::~Backup() = default;

void Backup::start(Callback<Index> done) {
  State& state = *state_;
  state.copy = std::make_unique<Export>(
      state.source, [&state](const Key& key, const std::string& body, const Callback<Done>& next) {
        // Posted: a sink that is always ready must not grow the stack with every object.
        const Status taken = state.sink(state.writer.object(key, body));
        state.source.loop.post([taken, next] { next(taken); });
      });
  state.copy->start([&state, done = std::move(done)](const Result<Export::Outcome>& outcome) {
    if (!outcome) return done(outcome.error());
    Status taken = state.sink(
        state.writer.object(ArchiveWriter::kManifest, encode_manifest(outcome->manifest)));
    if (taken) taken = state.sink(state.writer.end());
    if (!taken) return done(taken.error());
    done(outcome->end.index);
  });
}

struct Restore::State {
  State(Context to, Source from)
      : target(std::move(to)),
        id(target.random.uuid()),
        log_id(target.random.uuid()),
        filling(target, id),
        reader(std::move(from)) {}
  Context target;
  std::string id;
  std::string log_id;
  Filling filling;
  ArchiveReader reader;
  std::optional<Manifest> manifest;
  Index last;
  Callback<Index> done;

  void next() {
    Result<ArchiveReader::Item> item = reader.next();
    if (!item) return done(item.error());
    if (item->end) return finish();
    if (item->key == ArchiveWriter::kManifest) {
      Result<Manifest> read = decode_manifest(item->body);
      if (!read) return done(named("the backup's manifest", read.error()));
      manifest = std::move(*read);
      if (manifest->latest) last = std::max(last, manifest->latest->position.index);
      return target.loop.post([this] { next(); });
    }
    if (const auto index = Keys().entry_of(item->key)) last = std::max(last, *index);
    filling.put(item->key, std::move(item->body), [this](const Status& put) {
      if (!put) return done(put.error());
      next();
    });
  }
  void finish() {
    if (!manifest) return done({Errc::kCorrupt, "the backup has no manifest"});
    manifest->log_id = log_id;
    filling.open(std::move(*manifest), [this](const Status& opened) {
      if (!opened) return done(opened.error());
      done(last);
    });
  }
};

Restore::Restore(Loop& loop, Random random, Place target, Source source)
    : state_(std::make_unique<State>(context_at(loop, random, target), std::move(source))) {}
Restore::~Restore() = default;

void Restore::start(Callback<Index> done) {
  State& state = *state_;
  state.done = std::move(done);
  state.filling.begin(state.log_id, state.log_id, [&state](const Status& begun) {
    if (!begun) return state.done(begun.error());
    state.next();
  });
}

}  // namespace muster::rlog
