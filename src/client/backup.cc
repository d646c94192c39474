#include "client/backup.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace muster::client {
namespace {

/// One stream that a thread waits for. On the loop, except for `finished`.
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

void begin(Caller& caller, Transfer& transfer, const BackupSink& sink, MonoTime by) {
  StreamEvents events;
  events.message = [&transfer, &sink](const std::string& body) {
    if (transfer.over) return;
    const auto data = decode_chunk(body);
    if (!data) return transfer.finish(data.error());
    transfer.bytes += data->size();
    if (Status taken = sink.take(*data); !taken) transfer.finish(taken.error());
  };
  events.end = [&transfer](const RpcStatus& status) {
    if (!status.ok()) return transfer.finish(to_error(status, transfer.server, Effect::kRead));
    transfer.finish(transfer.bytes);
  };
  transfer.stream = caller.connection(transfer.server)
                        .stream("/muster.v1.AdminService/Backup", by, std::move(events));
  transfer.stream->send({});
  transfer.stream->close();
}

/// The whole from one server.
Result<std::uint64_t> copy_from(Runtime& runtime, const std::string& server, const BackupSink& sink,
                                MonoTime by) {
  if (Status begun = sink.begin(); !begun) return begun.error();
  Transfer transfer;
  transfer.server = server;
  auto result = transfer.finished.get_future();
  runtime.run([&] { begin(runtime.caller(), transfer, sink, by); });
  Result<std::uint64_t> answer = result.get();
  runtime.run([&] {
    transfer.stream.reset();
    if (answer.is(Errc::kUnavailable)) runtime.caller().board().failed(server);
  });
  return answer;
}

}  // namespace

Result<std::uint64_t> backup(Client& client, const BackupSink& sink, const CallOptions& options) {
  Runtime& runtime = client.runtime();
  if (runtime.on_thread()) {
    return {Errc::kInvalid, "a transfer from a callback of its own client would wait for itself"};
  }
  // The leader's state is the newest, but every server reads the same log.
  const auto health = client.health_check();
  if (!health) return health.error();
  std::vector<std::string> asked;
  std::size_t servers = 0;
  MonoTime by;
  runtime.run([&] {
    runtime.caller().board().learned_leader(health->leader_address);
    servers = runtime.caller().board().servers().size();
    by = runtime.caller().loop().now() + options.timeout;
  });
  while (true) {
    runtime.run([&] { asked.push_back(runtime.caller().board().choose(Aim::kLeader, asked)); });
    Result<std::uint64_t> bytes = copy_from(runtime, asked.back(), sink, by);
    // The leader need not be among the servers that this client was told of.
    if (!bytes.is(Errc::kUnavailable) || asked.size() > servers) return bytes;
  }
}

}  // namespace muster::client
