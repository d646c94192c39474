#pragma once

#include <memory>
#include <string>

#include "store/etcd/client.h"
#include "store/etcd/requests.h"
#include "store/remote/resuming_watch.h"

namespace muster::etcd {

/// A watch on etcd. It holds at most one answer in memory. Threads: loop thread only.
class WatchStream final : public remote::ResumingWatch {
 public:
  WatchStream(Client& client, const Requests& requests, Loop& loop, FindRevision find_revision,
              Setup setup);
  ~WatchStream() override;

 protected:
  void start_stream() override;
  void drop_stream() override;

 private:
  struct Stream;

  void failed(const std::string& reason);
  void on_message(const std::string& bytes);
  void deliver_events();

  Client& client_;
  const Requests& requests_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace muster::etcd
