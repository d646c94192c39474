#pragma once

#include <memory>
#include <string>

#include "store/muster/client.h"
#include "store/muster/requests.h"
#include "store/remote/resuming_watch.h"

namespace muster::musterd {

/// A watch on musterd: any server serves it from its own copy. At most one message is in memory.
/// Loop thread only.
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
  void finish(const std::shared_ptr<Stream>& stream);
  [[nodiscard]] bool current(const std::shared_ptr<Stream>& stream) const {
    return !closed() && stream_ == stream;
  }
  std::shared_ptr<WatchStream> self() {
    return std::static_pointer_cast<WatchStream>(shared_from_this());
  }

  Client& client_;
  const Requests& requests_;
  std::string history_;  ///< What revisions count in, as the server told last.
  std::shared_ptr<Stream> stream_;
};

}  // namespace muster::musterd
