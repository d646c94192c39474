#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace muster::bench {

/// How a call ended, whichever client made it.
struct CallEnd {
  std::string error{};  ///< Empty: it ended well.
  [[nodiscard]] bool ok() const { return error.empty(); }
  [[nodiscard]] const std::string& error_message() const { return error; }
};

/// What a client shows and believes, as PEM.
struct LoadTls {
  std::string authorities;
  std::string certificate;
  std::string key;
};

/// A stream in both directions. Destroying it cancels it; one that ends otherwise ends the program
/// with its status, because every figure would be worthless.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Messages written while another is on its way wait.
  virtual void write(std::string message) = 0;
};

/// A connection of its own to one server, which speaks any method. It outlives nothing of its pump.
class RpcLink {
 public:
  virtual ~RpcLink() = default;
  using Done = std::function<void(const CallEnd&, const std::string& answer)>;
  virtual void call(const std::string& method, std::string request, Duration timeout,
                    Done done) = 0;
  [[nodiscard]] virtual std::unique_ptr<ByteStream> stream(
      const std::string& method, std::function<void(const std::string&)> on_answer) = 0;
};
using LinkPtr = std::shared_ptr<RpcLink>;

/// A client for measurements, worked by the thread that runs it, on which every callback comes:
/// our own, or gRPC's for C++ as Debian has it. One thread.
class RpcPump {
 public:
  RpcPump() = default;
  virtual ~RpcPump() = default;
  RpcPump(const RpcPump&) = delete;
  RpcPump& operator=(const RpcPump&) = delete;

  /// Works until `done` holds; gives up with a message, and ends the program, after `limit`.
  void run_until(const std::function<bool()>& done, Duration limit = 120s);
  /// Works for that long, and calls `tick` at each of `per_second` evenly spaced moments; moments
  /// that were missed are made up for.
  void run_paced(Duration time, double per_second, const std::function<void()>& tick);
  void run_for(Duration time);

  /// That many connections to host:port, all connected.
  [[nodiscard]] virtual std::vector<LinkPtr> connect_all(
      const std::string& endpoint, std::size_t count,
      const std::optional<LoadTls>& tls = std::nullopt) = 0;
  virtual void after(Duration delay, std::function<void()> task) = 0;

 private:
  /// Handles what is ready by `until`; false when nothing was.
  virtual bool step(MonoTime until) = 0;
};

/// Which client is measured with.
enum class Client { kOwn, kGrpc };
inline constexpr Client kClients[] = {Client::kOwn, Client::kGrpc};
[[nodiscard]] const char* name_of(Client client);
[[nodiscard]] std::unique_ptr<RpcPump> make_pump(Client client);
[[nodiscard]] std::unique_ptr<RpcPump> own_pump();
[[nodiscard]] std::unique_ptr<RpcPump> grpc_pump();

/// A method that the server does not answer makes every figure worthless: it ends the program.
[[noreturn]] void give_up(const std::string& what, const std::string& why);

/// One request and its answer; the status tells how it went.
template <typename Response, typename Request>
void unary(const LinkPtr& link, const std::string& method, const Request& request, Duration timeout,
           std::function<void(const CallEnd&, Response&)> done) {
  link->call(method, request.SerializeAsString(), timeout,
             [done = std::move(done)](const CallEnd& end, const std::string& answer) {
               Response response;
               MUSTER_CHECK(response.ParseFromString(answer));
               done(end, response);
             });
}

/// The same, waited for; a failure ends the program with its message.
template <typename Response, typename Request>
Response ask(RpcPump& pump, const LinkPtr& link, const std::string& method,
             const Request& request) {
  bool ended = false;
  Response answer;
  unary<Response>(link, method, request, 30s, [&](const CallEnd& end, Response& response) {
    if (!end.ok()) give_up(method, end.error);
    answer = std::move(response);
    ended = true;
  });
  pump.run_until([&] { return ended; });
  return answer;
}

/// A stream of messages; answers come to `on_answer`.
template <typename Request, typename Response>
class RpcStream {
 public:
  RpcStream(const LinkPtr& link, const std::string& method,
            std::function<void(Response&)> on_answer)
      : stream_(link->stream(method, [on_answer = std::move(on_answer)](const std::string& bytes) {
          Response response;
          MUSTER_CHECK(response.ParseFromString(bytes));
          on_answer(response);
        })) {}
  void write(const Request& request) { stream_->write(request.SerializeAsString()); }

 private:
  std::unique_ptr<ByteStream> stream_;
};

/// What a closed loop of calls found.
struct LoadResult {
  std::uint64_t answered = 0;
  Duration wall{0};
  std::vector<double> latencies_ms{};
  [[nodiscard]] double per_second() const;
};

/// Starts one call on the lane and calls `done` at its end.
using Start = std::function<void(std::size_t lane, std::function<void()> done)>;

/// Keeps `lanes` calls under way for `time`; each lane starts its next when its last ended.
[[nodiscard]] LoadResult closed_loop(RpcPump& pump, std::size_t lanes, Duration time,
                                     const Start& start);

}  // namespace muster::bench
