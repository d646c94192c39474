#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "server/config/config.h"

/// Any bytes are a configuration or a sentence, and what passes the checks keeps their promises.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::ServerConfig config;
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  muster::Status status = muster::apply_yaml(config, yaml);
  if (status) {
    config.complete();
    status = config.validate();
  }
  if (!status) {
    MUSTER_CHECK(status.code() == muster::Errc::kInvalid && !status.error().message.empty());
    return 0;
  }
  MUSTER_CHECK(config.insecure ? config.listen.is_loopback() : !config.tls.cert.empty());
  MUSTER_CHECK(!config.managed() || config.own_peer().port != 0 || config.peer_listen);
  MUSTER_CHECK(config.candidate().timings().validate());
  return 0;
}
