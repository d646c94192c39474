#pragma once

#include <openssl/bio.h>

namespace muster::pki {

/// OpenSSL's way to a socket, which stays its caller's. Unlike OpenSSL's own it raises no SIGPIPE
/// when the other side is gone: that would end a program that merely uses this library.
/// SSL_get_fd() finds the socket. Null without memory.
[[nodiscard]] BIO* new_socket_bio(int fd);

}  // namespace muster::pki
