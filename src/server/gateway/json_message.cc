#include "server/gateway/json_message.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/json_bounds.h"
#include "base/text.h"

namespace muster::server {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// NodeState gives NODE_STATE_, which all of its values begin with.
std::string prefix_of(const EnumDescriptor& type) {
  std::string prefix;
  for (const char c : type.name()) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !prefix.empty()) prefix += '_';
    prefix += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return prefix + '_';
}

Json enum_json(const EnumDescriptor& type, int number) {
  const EnumValueDescriptor* value = type.FindValueByNumber(number);
  // A value that only a newer server knows is shown with its number rather than not at all.
  if (value == nullptr) return number;
  const std::string prefix = prefix_of(type);
  return value->name().starts_with(prefix) ? value->name().substr(prefix.size()) : value->name();
}

/// One value of a field: of a single one with index −1.
Json value_json(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return one ? r.GetUInt64(message, &field) : r.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? r.GetDouble(message, &field) : r.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? r.GetFloat(message, &field) : r.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return enum_json(*field.enum_type(), one ? r.GetEnumValue(message, &field)
                                               : r.GetRepeatedEnumValue(message, &field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return one ? r.GetString(message, &field) : r.GetRepeatedString(message, &field, index);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return to_json(one ? r.GetMessage(message, &field)
                         : r.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

Json map_json(const Message& message, const FieldDescriptor& field) {
  Json object = Json::object();
  const Reflection& r = *message.GetReflection();
  for (int i = 0; i < r.FieldSize(message, &field); ++i) {
    const Message& entry = r.GetRepeatedMessage(message, &field, i);
    const auto& type = *entry.GetDescriptor();
    const Json key = value_json(entry, *type.map_key(), -1);
    object[key.is_string() ? key.get<std::string>() : key.dump()] =
        value_json(entry, *type.map_value(), -1);
  }
  return object;
}

Error wrong(const FieldDescriptor& field, const std::string& what) {
  return {Errc::kInvalid, field.name() + " must be " + what};
}

template <typename T>
Result<T> number_in(const Json& json, const FieldDescriptor& field) {
  constexpr auto kMin = std::numeric_limits<T>::min();
  constexpr auto kMax = std::numeric_limits<T>::max();
  bool fits = json.is_number_integer();
  if (fits && !json.is_number_unsigned() && json.get<std::int64_t>() < 0) {
    fits = std::numeric_limits<T>::is_signed &&
           json.get<std::int64_t>() >= static_cast<std::int64_t>(kMin);
  } else if (fits) {
    fits = json.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMax);
  }
  if (fits) return json.get<T>();
  return wrong(field,
               "a whole number from " + std::to_string(kMin) + " to " + std::to_string(kMax));
}

Result<int> enum_in(const Json& json, const FieldDescriptor& field) {
  const EnumDescriptor& type = *field.enum_type();
  const std::string prefix = prefix_of(type);
  std::string known;
  for (int i = 0; i < type.value_count(); ++i) {
    std::string name = type.value(i)->name();
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    if (json.is_string() && json.get<std::string>() == name) return type.value(i)->number();
    known += (known.empty() ? "" : ", ") + name;
  }
  return wrong(field, "one of " + known);
}

/// Sets a single field, or adds to a repeated one.
Status put_value(const Json& json, Message& message, const FieldDescriptor& field) {
  const Reflection& r = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto number = number_in<std::int32_t>(json, field);
      if (!number) return number.error();
      many ? r.AddInt32(&message, &field, *number) : r.SetInt32(&message, &field, *number);
      return Done{};
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const auto number = number_in<std::int64_t>(json, field);
      if (!number) return number.error();
      many ? r.AddInt64(&message, &field, *number) : r.SetInt64(&message, &field, *number);
      return Done{};
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto number = number_in<std::uint32_t>(json, field);
      if (!number) return number.error();
      many ? r.AddUInt32(&message, &field, *number) : r.SetUInt32(&message, &field, *number);
      return Done{};
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto number = number_in<std::uint64_t>(json, field);
      if (!number) return number.error();
      many ? r.AddUInt64(&message, &field, *number) : r.SetUInt64(&message, &field, *number);
      return Done{};
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!json.is_boolean()) return wrong(field, "true or false");
      many ? r.AddBool(&message, &field, json.get<bool>())
           : r.SetBool(&message, &field, json.get<bool>());
      return Done{};
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto number = enum_in(json, field);
      if (!number) return number.error();
      many ? r.AddEnumValue(&message, &field, *number) : r.SetEnumValue(&message, &field, *number);
      return Done{};
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (!json.is_string()) return wrong(field, "a string");
      many ? r.AddString(&message, &field, json.get<std::string>())
           : r.SetString(&message, &field, json.get<std::string>());
      return Done{};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!json.is_object()) return wrong(field, "an object");
      return from_json(
          json, many ? *r.AddMessage(&message, &field) : *r.MutableMessage(&message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      break;
  }
  return wrong(field, "left out: it cannot be given as JSON");
}

Status put_map(const Json& json, Message& message, const FieldDescriptor& field) {
  if (!json.is_object()) return wrong(field, "an object");
  const Reflection& r = *message.GetReflection();
  for (const auto& [name, value] : json.items()) {
    Message& entry = *r.AddMessage(&message, &field);
    const auto& type = *entry.GetDescriptor();
    if (Status put = put_value(Json(name), entry, *type.map_key()); !put) return put;
    if (const Status put = put_value(value, entry, *type.map_value()); !put) {
      return {put.error().code, field.name() + "." + name + ": " + put.error().message};
    }
  }
  return Done{};
}

}  // namespace

Json to_json(const Message& message) {
  Json object = Json::object();
  const Reflection& r = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_map()) {
      object[field.name()] = map_json(message, field);
    } else if (field.is_repeated()) {
      Json list = Json::array();
      for (int k = 0; k < r.FieldSize(message, &field); ++k) {
        list.push_back(value_json(message, field, k));
      }
      object[field.name()] = std::move(list);
    } else if (!field.has_presence() || r.HasField(message, &field)) {
      object[field.name()] = value_json(message, field, -1);
    }
  }
  return object;
}

Status from_json(const Json& object, Message& message) {
  const auto& type = *message.GetDescriptor();
  for (const auto& [name, value] : object.items()) {
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr) return {Errc::kInvalid, "the field " + name + " is not known"};
    if (value.is_null()) continue;
    Status put = Done{};
    if (field->is_map()) {
      put = put_map(value, message, *field);
    } else if (!field->is_repeated()) {
      put = put_value(value, message, *field);
    } else if (!value.is_array()) {
      put = wrong(*field, "an array");
    } else {
      for (const Json& each : value) {
        if (put = put_value(each, message, *field); !put) break;
      }
    }
    if (!put) return put;
  }
  return Done{};
}

Result<Json> parse_object(std::string_view text) {
  if (Status bounded = check_json_bounds(text); !bounded) {
    return {Errc::kInvalid, bounded.error().message};
  }
  // Of a name given twice, two programs may take different values.
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key &&
        !names.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json json = Json::parse(text, watch, false);
  if (json.is_discarded()) return {Errc::kInvalid, "the body is not valid JSON"};
  if (!json.is_object()) return {Errc::kInvalid, "the body must be a JSON object"};
  if (!twice.empty()) return {Errc::kInvalid, "the field " + twice + " is given twice"};
  return json;
}

}  // namespace muster::server
