#include "core/security/credential_generations.h"

#include <utility>

namespace muster::security {

CredentialGenerations::Outcome CredentialGenerations::offer(Result<Credentials> found) {
  if (!found) return refuse(found.error());
  if (generation_ > 0 && *found == current_) {
    trouble_.reset();
    return Outcome::kUnchanged;
  }
  if (Status good = check_(*found); !good) return refuse(good.error());
  current_ = std::move(*found);
  ++generation_;
  trouble_.reset();
  return Outcome::kAdopted;
}

CredentialGenerations::Outcome CredentialGenerations::refuse(Error error) {
  ++refusals_;
  trouble_ = std::move(error);
  return Outcome::kRefused;
}

}  // namespace muster::security
