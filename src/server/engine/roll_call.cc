#include "server/engine/roll_call.h"

#include <httplib.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/security/identity.h"

namespace muster::engine {
namespace {

/// Called once for each certificate of a chain, the client's own last.
int only_servers(int good, X509_STORE_CTX* chain) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  X509* shown = X509_STORE_CTX_get_current_cert(chain);
  if (X509_check_host(shown, security::kServerName, 0, X509_CHECK_FLAG_NO_WILDCARDS, nullptr) == 1)
    return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_HOSTNAME_MISMATCH);
  return 0;
}

bool for_servers_only(SSL_CTX& context, const TlsFiles& tls) {
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, only_servers);
  return SSL_CTX_set_min_proto_version(&context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_use_certificate_chain_file(&context, tls.cert.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(&context, tls.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
         SSL_CTX_load_verify_locations(&context, tls.ca.c_str(), nullptr) == 1;
}

}  // namespace

class RollCall::Server {
 public:
  Server(std::unique_ptr<httplib::Server> server, const std::string& name)
      : server_(std::move(server)) {
    server_->Get(kMembersPath, [this, name](const httplib::Request&, httplib::Response& response) {
      const nlohmann::json body{{"waiting", name}, {"sawAll", saw_all_.load()}};
      response.set_content(body.dump(), "application/json");
    });
    // One answer a connection and few threads, so that the end waits for nobody.
    server_->set_keep_alive_max_count(1);
    server_->set_read_timeout(1);
    server_->new_task_queue = [] { return new httplib::ThreadPool(2); };
    // The library's default would let two programs listen at one address.
    server_->set_socket_options([](socket_t socket) {
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
  }
  ~Server() {
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool listen(const Address& address) {
    if (!server_->bind_to_port(address.host, address.port)) return false;
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    // stop() before the thread has come so far would be lost on it.
    while (!server_->is_running()) std::this_thread::yield();
    return true;
  }

  void saw_all() { saw_all_ = true; }

 private:
  std::atomic<bool> saw_all_{false};
  std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
};

RollCall::RollCall() = default;
RollCall::~RollCall() = default;

void RollCall::saw_all() {
  server_->saw_all();
}

Status RollCall::start(const std::string& name, const Address& listen, const TlsFiles& tls) {
  std::unique_ptr<httplib::Server> server;
  if (tls.cert.empty()) {
    server = std::make_unique<httplib::Server>();
  } else {
    server = std::make_unique<httplib::SSLServer>(
        [&tls](SSL_CTX& context) { return for_servers_only(context, tls); });
    if (!server->is_valid()) {
      return {Errc::kInvalid, "the certificates do not fit; check --cert, --key and --cacert"};
    }
  }
  auto candidate = std::make_unique<Server>(std::move(server), name);
  if (!candidate->listen(listen)) {
    return {Errc::kUnavailable, "cannot listen on " + listen.to_string() +
                                    "; it is in use, or no address of this machine"};
  }
  server_ = std::move(candidate);
  return Done{};
}

}  // namespace muster::engine
