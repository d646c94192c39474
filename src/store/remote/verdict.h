#pragma once

#include <string>

#include "base/result.h"

namespace muster::remote {

enum class Access {
  kRead,       ///< A repetition does no harm.
  kReadAhead,  ///< Likewise, and it is sent while others are held back.
  kWrite,      ///< A repetition may act twice.
};

/// The reaction to a failed request.
enum class Reaction {
  kFail,            ///< Report the error.
  kTryAgain,        ///< It did nothing: another attempt, elsewhere, while there is time.
  kReauthenticate,  ///< It did nothing: the token was refused; get a new one and retry.
};

struct Verdict {
  Reaction reaction;
  Error error;              ///< For the caller; with kTryAgain only after a timeout.
  std::string elsewhere{};  ///< With kTryAgain: host:port of the server to ask, if named.
};

}  // namespace muster::remote
