#pragma once

#include <memory>
#include <string>

#include "base/time.h"

namespace muster {

/// musterd's StoreService in this process, over the same pure store, for faults that the real one
/// cannot be made to show: each answer can be replaced or lost. Listens on a loopback port of its
/// own. Any thread.
class StoreServiceDouble {
 public:
  /// What becomes of one request.
  struct Fault {
    bool perform = false;  ///< Whether the request takes effect before this answer.
    int code = 0;          ///< A gRPC status code; 0 for none: the call hangs until it is given up.
    std::string message;
    std::string leader;   ///< As metadata `leader-address`.
    bool spoken = false;  ///< Marked as musterd marks its own answers.
  };

  StoreServiceDouble();
  ~StoreServiceDouble();
  StoreServiceDouble(const StoreServiceDouble&) = delete;
  StoreServiceDouble& operator=(const StoreServiceDouble&) = delete;

  [[nodiscard]] std::string endpoint() const;  ///< 127.0.0.1:port
  [[nodiscard]] std::string url(const std::string& prefix) const;

  /// The next request of this method ("Put") meets this; several are met one after another.
  void next(const std::string& method, Fault fault);
  /// Every request of this method meets this.
  void always(const std::string& method, Fault fault);
  /// How many requests of this method came in.
  [[nodiscard]] int count(const std::string& method) const;

  /// Ends all watches with UNAVAILABLE, as a server that stops does.
  void break_watches();
  /// Forgets the history of changes, so that no watch can resume.
  void forget_history();
  /// The content is gone and revisions begin anew, as in a store restored from an old copy.
  void go_back_in_time();
  /// Leaves the port: connections are refused or broken. There is no way back.
  void shut_down();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace muster
