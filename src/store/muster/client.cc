#include "store/muster/client.h"

#include "store/muster/outcome.h"

namespace muster::musterd {

remote::Outcome Client::judge(const grpc::Status& status, const grpc::ClientContext& context,
                              remote::Stage stage) const {
  const auto& trailer = context.GetServerTrailingMetadata();
  Failure failure{status.error_code(), status.error_message(), {}};
  if (const auto leader = trailer.find("leader-address"); leader != trailer.end()) {
    failure.leader.assign(leader->second.data(), leader->second.size());
  }
  failure.spoken = trailer.contains("muster-server");
  return musterd::judge(failure, stage);
}

}  // namespace muster::musterd
