#pragma once

#include <string>

#include "core/membership/service_filter.h"

namespace CLI {
class App;
}

/// Options about services and tags, for several commands.
namespace muster::cli {

/// --service NAME: only nodes of that service.
void add_service_filter(CLI::App& app, membership::ServiceFilter& services);
/// --tag KEY=VALUE, several times.
void add_tags(CLI::App& app, membership::Tags& tags, const std::string& text);

}  // namespace muster::cli
