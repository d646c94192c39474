#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log_throttle.h"
#include "base/loop.h"
#include "base/random.h"
#include "platform/event_loop.h"
#include "store/postgres/address.h"
#include "store/postgres/libpq.h"
#include "store/postgres/link.h"
#include "store/postgres/server_finder.h"
#include "store/postgres/settings.h"
#include "store/postgres/statements.h"
#include "store/postgres/verdict.h"
#include "store/store.h"

namespace muster::postgres {

/// Sends statements to the server of an address that accepts writes: one connection, on which they
/// follow each other without waiting. Several hosts are tried in turn.
///
/// Behind a pooler, one statement is under way at a time, and nothing is listened to:
/// pgbouncer 1.18 gives a server with answers under way to the next client. For the same reason an
/// answer must bear the mark of its statement.
///
/// A statement is sent only after a server has shown that it is no standby, accepts writes and is
/// not older than one seen before, so "never sent" is a fact and not a guess. Such a statement goes
/// to the next server while there is time, and so does a read without an answer; a write that was
/// sent does not. Every call completes once, posted to the loop, by its deadline.
///
/// The destructor cancels everything, and no completion comes afterwards. Threads: loop thread
/// only.
class Client {
 public:
  struct Events {
    /// A connection was made, and every channel is listened to.
    std::function<void()> connected;
    std::function<void(const std::string& channel, const std::string& key)> notified;
  };

  /// What a server must have.
  enum class Needs {
    kTable,  ///< muster.objects; every answer says who gave it.
    kDatabase,
  };

  Client(const Libpq& pq, EventLoop& loop, DatabaseAddress address, Needs needs, Events events);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void ask(Statement statement, Access access, Deadline by, Callback<Rows> done);

  /// Listens to a channel from now on, on every connection. Calls must be paired.
  void listen(const std::string& channel);
  void unlisten(const std::string& channel);
  /// Whether notifications arrive: nothing stands between this process and the server.
  [[nodiscard]] bool hears() const { return ready_ && !pooled_; }

 private:
  struct Call;
  using Shared = std::shared_ptr<Call>;
  void pump();
  void connect();
  void find_targets();
  void open_link();
  void on_connected();
  void on_answer(StatementAnswer answer);
  void greeted(const StatementAnswer& answer);
  [[nodiscard]] static bool take_tag(const Call& call, Rows& rows);
  [[nodiscard]] std::optional<Error> objection(const Greeting& greeting) const;
  void settle(const Shared& call, StatementAnswer answer);
  void retry(const Shared& call);
  /// Closes the connection and goes on with the next server, soon.
  void leave(const Error& reason);
  void schedule();
  void limit_silence();
  void expire(const Shared& call);
  void complete(const Shared& call, Result<Rows> result);
  void warn(const Error& reason);
  [[nodiscard]] std::string name(const Target& target) const;

  const Libpq& pq_;
  EventLoop& loop_;
  DatabaseAddress address_;
  Needs needs_;
  Events events_;
  Duration connect_timeout_;
  ServerFinder finder_;
  Random random_;
  LogThrottle told_;

  std::vector<Target> targets_;
  std::size_t target_ = 0;
  std::size_t failures_ = 0;      ///< In a row, of all servers together.
  bool hopeless_ = false;         ///< In this round each server has refused for good,
  std::optional<Error> refusal_;  ///< the last one for this reason.
  std::string last_failure_;
  bool connecting_ = false;
  std::unique_ptr<Link> link_;
  bool ready_ = false;   ///< The server was judged, and takes statements.
  bool pooled_ = false;  ///< A pooler stands in between.
  Timer pause_;          ///< Limits the connecting, or delays the next attempt.
  Timer silence_;        ///< Limits the wait for the oldest statement.
  std::uint64_t answers_ = 0;
  std::uint64_t tags_ = 0;
  Origin seen_{};  ///< The latest server that was seen.

  std::deque<Shared> waiting_;
  std::deque<Shared> sent_;  ///< In the order of their answers; null: nobody waits for the answer.
  std::set<Shared> calls_;
  std::multiset<std::string> channels_;
  Lifetime lifetime_;
};

}  // namespace muster::postgres
