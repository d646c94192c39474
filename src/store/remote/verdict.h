#pragma once

#include <string>

#include "base/result.h"

namespace muster::remote {

enum class Access {
  kRead,       ///< Asking twice does no harm.
  kReadAhead,  ///< The same, and it goes out while others are held back.
  kWrite,      ///< Asking twice may act twice.
};

/// What to do about a failed request.
enum class Reaction {
  kFail,            ///< Report the error.
  kTryAgain,        ///< Nothing was done by it: another attempt, elsewhere, while there is time.
  kReauthenticate,  ///< Nothing was done by it: the token was refused; get a new one, send again.
};

struct Verdict {
  Reaction reaction;
  Error error;              ///< What the caller is told; with kTryAgain when time has run out.
  std::string elsewhere{};  ///< With kTryAgain: host:port of the server to ask, if one was named.
};

}  // namespace muster::remote
