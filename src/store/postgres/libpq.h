#pragma once

#include <libpq-fe.h>

#include "base/result.h"

namespace muster::postgres {

/// The functions of PostgreSQL's client library that are used here. The library is loaded when the
/// first postgres:// address is opened, so that programs with other stores do not load it.
struct Libpq {
  decltype(&PQconnectStartParams) connect_start;
  decltype(&PQconnectPoll) connect_poll;
  decltype(&PQfinish) finish;
  decltype(&PQstatus) status;
  decltype(&PQsocket) socket;
  decltype(&PQerrorMessage) error_message;
  decltype(&PQbackendPID) backend_pid;
  decltype(&PQconninfo) connection_options;
  decltype(&PQconninfoFree) free_options;
  decltype(&PQsetnonblocking) set_nonblocking;
  decltype(&PQenterPipelineMode) enter_pipeline;
  decltype(&PQpipelineSync) pipeline_sync;
  decltype(&PQsendQueryParams) send_query;
  decltype(&PQflush) flush;
  decltype(&PQconsumeInput) consume_input;
  decltype(&PQisBusy) is_busy;
  decltype(&PQgetResult) get_result;
  decltype(&PQnotifies) notifies;
  decltype(&PQfreemem) free_memory;
  decltype(&PQsetNoticeReceiver) set_notice_receiver;
  decltype(&PQresultStatus) result_status;
  decltype(&PQresultErrorField) error_field;
  decltype(&PQntuples) row_count;
  decltype(&PQnfields) field_count;
  decltype(&PQgetisnull) is_null;
  decltype(&PQgetvalue) value;
  decltype(&PQgetlength) length;
  decltype(&PQclear) clear;

  /// Returns kUnsupported and what to install if the library is missing or too old. Any thread.
  [[nodiscard]] static const Result<Libpq>& load();
};

}  // namespace muster::postgres
