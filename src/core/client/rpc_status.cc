#include "core/client/rpc_status.h"

namespace muster::client {
namespace {

std::string no_grpc(const std::string& server) {
  return server + " does not speak gRPC; check address and port (musterd: default 9000)";
}

std::string unreachable(const std::string& server, Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kName:
      return "the name in " + server + " cannot be resolved; check its spelling and DNS";
    case Obstacle::kNobodyListens:
      return "nothing listens at " + server + "; check the address, and that musterd runs there";
    case Obstacle::kClosed:
      // What a server with TLS does to a client without.
      return server + " closes connections at once; check that it is a musterd, whether it " +
             "requires TLS (--cacert, --cert and --key), and whether it is full (its log says so)";
    case Obstacle::kSilent:
      return server + " accepts connections and sends nothing; check that it is a musterd, its " +
             "health, and whether many connections of this host wait there (its log says so)";
    case Obstacle::kNotGrpc:
      return no_grpc(server);
    case Obstacle::kTls:
      return "no secure connection to " + server +
             "; check --cacert, --cert and --key, and that the server uses TLS";
    case Obstacle::kTurnedAway:
      return server + " closed the connection; check that --cert was issued by a CA that it " +
             "trusts, and is neither revoked nor expired";
    case Obstacle::kOther:
      break;
  }
  return server + " is unreachable; check address and port, the network, and that musterd runs" +
         " there";
}

std::string detail(const RpcStatus& status) {
  return status.message.empty() ? "" : " (" + status.message + ")";
}

std::string no_answer(const std::string& server, const RpcStatus& status) {
  return server + " did not answer; check that it is a musterd, and its health" + detail(status);
}

}  // namespace

Error to_error(const RpcStatus& status, const std::string& server, Effect effect) {
  if (status.reach == Reach::kUnsent) {
    return {Errc::kUnavailable, unreachable(server, status.obstacle) + detail(status)};
  }
  const std::string said = server + ": " + status.message;
  if (status.reach == Reach::kAnswered) {
    if (status.obstacle == Obstacle::kNotGrpc) {
      return {Errc::kUnavailable, no_grpc(server) + detail(status)};
    }
    switch (status.code) {
      case RpcCode::kInvalidArgument:
      case RpcCode::kOutOfRange:
        return {Errc::kInvalid, said};
      case RpcCode::kNotFound:
        return {Errc::kNotFound, said};
      case RpcCode::kFailedPrecondition:
        if (!status.leader_address.empty()) {
          return {Errc::kUnavailable, said + "; the leader is at " + status.leader_address};
        }
        return {Errc::kConflict, said};
      case RpcCode::kAlreadyExists:
      case RpcCode::kAborted:
        return {Errc::kConflict, said};
      case RpcCode::kResourceExhausted:
        return {Errc::kThrottled, said};
      case RpcCode::kUnavailable:
        return {Errc::kUnavailable, said};
      case RpcCode::kPermissionDenied:
      case RpcCode::kUnauthenticated:
        return {Errc::kDenied, said};
      case RpcCode::kUnimplemented:
        return {Errc::kUnsupported, said.empty() || status.message.empty()
                                        ? server +
                                              " does not know this request; it may be an older "
                                              "musterd"
                                        : said + "; it may be an older musterd"};
      case RpcCode::kDataLoss:
        return {Errc::kCorrupt, said};
      default:
        break;
    }
  }
  if (effect != Effect::kRead) {
    return {Errc::kAmbiguous, no_answer(server, status) + "; the change may have happened"};
  }
  return {Errc::kUnavailable, no_answer(server, status)};
}

}  // namespace muster::client
