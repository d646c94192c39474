#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/lock.grpc.pb.h"
#include "platform/system_clock.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {

/// Three servers on one directory, for all tests: each has locks of its own.
struct Servers {
  TempDir dir;
  std::string engine = "file://" + (dir.path() / "store").string();
  Musterd s1{"s1", engine, dir.path()};
  Musterd s2{"s2", engine, dir.path()};
  Musterd s3{"s3", engine, dir.path()};

  std::vector<Musterd*> all() { return {&s1, &s2, &s3}; }
  Musterd& at(int i) { return *all()[static_cast<std::size_t>(i) % 3]; }
  std::string url() { return "muster://" + s1.address() + "," + s2.address() + "," + s3.address(); }
};

/// How a client takes a lock.
struct How {
  Duration ttl = 60s;
  Duration wait = 30s;
  std::uint32_t permits = 0;
  std::optional<bool> shared{};
};

/// A client as docs/client.md describes one: it has a stopwatch, and asks any server.
class LockClient {
 public:
  LockClient(Servers& servers, std::string name, int first, std::string session = {})
      : servers_(servers),
        at_(first),
        name_(std::move(name)),
        session_(session.empty() ? system_random().uuid() : std::move(session)) {}

  /// One call.
  grpc::Status ask(const How& how, v1::LockAcquireResponse* answer) {
    Context context(20s);
    return ask(how, answer, context);
  }
  grpc::Status ask(const How& how, v1::LockAcquireResponse* answer, Context& context) {
    v1::LockAcquireRequest request;
    request.set_name(name_);
    request.set_session(session_);
    request.set_holder(holder_);
    request.set_ttl_ms(ms(how.ttl));
    request.set_wait_ms(ms(how.wait));
    request.set_permits(how.permits);
    if (how.shared) request.set_shared(*how.shared);
    return stub()->Acquire(&context, request, answer);
  }
  /// Until it is settled.
  grpc::Status acquire(const How& how) {
    const auto end = std::chrono::steady_clock::now() + how.wait;
    for (;;) {
      How rest = how;
      rest.wait = std::max<Duration>(end - std::chrono::steady_clock::now(), 0s);
      const auto sent = std::chrono::steady_clock::now();
      answer_.Clear();
      const grpc::Status status = ask(rest, &answer_);
      if (status.ok() && !answer_.waiting()) {
        until_ = sent + std::chrono::milliseconds(answer_.left_ms());
        return status;
      }
      const bool again = status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                         status.error_code() == grpc::StatusCode::UNKNOWN;
      if (!again || sent > end + 20s) return status;
      if (!status.ok()) ++at_;
    }
  }
  grpc::Status renew() {
    v1::LockRenewRequest request;
    request.set_name(name_);
    request.set_session(session_);
    request.set_handle(answer_.handle());
    grpc::Status status;
    for (int i = 0; i < 100; ++i) {
      Context context;
      const auto sent = std::chrono::steady_clock::now();
      v1::LockRenewResponse response;
      status = stub()->Renew(&context, request, &response);
      if (status.ok()) until_ = sent + std::chrono::milliseconds(response.left_ms());
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return status;
      ++at_;
      let_pass(50ms);
    }
    return status;
  }
  grpc::Status release(bool* confirmed = nullptr, bool with_handle = true) {
    v1::LockReleaseRequest request;
    request.set_name(name_);
    request.set_session(session_);
    if (with_handle) request.set_handle(answer_.handle());
    grpc::Status status;
    for (int i = 0; i < 100; ++i) {
      Context context;
      v1::LockReleaseResponse response;
      status = stub()->Release(&context, request, &response);
      if (confirmed != nullptr) *confirmed = response.confirmed();
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return status;
      ++at_;
      let_pass(50ms);
    }
    return status;
  }

  /// Of a server that runs.
  [[nodiscard]] std::unique_ptr<v1::LockService::Stub> stub() {
    while (!servers_.at(at_).running()) ++at_;
    return v1::LockService::NewStub(servers_.at(at_).channel());
  }
  [[nodiscard]] bool held() const { return std::chrono::steady_clock::now() < until_; }
  [[nodiscard]] std::uint64_t token() const { return answer_.token(); }
  [[nodiscard]] const v1::LockAcquireResponse& answer() const { return answer_; }

 private:
  static std::uint32_t ms(Duration time) {
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  }

  Servers& servers_;
  int at_;
  std::string name_;
  std::string session_;
  std::string holder_ = "client-" + std::to_string(at_);
  v1::LockAcquireResponse answer_;
  std::chrono::steady_clock::time_point until_{};
};

}  // namespace muster::testing
