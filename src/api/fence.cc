#include <muster/fence.h>

#include <string>
#include <utility>

#include "api/connection.h"
#include "coordinator/fenced_store.h"
#include "core/election/epoch_fence.h"
#include "core/election/records.h"
#include "platform/system_clock.h"

MUSTER_BEGIN_NAMESPACE

bool EpochGuard::admit(Token token) {
  muster::EpochGuard guard{Epoch(highest_)};
  if (!guard.admit(Epoch(token))) {
    ++refused_;
    return false;
  }
  highest_ = guard.highest().value();
  return true;
}

struct FencedObjects::Impl {
  explicit Impl(const Arbiter& arbiter)
      : connection(api::Connection::of(arbiter)),
        store(connection->sync_store(), system_random()) {}

  /// Runs `call`, unless the key belongs to an election.
  template <typename Call>
  auto ask(const std::string& key, Call call) const -> decltype(call()) {
    if (key.empty() || key.starts_with("plugin=")) {
      return muster::Error{Errc::kInvalid,
                           "\"" + key +
                               "\" cannot be the key of a fenced object; keys are not "
                               "empty and do not begin with plugin="};
    }
    return call();
  }

  std::shared_ptr<api::Connection> connection;
  mutable FencedStore store;  // Its calls may come from any thread.
};

FencedObjects::FencedObjects(const Arbiter& arbiter)
    : impl_(std::make_shared<const Impl>(arbiter)) {}

Result<FencedObject> FencedObjects::get(const std::string& key) const {
  auto found = impl_->ask(key, [&] { return impl_->store.get(key); });
  if (!found) return api::to_public(found.error());
  return FencedObject{found->epoch.value(), std::move(found->body).value_or("")};
}

Status FencedObjects::put(const std::string& key, const std::string& body, Token token) const {
  return api::to_public(impl_->ask(key, [&] { return impl_->store.put(key, body, Epoch(token)); }));
}

Status FencedObjects::fence(const std::string& key, Token token) const {
  return api::to_public(impl_->ask(key, [&] { return impl_->store.fence(key, Epoch(token)); }));
}

Status FencedObjects::erase(const std::string& key, Token token) const {
  return api::to_public(impl_->ask(key, [&] { return impl_->store.erase(key, Epoch(token)); }));
}

MUSTER_END_NAMESPACE
