#pragma once

namespace muster::remote {

/// What an operation of gRPC calls when it is done; the tags on a LoopQueue are pointers to one.
/// It must live until then.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void complete(bool ok) = 0;
};

}  // namespace muster::remote
