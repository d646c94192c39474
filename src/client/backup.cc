#include "client/backup.h"

#include <future>
#include <memory>
#include <utility>

namespace muster::client {
namespace {

/// One stream that somebody waits for. Of the loop, but for `finished`.
template <typename Answer>
struct Transfer {
  std::string server;
  std::unique_ptr<Stream> stream;
  std::promise<Result<Answer>> finished;
  bool over = false;

  void finish(Result<Answer> result) {
    if (std::exchange(over, true)) return;
    finished.set_value(std::move(result));
  }
};

/// Waits for a transfer that `begin` starts on the loop.
template <typename Answer, typename Begin>
Result<Answer> await(Client& client, const Begin& begin) {
  Runtime& runtime = client.runtime();
  if (runtime.loop().on_thread()) {
    return {Errc::kInvalid, "a transfer from a callback of its own client would wait for itself"};
  }
  // Only the leader's state is sure to be whole and to take one in; a failure here is as telling
  // as one later would be.
  const auto health = client.health_check();
  if (!health) return health.error();
  auto transfer = std::make_shared<Transfer<Answer>>();
  auto result = transfer->finished.get_future();
  runtime.run([&] {
    runtime.caller().board().learned_leader(health->leader_address);
    transfer->server = runtime.caller().board().choose(Aim::kLeader, {});
    begin(runtime.caller(), *transfer);
  });
  Result<Answer> answer = result.get();
  runtime.run([&] { transfer->stream.reset(); });
  return answer;
}

}  // namespace

Result<std::uint64_t> backup(Client& client, Sink sink, const CallOptions& options) {
  return await<std::uint64_t>(client, [&](Caller& caller, Transfer<std::uint64_t>& transfer) {
    auto total = std::make_shared<std::uint64_t>(0);
    StreamEvents events;
    events.message = [&transfer, sink = std::move(sink), total](const std::string& body) {
      if (transfer.over) return;
      const auto data = decode_chunk(body);
      if (!data) return transfer.finish(data.error());
      *total += data->size();
      if (Status taken = sink(*data); !taken) transfer.finish(taken.error());
    };
    events.end = [&transfer, total](const RpcStatus& status) {
      if (!status.ok()) return transfer.finish(to_error(status, transfer.server, Effect::kRead));
      transfer.finish(*total);
    };
    transfer.stream = caller.connection(transfer.server)
                          .stream("/muster.v1.AdminService/Backup",
                                  caller.loop().now() + options.timeout, std::move(events));
    transfer.stream->send({});
    transfer.stream->close();
  });
}

Result<Restored> restore(Client& client, Source source, const CallOptions& options) {
  return await<Restored>(client, [&](Caller& caller, Transfer<Restored>& transfer) {
    auto answer = std::make_shared<std::string>();
    const auto send_next = [&transfer, source = std::move(source)] {
      if (transfer.over || transfer.stream == nullptr) return;
      auto bytes = source();
      if (!bytes) return transfer.finish(bytes.error());
      if (!*bytes) return transfer.stream->close();
      transfer.stream->send(encode_chunk(std::move(**bytes)));
    };
    StreamEvents events;
    events.message = [answer](std::string body) { *answer = std::move(body); };
    events.end = [&transfer, answer](const RpcStatus& status) {
      if (!status.ok()) return transfer.finish(to_error(status, transfer.server, Effect::kOnce));
      transfer.finish(decode_restored(*answer));
    };
    events.sent = send_next;
    transfer.stream = caller.connection(transfer.server)
                          .stream("/muster.v1.AdminService/Restore",
                                  caller.loop().now() + options.timeout, std::move(events));
    send_next();
  });
}

}  // namespace muster::client
