#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "server/web/api_json.h"

/// Messages of the contract as JSON, the same way for all of them: fields have the names of the
/// .proto files, enum values have no prefix (ACTIVE), numbers are numbers.
namespace muster::server {

/// Every field in the order of its declaration; messages and choices only if they are set.
[[nodiscard]] Json to_json(const google::protobuf::Message& message);

/// Sets the fields that the object names. kInvalid names the field that is unknown, or has another
/// type or range. Fields that are null stay unset.
[[nodiscard]] Status from_json(const Json& object, google::protobuf::Message& message);

/// The object in the body of a request. kInvalid if the text is no JSON object, is nested too deep,
/// or names a member twice.
[[nodiscard]] Result<Json> parse_object(std::string_view text);

}  // namespace muster::server
