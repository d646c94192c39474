#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "platform/event_loop.h"
#include "store/postgres/libpq.h"
#include "store/postgres/statements.h"
#include "store/postgres/verdict.h"

namespace muster::postgres {

/// The answer to one statement, once its transaction has ended.
struct StatementAnswer {
  Rows rows{};
  std::optional<ServerError> error{};
  /// The server warned while it worked on this statement, and did it all the same.
  std::optional<std::string> warning{};
};

/// One connection to one server. Statements are sent without a wait for the answer to the one
/// before (libpq's pipeline mode), each a transaction of its own; answers come in order.
///
/// Events come from the loop, never from within a call. None comes after the destructor or after
/// `ended`. Threads: loop thread only.
class Link {
 public:
  struct Events {
    std::function<void()> connected;
    /// Of the oldest statement without an answer.
    std::function<void(StatementAnswer)> answered;
    std::function<void(const std::string& channel, const std::string& payload)> notified;
    /// The connection could not be made, or is gone; the reason in one line.
    std::function<void(const std::string& reason)> ended;
  };

  /// Begins to connect. `parameters` are libpq's, and name one server by its address.
  Link(const Libpq& pq, EventLoop& loop, const std::map<std::string, std::string>& parameters,
       Events events);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Requires: connected. From this call on, the server may perform the statement.
  void send(const Statement& statement);
  /// No event comes afterwards.
  void close();
  [[nodiscard]] bool is_connected() const { return connected_; }
  /// The process that serves this connection, by the number that it was announced with.
  [[nodiscard]] int announced_process() const;

 private:
  void poll();
  void watch(std::uint32_t events);
  void unwatch();
  void on_ready(std::uint32_t events);
  void flush();
  void read();
  void take(PGresult* result);
  void end(std::string reason);
  [[nodiscard]] std::string last_error() const;
  static void on_notice(void* link, const PGresult* notice);

  const Libpq& pq_;
  EventLoop& loop_;
  Events events_;
  PGconn* connection_ = nullptr;
  int watched_ = -1;
  std::uint32_t watched_events_ = 0;
  bool connected_ = false;
  bool ended_ = false;
  std::size_t unanswered_ = 0;
  StatementAnswer answer_;  ///< Of the oldest statement, as far as it has come.
  Lifetime lifetime_;
};

/// The servers that `parameters` lead to by way of a service file, the environment or libpq's
/// defaults, and the database's name. Makes no connection.
struct Defaults {
  std::string hosts;
  std::string ports;
};
[[nodiscard]] Defaults defaults(const Libpq& pq,
                                const std::map<std::string, std::string>& parameters);

}  // namespace muster::postgres
