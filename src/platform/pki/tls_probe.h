#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/pki/certificate.h"
#include "platform/pki/tls_files.h"

namespace muster::pki {

/// What a TLS handshake with a server shows, whatever is wrong with it.
struct TlsFindings {
  enum class Answer {
    kNone,       ///< It cannot be reached, or says nothing in time.
    kPlaintext,  ///< It does not speak TLS.
    kClosed,     ///< It accepted the connection and closed it before it said anything.
    kTls,        ///< It spoke TLS and accepted this side.
    kRefused,    ///< It spoke TLS and refused this side, or hung up.
    kSentAway,   ///< It accepted this side, and ended the connection in HTTP/2.
  };
  Answer answer = Answer::kNone;
  /// The alert by which it refused, in OpenSSL's words; empty when it hung up without one.
  std::string alert{};
  std::string farewell{};  ///< Its words when it sent this side away; may be empty.
  std::optional<CertificateFacts> certificate{};  ///< Its own.
  bool trusted = false;     ///< One of the authorities has issued it; dates are not looked at.
  bool name_holds = false;  ///< It holds the host's name or address.
};

/// Shakes hands with host:port (or [v6]:port) as a client that accepts every certificate, and looks
/// whether the server accepts this side. Nothing is asked of the server: this serves to explain why
/// a connection that was to be safe did not come about, and nothing else. Blocks for at most
/// `limit`, the resolver apart. Any thread.
[[nodiscard]] TlsFindings probe_tls(const std::string& server, const TlsTexts& brought,
                                    Duration limit);

}  // namespace muster::pki
