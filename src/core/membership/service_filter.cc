#include "core/membership/service_filter.h"

#include "core/membership/validation.h"

namespace muster::membership {

Result<ServiceFilter> ServiceFilter::parse(std::string text) {
  if (!text.empty() && text != kAll) {
    if (Status s = validate_service(text); !s) return s.error();
  }
  return ServiceFilter(std::move(text));
}

bool ServiceFilter::contains(NodeType type, std::string_view service) const {
  if (text_.empty()) return service.empty();
  return text_ == kAll || service_of(type, service) == text_;
}

}  // namespace muster::membership
