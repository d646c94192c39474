#include "cli/engine_options.h"

#include "cli/options.h"
#include "log/keys.h"
#include "store/url.h"

namespace muster::cli {

OpenEngine::~OpenEngine() {
  thread_.run([this] { store_.reset(); });
}

Status OpenEngine::open(const std::string& url, const StoreOptions& options) {
  Result<std::unique_ptr<ObjectStore>> store = Error{Errc::kUnavailable, "not opened"};
  thread_.run([&] { store = open_store(url, thread_.loop(), options); });
  if (!store) return store.error();
  store_ = std::move(*store);
  return Done{};
}

rlog::Place OpenEngine::place(Duration request_timeout) {
  return {*store_, rlog::kServerLog, request_timeout};
}

void EngineOptions::declare(CLI::App& app) {
  add_text(app, "--engine", "URL", url,
           "Engine as in musterd --engine: file:///dir, etcd://…, s3://…");
  add_text(app, "--cacert", "FILE", tls.ca, "CA certificate that verifies the engine (PEM file)");
  add_text(app, "--cert", "FILE", tls.cert, "Client certificate (PEM file); requires --key");
  add_text(app, "--key", "FILE", tls.key, "Private key of --cert (PEM file)");
  add_duration(app, "--timeout", timeout, "Limit for one request to the engine");
}

Result<std::unique_ptr<OpenEngine>> EngineOptions::open(ExistingStore existing) const {
  if (url.empty()) return {Errc::kInvalid, "name the engine: --engine URL"};
  if (url == "managed") {
    return {Errc::kInvalid,
            "only its own server reaches a managed engine: start that server with --restore FILE, "
            "or name its socket while it runs, etcd:///muster?socket=…"};
  }
  if (tls.cert.empty() != tls.key.empty()) {
    return {Errc::kInvalid, "--cert and --key belong together: give both or neither"};
  }
  const auto address = Url::parse(url);
  if (!address) return {Errc::kInvalid, "--engine: " + address.error().message};
  if (address->scheme != "file" && address->scheme != "etcd" && address->scheme != "s3") {
    return {Errc::kInvalid,
            "--engine is file:///dir, etcd://host:port/prefix or s3://bucket/prefix, not " +
                address->scheme + ":"};
  }
  if (existing == ExistingStore::kRequired) {
    if (Status there = check_directory("--engine", url); !there) return there.error();
  }
  auto engine = std::make_unique<OpenEngine>();
  if (Status opened = engine->open(url, {tls}); !opened) return opened.error();
  return engine;
}

}  // namespace muster::cli
