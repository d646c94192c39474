#include "server/api/backup_stream.h"

#include <utility>

#include "muster/v1/admin.pb.h"
#include "server/rpc/message.h"

namespace muster::server {
namespace {

constexpr std::size_t kWaitingBytesMax = 256 * 1024 * 1024;

}  // namespace

BackupStream::BackupStream(Loop& loop, Random random, rlog::Place source, rpc::CallPtr call)
    : call_(std::move(call)),
      backup_(loop, random, std::move(source),
              [this](std::string_view bytes) { return take(bytes); }) {}

void BackupStream::start() {
  if (call_->over()) return;
  // The call holds this, and lets go when it is over.
  call_->on_over([self = shared_from_this()] {});
  backup_.start([this](const Result<rlog::Index>& last) {
    if (!last) return call_->finish(rpc::to_status(last.error()));
    complete_ = true;
    if (!writing_) send_next();
  });
}

Status BackupStream::take(std::string_view bytes) {
  if (call_->over()) return {Errc::kCancelled, "the client disconnected"};
  if (waiting_bytes_ + bytes.size() > kWaitingBytesMax) {
    return {Errc::kThrottled, "the client reads the backup too slowly"};
  }
  waiting_bytes_ += bytes.size();
  waiting_.emplace_back(bytes);
  if (!writing_) send_next();
  return Done{};
}

void BackupStream::send_next() {
  writing_ = false;
  if (waiting_.empty()) {
    if (complete_) call_->finish({});
    return;
  }
  v1::BackupChunk chunk;
  waiting_bytes_ -= waiting_.front().size();
  chunk.set_data(std::move(waiting_.front()));
  waiting_.pop_front();
  writing_ = true;
  call_->write(rpc::to_payload(chunk), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->send_next();
  });
}

}  // namespace muster::server
