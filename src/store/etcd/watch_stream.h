#pragma once

#include <memory>

#include "store/etcd/client.h"
#include "store/etcd/requests.h"
#include "store/remote/resuming_watch.h"

namespace muster::etcd {

/// A watch on etcd. At most one answer of etcd is in memory. Loop thread only.
class WatchStream final : public remote::ResumingWatch {
 public:
  WatchStream(Client& client, const Requests& requests, Loop& loop, FindRevision find_revision,
              Setup setup);

 protected:
  void start_stream() override;
  void drop_stream() override;

 private:
  struct Stream;

  void read(const std::shared_ptr<Stream>& stream);
  void on_response(const std::shared_ptr<Stream>& stream);
  void deliver_events(const std::shared_ptr<Stream>& stream);
  [[nodiscard]] bool current(const std::shared_ptr<Stream>& stream) const {
    return !closed() && stream_ == stream;
  }
  std::shared_ptr<WatchStream> self() {
    return std::static_pointer_cast<WatchStream>(shared_from_this());
  }

  Client& client_;
  const Requests& requests_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace muster::etcd
