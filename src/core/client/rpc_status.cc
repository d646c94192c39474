#include "core/client/rpc_status.h"

#include <algorithm>
#include <initializer_list>

namespace muster::client {
namespace {

bool holds(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

std::string no_grpc(const std::string& server) {
  return server + " does not speak gRPC; check address and port (musterd: 9000 unless set)";
}

std::string unreachable(const std::string& server, const RpcStatus& status) {
  const std::string& why = status.message;
  const std::string detail = why.empty() ? "" : " (" + why + ")";
  if (holds(why, {"DNS resolution failed", "DNS query"})) {
    return "the name in " + server + " cannot be resolved; check its spelling and DNS" + detail;
  }
  if (holds(why, {"http1", "HTTP1", "Failed parsing HTTP/2"})) return no_grpc(server) + detail;
  if (holds(why, {"Connection refused"})) {
    return "nobody listens at " + server + "; check the address, and that musterd runs there" +
           detail;
  }
  if (holds(why, {"Socket closed"})) {
    return server + " closed the connection; check that --cert is of its authority, and neither " +
           "revoked nor over" + detail;
  }
  if (holds(why, {"SSL", "TLS", "handshake"})) {
    return "no secure connection to " + server +
           "; check --cacert, --cert and --key, and that the server uses TLS" + detail;
  }
  // What a server with TLS does to one that comes without, or without a certificate.
  if (holds(why, {"Socket closed", "Endpoint read failed", "Connection reset"})) {
    return server + " ends connections at once; check that it is a musterd, and whether it wants " +
           "TLS (--cacert, --cert and --key)" + detail;
  }
  return server + " cannot be reached; check address and port, the network, and that musterd runs" +
         " there" + detail;
}

std::string no_answer(const std::string& server, const RpcStatus& status) {
  return server + " did not answer; check that it is a musterd, and its health" +
         (status.message.empty() ? "" : " (" + status.message + ")");
}

}  // namespace

Error to_error(const RpcStatus& status, const std::string& server, Effect effect) {
  if (status.reach == Reach::kUnsent) return {Errc::kUnavailable, unreachable(server, status)};
  const std::string said = server + ": " + status.message;
  if (status.reach == Reach::kAnswered) {
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
        if (holds(status.message, {"http2 header with status"})) {
          return {Errc::kUnavailable, no_grpc(server) + " (" + status.message + ")"};
        }
        return {Errc::kUnsupported, said.empty() || status.message.empty()
                                        ? server +
                                              " does not know this request; is it an older "
                                              "musterd?"
                                        : said + "; is it an older musterd?"};
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
