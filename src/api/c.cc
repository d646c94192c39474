// The C functions, over the public C++ ones: nothing is decided here.

#include <muster/c.h>
#include <muster/leader.h>
#include <muster/lock.h>
#include <muster/nodes.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/lock_attempt.h"

namespace {

namespace pub = muster::api_v1;

constexpr std::size_t kTroublesMax = 64;
/// Long enough for every wait, and no sum with it overflows.
constexpr pub::Duration kYear(std::int64_t{365} * 24 * 3600 * 1'000'000'000);

/// What a leadership told and nobody has fetched yet.
struct Troubles {
  std::mutex mutex;
  std::deque<pub::Error> waiting;

  void add(const pub::Error& error) {
    const std::lock_guard lock(mutex);
    if (waiting.size() == kTroublesMax) waiting.pop_front();
    waiting.push_back(error);
  }
};

}  // namespace

struct muster_error {
  pub::Error error;
};
struct muster_arbiter {
  pub::Arbiter arbiter;
};
struct muster_leadership {
  std::shared_ptr<Troubles> troubles;
  pub::Leadership leadership;
};
struct muster_term {
  pub::Term term;
  std::unique_ptr<muster::api::LockAttempt> lock;  ///< Set: this stands for a lock.
};
struct muster_cluster {
  pub::Cluster cluster;
};
struct muster_membership {
  pub::Membership membership;
};
struct muster_directory {
  pub::Directory directory;
};

namespace {

void put(muster_error** into, pub::Error error) {
  if (into == nullptr) return;
  *into = new (std::nothrow) muster_error{std::move(error)};
}

/// Calls `call`, whose exceptions go no further: they become errors.
template <typename T, typename Call>
T guarded(muster_error** error, T failed, Call call) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    return call();
  } catch (const pub::BadResult& bad) {
    put(error, {bad.code(), bad.what()});
  } catch (const std::exception& thrown) {
    put(error, {pub::Code::kUnavailable, thrown.what()});
  }
  return failed;
}

std::string text(const char* words) {
  return words == nullptr ? std::string() : std::string(words);
}

pub::Tls tls_of(const muster_tls* tls) {
  if (tls == nullptr) return {};
  return {text(tls->ca_file), text(tls->cert_file), text(tls->key_file)};
}

pub::Duration duration_of(std::int64_t milliseconds) {
  constexpr std::int64_t kMost = pub::Duration::max().count() / 1'000'000;
  if (milliseconds < 0 || milliseconds > kMost) return pub::Duration::max();
  return pub::Duration(milliseconds * 1'000'000);
}

template <std::size_t N>
void copy(char (&into)[N], const std::string& from) {
  const std::size_t count = std::min(from.size(), N - 1);
  std::memcpy(into, from.data(), count);
  into[count] = '\0';
}

/// As much of `from` as the caller's version of the structure has.
template <typename T>
void copy_out(T& from, T* into, std::size_t size) {
  from.size = std::min(size, sizeof from);
  std::memcpy(static_cast<void*>(into), &from, from.size);
}

std::size_t copy_nodes(const std::vector<pub::Node>& found, muster_node* nodes, std::size_t size,
                       std::size_t most) {
  auto* at = reinterpret_cast<char*>(nodes);
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i, at += size) {
    muster_node node{};
    copy(node.id, found[i].id);
    copy(node.address, found[i].address);
    node.port = found[i].port;
    node.kind = static_cast<int>(found[i].kind);
    node.weight = found[i].weight;
    node.state = static_cast<int>(found[i].state);
    copy_out(node, reinterpret_cast<muster_node*>(at), size);
  }
  return found.size();
}

pub::Error no_object() {
  return {pub::Code::kInvalid, "the object is NULL"};
}

/// Throws what `value()` would for an object that is not there.
template <typename T>
T& need(T* object) {
  if (object == nullptr) pub::throw_bad_result(no_object());
  return *object;
}

void need_ok(const pub::Status& status) {
  if (!status) pub::throw_bad_result(status.error());
}

}  // namespace

const char* muster_version() {
  return pub::version();
}
int muster_abi() {
  return 2;
}

int muster_error_code(const muster_error* error) {
  return error == nullptr ? int{MUSTER_OK} : static_cast<int>(error->error.code);
}
const char* muster_error_message(const muster_error* error) {
  return error == nullptr ? "" : error->error.message.c_str();
}
void muster_error_free(muster_error* error) {
  delete error;
}

muster_arbiter* muster_arbiter_open(const char* url, const muster_tls* tls, muster_error** error) {
  return guarded<muster_arbiter*>(error, nullptr, [&] {
    return new muster_arbiter{pub::Arbiter::open(text(url), tls_of(tls)).value()};
  });
}
bool muster_arbiter_probe(const muster_arbiter* arbiter, muster_error** error) {
  return guarded(error, false, [&] {
    need_ok(need(arbiter).arbiter.probe());
    return true;
  });
}
void muster_arbiter_free(muster_arbiter* arbiter) {
  delete arbiter;
}

muster_leadership* muster_leadership_stand(const muster_arbiter* arbiter, const char* name,
                                           const muster_leader_options* options,
                                           muster_error** error) {
  return guarded<muster_leadership*>(error, nullptr, [&] {
    pub::LeaderOptions wanted;
    if (options != nullptr) {
      wanted.id = text(options->id);
      wanted.value = text(options->value);
      if (options->lease != 0) wanted.lease = duration_of(options->lease);
      wanted.campaigns = !options->only_watches;
      if (options->exits_on_overrun) wanted.overrun = pub::Overrun::kExit;
    }
    auto troubles = std::make_shared<Troubles>();
    wanted.on_trouble = [troubles](const pub::Error& each) { troubles->add(each); };
    auto stood = pub::Leadership::stand(need(arbiter).arbiter, text(name), std::move(wanted));
    return new muster_leadership{std::move(troubles), std::move(stood).value()};
  });
}
muster_term* muster_leadership_wait(muster_leadership* leadership, int64_t at_most,
                                    muster_error** error) {
  return guarded<muster_term*>(error, nullptr, [&] {
    return new muster_term{need(leadership).leadership.wait({}, duration_of(at_most)).value(), {}};
  });
}
bool muster_leadership_leader(const muster_leadership* leadership, muster_leader* leader) {
  return guarded(nullptr, false, [&] {
    const auto seen = need(leadership).leadership.leader();
    if (!seen) return false;
    muster_leader told{};
    told.token = seen->token;
    copy(told.id, seen->id);
    copy(told.value, seen->value);
    copy_out(told, leader, need(leader).size);
    return true;
  });
}
muster_error* muster_leadership_trouble(muster_leadership* leadership) {
  return guarded<muster_error*>(nullptr, nullptr, [&]() -> muster_error* {
    Troubles& troubles = *need(leadership).troubles;
    const std::lock_guard lock(troubles.mutex);
    if (troubles.waiting.empty()) return nullptr;
    auto* told = new muster_error{troubles.waiting.front()};
    troubles.waiting.pop_front();
    return told;
  });
}
bool muster_leadership_step_down(muster_leadership* leadership, const char* prefer,
                                 muster_error** error) {
  return guarded(error, false, [&] {
    need_ok(need(leadership).leadership.step_down(text(prefer)));
    return true;
  });
}
bool muster_leadership_stop(muster_leadership* leadership, muster_error** error) {
  return guarded(error, false, [&] {
    need_ok(need(leadership).leadership.stop());
    return true;
  });
}
void muster_leadership_free(muster_leadership* leadership) {
  delete leadership;
}

bool muster_term_valid(const muster_term* term) {
  if (term == nullptr) return false;
  if (!term->lock) return term->term.valid();
  return term->lock->ask([](const pub::Lock& lock) { return lock.held(); });
}
uint64_t muster_term_token(const muster_term* term) {
  if (term == nullptr) return 0;
  if (!term->lock) return term->term.token();
  return term->lock->ask([](const pub::Lock& lock) { return lock.token(); });
}
int64_t muster_term_left(const muster_term* term) {
  if (term == nullptr) return 0;
  if (!term->lock) return term->term.left().count() / 1'000'000;
  return term->lock->ask([](const pub::Lock& lock) { return lock.left(); }).count() / 1'000'000;
}
bool muster_term_wait_stop(const muster_term* term, int64_t at_most) {
  if (term == nullptr) return true;
  return guarded(nullptr, true, [&] {
    const std::stop_token stop = term->lock ? term->lock->lost() : term->term.stopping();
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    const auto no = [] { return false; };
    if (at_most < 0) {
      never.wait(lock, stop, no);
    } else {
      never.wait_for(lock, stop, std::min(duration_of(at_most), kYear), no);
    }
    return stop.stop_requested();
  });
}
void muster_term_free(muster_term* term) {
  delete term;
}

muster_term* muster_lock_acquire(const muster_arbiter* arbiter, const char* name,
                                 const muster_lock_options* options, muster_error** error) {
  return guarded<muster_term*>(error, nullptr, [&] {
    pub::LockOptions wanted;
    if (options != nullptr) {
      if (options->ttl != 0) wanted.ttl = duration_of(options->ttl);
      wanted.permits = options->permits;
      if (options->sharing != MUSTER_LOCK_PLAIN) {
        wanted.shared = options->sharing == MUSTER_LOCK_SHARED;
      }
      if (options->once) wanted.wait = pub::Duration(0);
    }
    auto lock = std::make_unique<muster::api::LockAttempt>(need(arbiter).arbiter, text(name),
                                                           std::move(wanted));
    return new muster_term{{}, std::move(lock)};
  });
}
bool muster_lock_wait(muster_term* lock, int64_t at_most, muster_error** error) {
  return guarded(error, false, [&] {
    need(need(lock).lock.get()).wait(duration_of(at_most));
    return true;
  });
}

muster_cluster* muster_cluster_connect(const char* servers, const muster_tls* tls,
                                       muster_error** error) {
  return guarded<muster_cluster*>(error, nullptr, [&] {
    return new muster_cluster{pub::Cluster::connect(text(servers), tls_of(tls)).value()};
  });
}
void muster_cluster_free(muster_cluster* cluster) {
  delete cluster;
}

muster_membership* muster_membership_join(const muster_cluster* cluster, const muster_node* node,
                                          muster_error** error) {
  return guarded<muster_membership*>(error, nullptr, [&] {
    const muster_node& wanted = need(node);
    pub::Node joins;
    joins.id = std::string(wanted.id, strnlen(wanted.id, sizeof wanted.id));
    joins.address = std::string(wanted.address, strnlen(wanted.address, sizeof wanted.address));
    joins.port = wanted.port;
    if (wanted.kind != 0) joins.kind = static_cast<pub::NodeKind>(wanted.kind);
    if (wanted.weight != 0) joins.weight = wanted.weight;
    return new muster_membership{pub::Membership::join(need(cluster).cluster, joins).value()};
  });
}
void muster_membership_free(muster_membership* membership) {
  delete membership;
}

muster_directory* muster_directory_follow(const muster_cluster* cluster, muster_error** error) {
  return guarded<muster_directory*>(error, nullptr, [&] {
    return new muster_directory{pub::Directory::follow(need(cluster).cluster).value()};
  });
}
size_t muster_directory_nodes(const muster_directory* directory, muster_node* nodes, size_t size,
                              size_t most) {
  return guarded(nullptr, std::size_t{0}, [&] {
    return copy_nodes(need(directory).directory.view().nodes(), nodes, size, most);
  });
}
size_t muster_directory_owners(const muster_directory* directory, const char* key,
                               muster_node* nodes, size_t size, size_t most) {
  return guarded(nullptr, std::size_t{0}, [&] {
    return copy_nodes(need(directory).directory.view().owners(text(key)), nodes, size, most);
  });
}
void muster_directory_free(muster_directory* directory) {
  delete directory;
}
