#pragma once

#include <cerrno>
#include <string>

namespace muster::rpc {

/// What keeps a connection from coming about, for whoever explains it to people.
struct Trouble {
  enum class Kind {
    kOther,
    kName,        ///< The name of the server cannot be resolved.
    kRefused,     ///< Nobody listens there.
    kClosed,      ///< The other side closed the connection before it said anything.
    kSilent,      ///< The other side took the connection and said nothing in time.
    kNotGrpc,     ///< The other side speaks something else.
    kTls,         ///< The handshake of TLS failed.
    kTurnedAway,  ///< The other side ended the connection after the handshake of TLS: as a rule
                  ///< because of the certificate that it was shown.
  };
  Kind kind = Kind::kOther;
  std::string text{};  ///< The cause, such as "Connection refused".
};

/// Of what connect() failed with.
[[nodiscard]] inline Trouble::Kind trouble_kind(int error) {
  return error == ECONNREFUSED ? Trouble::Kind::kRefused : Trouble::Kind::kOther;
}

}  // namespace muster::rpc
