#include "store/postgres/libpq.h"

#include <dlfcn.h>

#include <string>

namespace muster::postgres {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

/// Finds functions in the library until one is missing.
class Binder {
 public:
  explicit Binder(void* library) : library_(library) {}

  template <typename Function>
  void bind(Function& function, const char* name) {
    void* const found = ::dlsym(library_, name);
    if (found == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function>(found);
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

Result<Libpq> load_libpq() {
  // Never unloaded: it keeps callbacks in OpenSSL.
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return {Errc::kUnsupported, std::string("postgres:// needs PostgreSQL's client library ") +
                                    kLibrary +
                                    "; install it (on Debian: apt install libpq5), or use another "
                                    "store"};
  }
  Libpq pq{};
  Binder binder(library);
  binder.bind(pq.connect_start, "PQconnectStartParams");
  binder.bind(pq.connect_poll, "PQconnectPoll");
  binder.bind(pq.finish, "PQfinish");
  binder.bind(pq.status, "PQstatus");
  binder.bind(pq.socket, "PQsocket");
  binder.bind(pq.error_message, "PQerrorMessage");
  binder.bind(pq.backend_pid, "PQbackendPID");
  binder.bind(pq.connection_options, "PQconninfo");
  binder.bind(pq.free_options, "PQconninfoFree");
  binder.bind(pq.set_nonblocking, "PQsetnonblocking");
  binder.bind(pq.enter_pipeline, "PQenterPipelineMode");
  binder.bind(pq.pipeline_sync, "PQpipelineSync");
  binder.bind(pq.send_query, "PQsendQueryParams");
  binder.bind(pq.flush, "PQflush");
  binder.bind(pq.consume_input, "PQconsumeInput");
  binder.bind(pq.is_busy, "PQisBusy");
  binder.bind(pq.get_result, "PQgetResult");
  binder.bind(pq.notifies, "PQnotifies");
  binder.bind(pq.free_memory, "PQfreemem");
  binder.bind(pq.set_notice_receiver, "PQsetNoticeReceiver");
  binder.bind(pq.result_status, "PQresultStatus");
  binder.bind(pq.error_field, "PQresultErrorField");
  binder.bind(pq.row_count, "PQntuples");
  binder.bind(pq.field_count, "PQnfields");
  binder.bind(pq.is_null, "PQgetisnull");
  binder.bind(pq.value, "PQgetvalue");
  binder.bind(pq.length, "PQgetlength");
  binder.bind(pq.clear, "PQclear");
  if (binder.missing().empty()) return pq;
  return {Errc::kUnsupported,
          std::string("postgres:// needs PostgreSQL's client library of version "
                      "14 or later: ") +
              kLibrary + " has no " + binder.missing()};
}

}  // namespace

const Result<Libpq>& Libpq::load() {
  static const Result<Libpq> kLoaded = load_libpq();
  return kLoaded;
}

}  // namespace muster::postgres
