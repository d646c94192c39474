#include "cli/arbiter_options.h"

#include "cli/options.h"
#include "core/election/records.h"

namespace muster::cli {

void ArbiterOptions::declare(CLI::App& app) {
  add_text(
      app, "--arbiter", "URL", url,
      "Store that decides the election: file:///…, s3://…, postgres://…, etcd://…, muster://…");
  add_text(app, "--cacert", "FILE", hub.ca_file,
           "CA certificate that verifies the store's server (PEM file)");
  add_text(app, "--cert", "FILE", hub.cert_file, "Client certificate (PEM file); requires --key");
  add_text(app, "--key", "FILE", hub.key_file, "Private key of --cert (PEM file)");
}

void ArbiterOptions::declare_name(CLI::App& app, const std::string& initial) {
  name_space = initial;
  add_text(app, "--name,--namespace", "NAME", name_space, "Election name");
}

void ArbiterOptions::declare_timeout(CLI::App& app) {
  add_duration(app, "--timeout", hub.store_timeout, "Limit for one request to the store");
}

Status ArbiterOptions::check() const {
  if (url.empty()) {
    return {Errc::kInvalid,
            "name the store that decides the election: --arbiter URL (such as "
            "file:///var/lib/app/muster) or MUSTER_ARBITER"};
  }
  if (hub.cert_file.empty() != hub.key_file.empty()) {
    return {Errc::kInvalid, "--cert and --key belong together: give both or neither"};
  }
  if (name_space.empty()) {
    return {Errc::kInvalid, "name the election: --name NAME or MUSTER_NAME"};
  }
  if (hub.store_timeout <= Duration(0)) return {Errc::kInvalid, "--timeout must be above zero"};
  return validate_name("election name", name_space);
}

Status ArbiterOptions::check_shared() const {
  if (!url.starts_with("memory:")) return Done{};
  return {Errc::kInvalid,
          "memory: belongs to this process alone, so every node would lead; give --arbiter a "
          "store that all nodes share (file:///…, s3://…, postgres://…, etcd://…, "
          "muster://…)"};
}

Result<std::unique_ptr<Hub>> ArbiterOptions::open(ExistingStore existing) const {
  if (Status status = check(); !status) return status.error();
  if (existing == ExistingStore::kRequired) {
    if (Status there = check_directory("--arbiter", url); !there) return there.error();
  }
  return Hub::open(url, hub);
}

}  // namespace muster::cli
