#include "client/campaign_session.h"

#include <utility>

#include "client/campaign_wire.h"

namespace muster::client {
namespace {

constexpr const char* kCampaign = "/muster.v1.ElectionService/Campaign";

/// Not worth another attempt: the request is wrong, or this client may not make it.
bool is_final(const RpcStatus& status) {
  if (status.reach != Reach::kAnswered) return false;
  switch (status.code) {
    case RpcCode::kInvalidArgument:
    case RpcCode::kPermissionDenied:
    case RpcCode::kUnauthenticated:
    case RpcCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

CampaignSession::CampaignSession(Caller& caller, CampaignConfig config, std::string session,
                                 Listener listener)
    : caller_(caller),
      config_(std::move(config)),
      session_(std::move(session)),
      listener_(std::move(listener)),
      machine_(config_, Random(caller.random().next())),
      timer_(caller.loop()) {
  pump();
}

void CampaignSession::pump() {
  CampaignMachine::Events events;
  const CampaignMachine::Work work = machine_.take_work(caller_.loop().now(), events);
  if (work.close && stream_ != nullptr) {
    // Another server next time, if there is one.
    caller_.board().failed(server_);
    stream_.reset();
  }
  if (work.hello) open(*work.hello);
  if (work.beat && stream_ != nullptr) stream_->send(encode_campaign_beat(*work.beat));
  if (work.resign && stream_ != nullptr) stream_->send(encode_resign(*work.resign));
  arm();
  deliver(events);
}

void CampaignSession::arm() {
  const MonoTime due = machine_.work_at();
  if (due == MonoTime::max()) return timer_.cancel();
  timer_.arm(due, [this] { pump(); });
}

void CampaignSession::open(const CampaignMachine::Hello& hello) {
  server_ = caller_.board().choose(Aim::kAny, {});
  StreamEvents events;
  events.message = [this](const std::string& body) { on_message(body); };
  events.end = [this](const RpcStatus& status) { on_end(status); };
  stream_ = caller_.connection(server_).stream(kCampaign, {}, std::move(events));
  stream_->send(encode_hello(config_, session_, hello));
}

void CampaignSession::on_message(const std::string& body) {
  const auto news = decode_campaign_news(body);
  if (!news) {
    return on_end({RpcCode::kUnimplemented, news.error().message, Reach::kSent});
  }
  caller_.board().answered(server_);
  CampaignMachine::Events events;
  machine_.heard(*news, caller_.loop().now(), events);
  arm();
  deliver(events);
}

void CampaignSession::on_end(const RpcStatus& status) {
  caller_.board().failed(server_);
  stream_.reset();
  CampaignMachine::Events events;
  const std::string reason = status.ok() ? server_ + " ended the campaign's stream"
                                         : to_error(status, server_, Effect::kRead).message;
  machine_.stream_ended(reason, is_final(status), caller_.loop().now(), events);
  arm();
  deliver(events);
}

void CampaignSession::deliver(const CampaignMachine::Events& events) {
  const std::weak_ptr<int> alive = lifetime_.token();
  for (const CampaignEvent& event : events) {
    if (listener_) listener_(event);
    if (alive.expired()) return;
  }
}

void CampaignSession::resign(std::string prefer) {
  machine_.resign(std::move(prefer), caller_.loop().now());
  pump();
}

void CampaignSession::work_ended() {
  machine_.work_ended(caller_.loop().now());
  pump();
}

void CampaignSession::stop() {
  machine_.stop(caller_.loop().now());
  pump();
}

}  // namespace muster::client
