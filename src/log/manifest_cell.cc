#include "log/manifest_cell.h"

#include <utility>

namespace muster::rlog {

void ManifestCell::refresh(Callback<Done> done) {
  enqueue([this](Callback<Done> end) { read(std::move(end)); }, std::move(done));
}

void ManifestCell::swap(Change change, Callback<Done> done) {
  enqueue(
      [this, change = std::move(change)](Callback<Done> end) {
        Result<Manifest> next = change(value_);
        if (!next) return end(next.error());
        write(std::move(*next), std::move(end));
      },
      std::move(done));
}

void ManifestCell::create(Manifest manifest, Callback<Done> done) {
  enqueue(
      [this, manifest = std::move(manifest)](Callback<Done> end) {
        context_.store.put(context_.keys.manifest(), encode_manifest(manifest),
                           Precondition::absent(), context_.by(),
                           lifetime_.wrap([end = std::move(end)](Result<Revision> written) {
                             if (!written) return end(written.error());
                             end(Done{});
                           }));
      },
      std::move(done));
}

void ManifestCell::enqueue(Work work, Callback<Done> done) {
  tasks_.push_back({std::move(work), std::move(done)});
  if (tasks_.size() == 1) run();
}

void ManifestCell::run() {
  // Held by the call itself: the end of one task may add others.
  const Work work = tasks_.front().work;
  work([this](Status status) {
    const Callback<Done> done = std::move(tasks_.front().done);
    tasks_.pop_front();
    if (!tasks_.empty()) context_.loop.post(lifetime_.wrap([this] { run(); }));
    done(std::move(status));
  });
}

void ManifestCell::read(Callback<Done> done) {
  const std::optional<Revision> unless = known() ? std::optional(revision_) : std::nullopt;
  context_.get(context_.keys.manifest(), unless,
               lifetime_.wrap([this, done = std::move(done)](Result<Object> object) {
                 if (object) return done(adopt(*object));
                 if (object.is(Errc::kUnchanged)) return done(Done{});
                 if (!is_passing(object.code()))
                   return done(named(context_.keys.manifest(), object.error()));
                 if (!object.is(Errc::kNotFound))
                   return done(Error{Errc::kUnavailable, object.error().message});
                 if (!known()) return done(object.error());
                 done(Error{Errc::kConflict,
                            context_.keys.manifest() + " is missing; Muster never removes it"});
               }));
}

void ManifestCell::write(Manifest next, Callback<Done> done) {
  next.nonce = Nonce(context_.random.uuid());
  const Nonce nonce = next.nonce;
  const Revision before = revision_;
  std::string body = encode_manifest(next);
  context_.store.put(
      context_.keys.manifest(), std::move(body), Precondition::at(before), context_.by(),
      lifetime_.wrap([this, next = std::move(next), nonce, before,
                      done = std::move(done)](Result<Revision> written) mutable {
        if (written) {
          value_ = std::move(next);
          revision_ = std::move(*written);
          return done(Done{});
        }
        read([this, nonce, before, done = std::move(done)](Status status) {
          if (!status.ok() && !is_passing(status.code())) return done(std::move(status));
          if (status.ok() && value_.nonce == nonce) return done(Done{});
          if (!status.ok() || revision_ == before) {
            return done(Error{Errc::kAmbiguous, "the change of the manifest may land yet"});
          }
          done(Error{Errc::kConflict, "another change of the manifest came first"});
        });
      }));
}

Status ManifestCell::adopt(const Object& object) {
  Result<Manifest> manifest = decode_manifest(object.body);
  if (!manifest) return named(context_.keys.manifest(), manifest.error());
  if (known()) {
    if (Status follows = check_follows(value_, *manifest); !follows) return follows;
  }
  value_ = std::move(*manifest);
  revision_ = object.revision;
  return Done{};
}

}  // namespace muster::rlog
