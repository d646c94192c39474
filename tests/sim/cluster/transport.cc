#include "tests/sim/cluster/transport.h"

#include <utility>

namespace muster::sim {
namespace {

client::RpcStatus to_client(const rpc::RpcStatus& status, client::Reach reach) {
  return {static_cast<client::RpcCode>(status.code), status.message, reach, status.leader_address,
          status.replaced};
}

/// A call under way and who waits for it; settled once, whichever comes first.
struct Pending {
  std::shared_ptr<Wire> wire;
  std::string body;
  bool settled = false;
};

}  // namespace

class SimTransport::SimCall final : public client::Call {
 public:
  explicit SimCall(std::shared_ptr<Pending> pending) : pending_(std::move(pending)) {}
  ~SimCall() override {
    if (!std::exchange(pending_->settled, true)) pending_->wire->cancel();
  }

 private:
  std::shared_ptr<Pending> pending_;
};

class SimTransport::SimStream final : public client::Stream {
 public:
  SimStream(SimTransport& transport, std::string method, std::shared_ptr<Pending> pending)
      : transport_(transport), method_(std::move(method)), pending_(std::move(pending)) {}
  ~SimStream() override {
    if (!std::exchange(pending_->settled, true)) pending_->wire->cancel();
  }
  void send(std::string message) override {
    transport_.tell(method_, true, message);
    pending_->wire->send(std::move(message));
  }
  void close() override { pending_->wire->close(); }

 private:
  SimTransport& transport_;
  std::string method_;
  std::shared_ptr<Pending> pending_;
};

class SimTransport::SimConnection final : public client::Connection {
 public:
  SimConnection(SimTransport& transport, std::string server)
      : transport_(transport), server_(std::move(server)) {}

  std::unique_ptr<client::Call> unary(const std::string& method, std::string body, MonoTime by,
                                      UnaryDone done) override {
    auto pending = std::make_shared<Pending>();
    const auto settle = [pending, done = std::move(done)](const client::RpcStatus& status) {
      if (!std::exchange(pending->settled, true)) done(status, std::move(pending->body));
    };
    Process& process = transport_.process_;
    pending->wire = transport_.network_.open(
        transport_.host_, process, {server_, method, false, by - process.now(), true},
        {[pending](std::string message) { pending->body = std::move(message); },
         [settle](const rpc::RpcStatus& status, client::Reach reach) {
           settle(to_client(status, reach));
         }});
    process.at(by, [pending, settle] {
      if (pending->settled) return;
      const client::Reach reach =
          pending->wire->sent() ? client::Reach::kSent : client::Reach::kUnsent;
      pending->wire->cancel();
      settle({client::RpcCode::kDeadlineExceeded, "no answer in time", reach, {}});
    });
    pending->wire->send(std::move(body));
    pending->wire->close();
    return std::make_unique<SimCall>(pending);
  }

  std::unique_ptr<client::Stream> stream(const std::string& method, std::optional<MonoTime>,
                                         client::StreamEvents events) override {
    auto pending = std::make_shared<Pending>();
    SimTransport& transport = transport_;
    pending->wire = transport_.network_.open(
        transport_.host_, transport_.process_, {server_, method},
        {[&transport, method, pending, heard = events.message](std::string message) {
           if (pending->settled) return;
           transport.tell(method, false, message);
           heard(std::move(message));
         },
         [pending, end = events.end](const rpc::RpcStatus& status, client::Reach reach) {
           if (!std::exchange(pending->settled, true)) end(to_client(status, reach));
         }});
    return std::make_unique<SimStream>(transport_, method, pending);
  }

 private:
  SimTransport& transport_;
  std::string server_;
};

std::unique_ptr<client::Connection> SimTransport::connect(const std::string& server) {
  return std::make_unique<SimConnection>(*this, server);
}

void SimPeers::call_peer(const std::string& address, const std::string& method, std::string request,
                         Duration timeout, std::function<void(rpc::RpcStatus, std::string)> done,
                         rpc::Metadata) {
  auto pending = std::make_shared<Pending>();
  const auto settle = [pending, done = std::move(done)](rpc::RpcStatus status,
                                                        client::Reach reach) {
    if (std::exchange(pending->settled, true)) return;
    if (reach == client::Reach::kUnsent) {
      status = {rpc::Code::kUnavailable, "the leader is unreachable", {}};
    } else if (reach == client::Reach::kSent) {
      status = {rpc::Code::kUnknown, "the leader did not answer", {}};
    }
    done(std::move(status), std::move(pending->body));
  };
  pending->wire = network_.open(
      host_, process_, {address, method, true, timeout},
      {[pending](std::string message) { pending->body = std::move(message); }, settle});
  process_.at(process_.now() + timeout, [pending, settle] {
    if (pending->settled) return;
    const client::Reach reach =
        pending->wire->sent() ? client::Reach::kSent : client::Reach::kUnsent;
    pending->wire->cancel();
    settle({rpc::Code::kDeadlineExceeded, "", {}}, reach);
  });
  pending->wire->send(std::move(request));
  pending->wire->close();
}

}  // namespace muster::sim
