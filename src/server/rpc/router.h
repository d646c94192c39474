#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "rpc/call.h"

namespace muster::rpc {

/// Maps methods to functions. Every call of every listener passes dispatch(), the one place to
/// check the caller. Threads: loop thread only.
class Router {
 public:
  using Handler = std::function<void(CallPtr)>;

  /// `method` is "/package.Service/Method".
  void add(std::string method, Handler handler);
  void dispatch(const CallPtr& call) const;

 private:
  std::unordered_map<std::string, Handler> handlers_;
};

}  // namespace muster::rpc
