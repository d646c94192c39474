#pragma once

#include <memory>
#include <string>

#include "store/muster/client.h"
#include "store/muster/requests.h"
#include "store/remote/resuming_watch.h"

namespace muster::musterd {

/// A watch on musterd: any server serves it from its own copy. It holds at most one message in
/// memory. Threads: loop thread only.
class WatchStream final : public remote::ResumingWatch {
 public:
  WatchStream(Client& client, const Requests& requests, Loop& loop, FindRevision find_revision,
              Setup setup);

 protected:
  void start_stream() override;
  void drop_stream() override;

 private:
  void failed(const std::string& reason);
  void on_message(const std::string& bytes);

  Client& client_;
  const Requests& requests_;
  std::string history_;       ///< The history of revisions, as the server last reported it.
  std::size_t endpoint_ = 0;  ///< The endpoint of the stream.
  std::unique_ptr<rpc::ClientCall> stream_;
};

}  // namespace muster::musterd
