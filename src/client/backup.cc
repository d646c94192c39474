#include "client/backup.h"

#include <future>
#include <memory>
#include <utility>

namespace muster::client {
namespace {

/// One stream that somebody waits for. Of the loop, but for `finished`.
struct Transfer {
  std::string server;
  std::unique_ptr<Stream> stream;
  std::uint64_t bytes = 0;
  std::promise<Result<std::uint64_t>> finished;
  bool over = false;

  void finish(Result<std::uint64_t> result) {
    if (std::exchange(over, true)) return;
    finished.set_value(std::move(result));
  }
};

void begin(Caller& caller, Transfer& transfer, Sink sink, Duration timeout) {
  StreamEvents events;
  events.message = [&transfer, sink = std::move(sink)](const std::string& body) {
    if (transfer.over) return;
    const auto data = decode_chunk(body);
    if (!data) return transfer.finish(data.error());
    transfer.bytes += data->size();
    if (Status taken = sink(*data); !taken) transfer.finish(taken.error());
  };
  events.end = [&transfer](const RpcStatus& status) {
    if (!status.ok()) return transfer.finish(to_error(status, transfer.server, Effect::kRead));
    transfer.finish(transfer.bytes);
  };
  transfer.stream = caller.connection(transfer.server)
                        .stream("/muster.v1.AdminService/Backup", caller.loop().now() + timeout,
                                std::move(events));
  transfer.stream->send({});
  transfer.stream->close();
}

}  // namespace

Result<std::uint64_t> backup(Client& client, Sink sink, const CallOptions& options) {
  Runtime& runtime = client.runtime();
  if (runtime.loop().on_thread()) {
    return {Errc::kInvalid, "a transfer from a callback of its own client would wait for itself"};
  }
  // Only the leader's state is sure to be whole; a failure here is as telling as one later would
  // be.
  const auto health = client.health_check();
  if (!health) return health.error();
  auto transfer = std::make_shared<Transfer>();
  auto result = transfer->finished.get_future();
  runtime.run([&] {
    runtime.caller().board().learned_leader(health->leader_address);
    transfer->server = runtime.caller().board().choose(Aim::kLeader, {});
    begin(runtime.caller(), *transfer, std::move(sink), options.timeout);
  });
  Result<std::uint64_t> answer = result.get();
  runtime.run([&] { transfer->stream.reset(); });
  return answer;
}

}  // namespace muster::client
