#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <optional>
#include <set>
#include <utility>

#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/rpc/message.h"

namespace muster::rpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using ReflectionRequest = grpc::reflection::v1alpha::ServerReflectionRequest;
using ReflectionResponse = grpc::reflection::v1alpha::ServerReflectionResponse;

void not_found(ReflectionResponse& response, const std::string& what) {
  auto& error = *response.mutable_error_response();
  error.set_error_code(static_cast<int>(Code::kNotFound));
  error.set_error_message("this server does not know " + what);
}

/// The file and, before it, everything that it imports.
void add_files(const FileDescriptor& file, std::set<std::string>& added,
               ReflectionResponse& response) {
  if (!added.insert(file.name()).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.mutable_file_descriptor_response()->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) {
    add_files(*file.dependency(i), added, response);
  }
}

void describe(const FileDescriptor* file, const std::string& what, ReflectionResponse& response) {
  if (file == nullptr) return not_found(response, what);
  std::set<std::string> added;
  add_files(*file, added, response);
}

void extensions_of(const std::string& type, ReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const auto* extended = pool.FindMessageTypeByName(type);
  if (extended == nullptr) return not_found(response, type);
  std::vector<const google::protobuf::FieldDescriptor*> extensions;
  pool.FindAllExtensions(extended, &extensions);
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  for (const auto* extension : extensions) numbers.add_extension_number(extension->number());
}

ReflectionResponse answer(const ReflectionRequest& request,
                          const std::vector<std::string>& services) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ReflectionRequest::kFileByFilename:
      describe(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(),
               response);
      break;
    case ReflectionRequest::kFileContainingSymbol:
      describe(pool.FindFileContainingSymbol(request.file_containing_symbol()),
               request.file_containing_symbol(), response);
      break;
    case ReflectionRequest::kFileContainingExtension: {
      const auto& wanted = request.file_containing_extension();
      const auto* type = pool.FindMessageTypeByName(wanted.containing_type());
      const auto* field =
          type == nullptr ? nullptr : pool.FindExtensionByNumber(type, wanted.extension_number());
      describe(field == nullptr ? nullptr : field->file(),
               "extension " + std::to_string(wanted.extension_number()) + " of " +
                   wanted.containing_type(),
               response);
      break;
    }
    case ReflectionRequest::kAllExtensionNumbersOfType:
      extensions_of(request.all_extension_numbers_of_type(), response);
      break;
    case ReflectionRequest::kListServices:
      for (const std::string& name : services) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      break;
    case ReflectionRequest::MESSAGE_REQUEST_NOT_SET: {
      auto& error = *response.mutable_error_response();
      error.set_error_code(static_cast<int>(Code::kInvalidArgument));
      error.set_error_message("message_request must be set");
      break;
    }
  }
  return response;
}

void next(const CallPtr& call, const std::vector<std::string>& services) {
  call->read([call, services](std::optional<std::string> bytes) {
    ReflectionRequest request;
    if (!bytes) return call->finish({});
    if (!parse(call, *bytes, request)) return;
    call->write(to_payload(answer(request, services)), [call, services] { next(call, services); });
  });
}

}  // namespace

bool answer_reflection(const CallPtr& call, const std::vector<std::string>& services) {
  if (call->method() != "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo") {
    return false;
  }
  next(call, services);
  return true;
}

}  // namespace muster::rpc
