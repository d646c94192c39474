#pragma once

#include <string>

#include "base/result.h"

namespace muster::remote {

/// How far a request had come when it failed.
enum class Stage {
  kUnsent,     ///< Not a byte of the request has left: certainly nothing was done.
  kReadSent,   ///< It may have been answered, and asking again does no harm.
  kWriteSent,  ///< It may have been performed.
};

/// What to do about a failed request.
enum class Reaction {
  kFail,            ///< Report the error.
  kTryAgain,        ///< Nothing was done by it: another attempt, elsewhere, while there is time.
  kReauthenticate,  ///< Nothing was done by it: the token was refused; get a new one, send again.
};

struct Outcome {
  Reaction reaction;
  Error error;              ///< What the caller is told; with kTryAgain when time has run out.
  std::string elsewhere{};  ///< With kTryAgain: host:port of the server to ask, if one was named.
};

}  // namespace muster::remote
