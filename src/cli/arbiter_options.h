#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "coordinator/hub.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// Which store judges, and how to reach it: the options that all election commands share.
struct ArbiterOptions {
  std::string url;
  std::string name_space = "default";
  HubOptions hub;

  /// --arbiter and the TLS files.
  void declare(CLI::App& app);
  /// --name, and --namespace as the same option; required where `initial` is empty.
  void declare_name(CLI::App& app, const std::string& initial = {});
  void declare_timeout(CLI::App& app);

  /// What must be there is there.
  [[nodiscard]] Status check() const;
  /// For who takes part: others can see this store as well.
  [[nodiscard]] Status check_shared() const;
  [[nodiscard]] Result<std::unique_ptr<Hub>> open(ExistingStore existing) const;
};

}  // namespace muster::cli
