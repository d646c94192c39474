#include "log/filling.h"

#include <algorithm>
#include <utility>

namespace muster::rlog {

void Filling::begin(std::string log_id, std::string origin, Callback<Done> done) {
  Manifest manifest;
  manifest.log_id = std::move(log_id);
  manifest.origin = std::move(origin);
  manifest.nonce = Nonce(context_.random.uuid());
  manifest.guarded = context_.store.capabilities().guarded_put;
  manifest.pending = id_;
  cell_.create(std::move(manifest), lifetime_.wrap([this, done = std::move(done)](const Status&) {
    // Whatever was answered: what is read back decides.
    look(done);
  }));
}

void Filling::look(Callback<Done> done) {
  cell_.refresh(lifetime_.wrap([this, done = std::move(done)](const Status& read) {
    if (!read) return done(Error{Errc::kUnavailable, read.error().message});
    if (cell_.value().pending != id_ && !opened()) {
      const std::string& other = cell_.value().pending;
      return done(Error{Errc::kConflict,
                        context_.store.describe() +
                            (other.empty() ? " holds another log"
                                           : " is marked by the move or restore " + other +
                                                 ", which was not finished: empty it first")});
    }
    done(Done{});
  }));
}

bool Filling::opened() const {
  const auto& fillings = cell_.value().opened_by;
  return std::find(fillings.begin(), fillings.end(), id_) != fillings.end();
}

void Filling::put(const Key& key, std::string body, Callback<Done> done) {
  const Key full = context_.keys.prefix + key;
  std::string sent = body;
  context_.store.put(
      full, std::move(sent), Precondition::absent(), context_.by(),
      lifetime_.wrap([this, full, body = std::move(body),
                      done = std::move(done)](const Result<Revision>& written) {
        if (written) return done(Done{});
        // There already, or nobody knows: it is right if the bytes are these.
        context_.get(full, {}, lifetime_.wrap([full, body, done](const Result<Object>& found) {
          if (!found) {
            return done(Error{Errc::kUnavailable, found.error().message});
          }
          if (found->body == body) return done(Done{});
          done(Error{Errc::kConflict, full + " exists with other bytes"});
        }));
      }));
}

void Filling::open(Manifest manifest, Callback<Done> done) {
  manifest.pending.clear();
  manifest.opened_by.push_back(id_);
  manifest.guarded = context_.store.capabilities().guarded_put;
  const auto change = [manifest = std::move(manifest),
                       id = id_](const Manifest& now) -> Result<Manifest> {
    if (now.pending != id) return {Errc::kConflict, "the store is not being filled by " + id};
    return manifest;
  };
  cell_.swap(change, std::move(done));
}

}  // namespace muster::rlog
