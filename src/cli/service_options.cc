#include "cli/service_options.h"

#include "cli/options.h"
#include "core/membership/validation.h"

namespace muster::cli {

void add_service_filter(CLI::App& app, membership::ServiceFilter& services) {
  add_value(app, "--service", "NAME", "", "Only nodes of this service",
            [&services](const std::string& text) {
              if (Status s = membership::validate_service(text); !s) return s;
              services = *membership::ServiceFilter::parse(text);
              return Status(Done{});
            });
}

void add_tags(CLI::App& app, membership::Tags& tags, const std::string& text) {
  add_values(app, "--tag", "KEY=VALUE", text, [&tags](const std::string& tag) -> Status {
    const std::size_t equals = tag.find('=');
    if (equals == std::string::npos) {
      return {Errc::kInvalid, "\"" + tag + "\" is no tag; write KEY=VALUE"};
    }
    const std::string key = tag.substr(0, equals);
    const std::string value = tag.substr(equals + 1);
    if (Status s = membership::validate_tag_key(key); !s) return s;
    if (Status s = membership::validate_tag_value(key, value); !s) return s;
    if (tags.emplace(key, value).second || tags[key] == value) return Done{};
    return {Errc::kInvalid, "the tag " + key + " is given twice"};
  });
}

}  // namespace muster::cli
