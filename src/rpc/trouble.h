#pragma once

#include <cerrno>
#include <string>

namespace muster::rpc {

/// Why a connection could not be established, for messages to people.
struct Trouble {
  enum class Kind {
    kOther,
    kName,        ///< The name of the server cannot be resolved.
    kRefused,     ///< Nothing listens there.
    kClosed,      ///< The peer closed the connection before it sent anything.
    kSilent,      ///< The peer accepted the connection and sent nothing in time.
    kNotGrpc,     ///< The peer speaks another protocol.
    kTls,         ///< The TLS handshake failed.
    kTurnedAway,  ///< The other side ended the connection after the handshake of TLS: as a rule
                  ///< because of the certificate that it was shown.
  };
  Kind kind = Kind::kOther;
  std::string text{};  ///< The cause, such as "Connection refused".
};

/// For the error of connect().
[[nodiscard]] inline Trouble::Kind trouble_kind(int error) {
  return error == ECONNREFUSED ? Trouble::Kind::kRefused : Trouble::Kind::kOther;
}

}  // namespace muster::rpc
