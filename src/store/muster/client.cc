#include "store/muster/client.h"

#include "store/muster/outcome.h"

namespace muster::musterd {

remote::Outcome Client::judge(const grpc::Status& status, const grpc::ClientContext& context,
                              remote::Stage stage) const {
  const auto& trailer = context.GetServerTrailingMetadata();
  const auto leader = trailer.find("leader-address");
  return musterd::judge(
      {status.error_code(), status.error_message(),
       leader == trailer.end() ? std::string()
                               : std::string(leader->second.data(), leader->second.size())},
      stage);
}

}  // namespace muster::musterd
