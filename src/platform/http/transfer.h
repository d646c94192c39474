#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/loop.h"
#include "platform/http/client_connection.h"
#include "platform/http/http_client.h"

namespace muster::http {

/// One request of an HttpClient on its way, and what became of it. Loop thread only.
class Transfer final : public Asker {
 public:
  /// Called from events of the loop; each may destroy this.
  struct Hooks {
    std::function<void(Transfer&)> answered;
    std::function<void(Transfer&, const pki::TlsFailure&)> broke;
  };

  Transfer(Loop& loop, const Hooks& hooks, HttpRequest request, HttpClient::Answered done)
      : hooks_(hooks), deadline_(loop), request_(std::move(request)), done_(std::move(done)) {}

  [[nodiscard]] MonoTime by() const { return request_.by; }
  void at_deadline(Loop::Task expire) { deadline_.arm(by(), std::move(expire)); }

  /// Finds the way and writes the request down. Not again for a second sending.
  [[nodiscard]] Status prepare(const Environment& environment);
  [[nodiscard]] const Route& route() const { return route_; }

  /// Null while it waits for its turn.
  [[nodiscard]] const std::shared_ptr<ClientConnection>& connection() const { return connection_; }
  /// `reused`: it has carried requests before.
  void run_on(std::shared_ptr<ClientConnection> connection, bool reused);
  [[nodiscard]] std::shared_ptr<ClientConnection> leave() { return std::move(connection_); }

  /// The connection that broke was an old one that had served before and had not begun to answer:
  /// as a rule it was closed while nobody used it. Never for a write; the second sending is on a
  /// fresh one.
  [[nodiscard]] bool may_go_again() const;

  [[nodiscard]] Result<HttpResponse> result();
  [[nodiscard]] Error failure(const pki::TlsFailure& why) const;
  /// The outcome of breaking it off, running or not yet begun.
  [[nodiscard]] Error expired() const;
  [[nodiscard]] HttpClient::Answered take_done() { return std::move(done_); }

  [[nodiscard]] std::string_view bytes() const override { return bytes_; }
  [[nodiscard]] AnswerReader& reader() override { return *reader_; }
  void leaves() override { sent_ = true; }
  void answered() override { hooks_.answered(*this); }
  void broke(const pki::TlsFailure& why) override { hooks_.broke(*this, why); }

 private:
  [[nodiscard]] std::string host() const;

  const Hooks& hooks_;
  Timer deadline_;
  HttpRequest request_;
  HttpClient::Answered done_;
  Route route_;
  std::string bytes_;
  std::optional<AnswerReader> reader_;
  std::shared_ptr<ClientConnection> connection_;
  bool reused_ = false;
  bool sent_ = false;  ///< A first byte may have left.
};

}  // namespace muster::http
