#include "platform/pki/socket_bio.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace muster::pki {
namespace {

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool not_yet() {
  return errno == EAGAIN || errno == EINTR;
}

int write_to(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(socket_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && not_yet()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_from(BIO* bio, char* to, int room) {
  BIO_clear_retry_flags(bio);
  const auto read = ::recv(socket_of(bio), to, static_cast<std::size_t>(room), 0);
  if (read < 0 && not_yet()) BIO_set_retry_read(bio);
  if (read == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(read);
}

long control(BIO* bio, int what, long, void* to) {
  if (what == BIO_CTRL_FLUSH) return 1;
  if (what == BIO_C_GET_FD) {
    if (to != nullptr) *static_cast<int*>(to) = socket_of(bio);
    return socket_of(bio);
  }
  if (what == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

const BIO_METHOD* method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(
        BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "muster socket");
    if (made != nullptr) {
      BIO_meth_set_write(made, write_to);
      BIO_meth_set_read(made, read_from);
      BIO_meth_set_ctrl(made, control);
    }
    return made;
  }();
  return kMethod;
}

}  // namespace

BIO* new_socket_bio(int fd) {
  if (method() == nullptr) return nullptr;
  BIO* bio = BIO_new(method());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace muster::pki
