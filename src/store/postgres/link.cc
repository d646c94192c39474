#include "store/postgres/link.h"

#include <sys/epoll.h>

#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster::postgres {
namespace {

// Types of parameters, as PostgreSQL numbers them.
constexpr Oid kTextType = 25;
constexpr Oid kBytesType = 17;
constexpr Oid kNumberType = 20;
constexpr Oid kTextsType = 1009;

Oid type_of(Parameter::Type type) {
  switch (type) {
    case Parameter::Type::kBytes:
      return kBytesType;
    case Parameter::Type::kNumber:
      return kNumberType;
    case Parameter::Type::kTexts:
      return kTextsType;
    case Parameter::Type::kText:
      break;
  }
  return kTextType;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : trim(text)) {
    const bool space = c == '\n' || c == '\t' || c == ' ';
    if (space && line.ends_with(' ')) continue;
    line += space ? ' ' : c;
  }
  return without_controls(line);
}

/// Keeps the pointers that libpq takes.
struct Words {
  explicit Words(const std::map<std::string, std::string>& parameters) {
    for (const auto& [name, value] : parameters) add(name.c_str(), value.c_str());
  }
  void add(const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  }
  std::vector<const char*> names;
  std::vector<const char*> values;
};

std::string field(const Libpq& pq, const PGresult* result, int code) {
  const char* const text = pq.error_field(result, code);
  return text == nullptr ? std::string() : std::string(text);
}

ServerError error_of(const Libpq& pq, const PGresult* result) {
  ServerError error;
  error.state = field(pq, result, PG_DIAG_SQLSTATE);
  error.severity = field(pq, result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (error.severity.empty()) error.severity = field(pq, result, PG_DIAG_SEVERITY);
  error.message = on_one_line(field(pq, result, PG_DIAG_MESSAGE_PRIMARY));
  return error;
}

}  // namespace

Link::Link(const Libpq& pq, EventLoop& loop, const std::map<std::string, std::string>& parameters,
           Events events)
    : pq_(pq), loop_(loop), events_(std::move(events)) {
  Words words(parameters);
  words.add("client_encoding", "UTF8");
  words.add("fallback_application_name", "muster");
  words.add(nullptr, nullptr);
  connection_ = pq_.connect_start(words.names.data(), words.values.data(), 0);
  // What ends at once is told from the loop, as everything else.
  loop_.post(lifetime_.wrap([this] {
    if (ended_) return;
    if (connection_ == nullptr) return end("out of memory");
    pq_.set_notice_receiver(connection_, &Link::on_notice, this);
    if (pq_.status(connection_) == CONNECTION_BAD) return end(last_error());
    watch(EPOLLOUT);
  }));
}

Link::~Link() {
  unwatch();
  if (connection_ != nullptr) pq_.finish(connection_);
}

void Link::close() {
  ended_ = true;
  unwatch();
}

int Link::announced_process() const {
  return pq_.backend_pid(connection_);
}

void Link::poll() {
  // libpq may go on with another socket, and close this one.
  unwatch();
  switch (pq_.connect_poll(connection_)) {
    case PGRES_POLLING_READING:
      return watch(EPOLLIN);
    case PGRES_POLLING_WRITING:
      return watch(EPOLLOUT);
    case PGRES_POLLING_OK:
      break;
    default:
      return end(last_error());
  }
  if (pq_.set_nonblocking(connection_, 1) != 0 || pq_.enter_pipeline(connection_) != 1) {
    return end(last_error());
  }
  connected_ = true;
  watch(EPOLLIN);
  events_.connected();
}

void Link::watch(std::uint32_t events) {
  const int fd = pq_.socket(connection_);
  if (fd < 0) return end(last_error());
  if (fd == watched_ && events == watched_events_) return;
  if (fd != watched_) unwatch();
  watched_ = fd;
  watched_events_ = events;
  loop_.watch_fd(fd, events, [this](std::uint32_t ready) { on_ready(ready); });
}

void Link::unwatch() {
  if (watched_ >= 0) loop_.unwatch_fd(std::exchange(watched_, -1));
  watched_events_ = 0;
}

void Link::on_ready(std::uint32_t events) {
  if (!connected_) return poll();
  // The callbacks may destroy this link.
  const std::weak_ptr<int> alive = lifetime_.token();
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read();
  if (!alive.expired() && !ended_) flush();
}

void Link::send(const Statement& statement) {
  MUSTER_CHECK(connected_);
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Parameter& parameter : statement.parameters) {
    types.push_back(type_of(parameter.type));
    values.push_back(parameter.value ? parameter.value->data() : nullptr);
    lengths.push_back(parameter.value ? static_cast<int>(parameter.value->size()) : 0);
    formats.push_back(parameter.type == Parameter::Type::kBytes ? 1 : 0);
  }
  // What the server said while nothing was asked is of no statement.
  if (unanswered_++ == 0) answer_ = {};
  // Columns come as bytes: all but bodies are made text by the statement.
  const bool sent = pq_.send_query(connection_, statement.sql.c_str(),
                                   static_cast<int>(statement.parameters.size()), types.data(),
                                   values.data(), lengths.data(), formats.data(), 1) == 1 &&
                    pq_.pipeline_sync(connection_) == 1;
  if (!sent) {
    loop_.post(lifetime_.wrap([this, reason = last_error()] { end(reason); }));
    return;
  }
  flush();
}

void Link::flush() {
  if (ended_) return;
  const int left = pq_.flush(connection_);
  if (left < 0) {
    // What the server said before it hung up is read first.
    return watch(EPOLLIN);
  }
  watch(left > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Link::read() {
  const std::weak_ptr<int> alive = lifetime_.token();
  const bool open = pq_.consume_input(connection_) == 1;
  const std::string reason = open ? std::string() : last_error();
  int pauses = 0;
  while (unanswered_ > 0 && pauses < 2 && pq_.is_busy(connection_) == 0) {
    PGresult* const result = pq_.get_result(connection_);
    // Two in a row: nothing more has come.
    pauses = result == nullptr ? pauses + 1 : 0;
    if (result != nullptr) take(result);
    if (alive.expired() || ended_) return;
  }
  while (PGnotify* const notify = pq_.notifies(connection_)) {
    const std::string channel = notify->relname;
    const std::string payload = notify->extra;
    pq_.free_memory(notify);
    events_.notified(channel, payload);
    if (alive.expired() || ended_) return;
  }
  if (!open || pq_.status(connection_) == CONNECTION_BAD) {
    end(reason.empty() ? last_error() : reason);
  }
}

void Link::take(PGresult* result) {
  switch (pq_.result_status(result)) {
    case PGRES_PIPELINE_SYNC: {
      // Only now has the transaction ended.
      pq_.clear(result);
      --unanswered_;
      return events_.answered(std::exchange(answer_, {}));
    }
    case PGRES_TUPLES_OK: {
      const int rows = pq_.row_count(result);
      const int columns = pq_.field_count(result);
      for (int i = 0; i < rows; ++i) {
        Row& row = answer_.rows.emplace_back();
        for (int j = 0; j < columns; ++j) {
          if (pq_.is_null(result, i, j) != 0) {
            row.emplace_back();
          } else {
            row.emplace_back(std::string(pq_.value(result, i, j),
                                         static_cast<std::size_t>(pq_.length(result, i, j))));
          }
        }
      }
      break;
    }
    case PGRES_COMMAND_OK:
      break;
    default:
      if (!answer_.error) answer_.error = error_of(pq_, result);
      // A session that ends sends no end of the transaction.
      if (answer_.error->severity.empty()) answer_.error->severity = "FATAL";
      break;
  }
  pq_.clear(result);
}

void Link::end(std::string reason) {
  if (std::exchange(ended_, true)) return;
  unwatch();
  if (answer_.error && !answer_.error->message.empty()) reason = answer_.error->message;
  events_.ended(reason.empty() ? "the connection was lost" : reason);
}

std::string Link::last_error() const {
  return connection_ == nullptr ? std::string() : on_one_line(pq_.error_message(connection_));
}

void Link::on_notice(void* link, const PGresult* notice) {
  Link& self = *static_cast<Link*>(link);
  const ServerError warning = error_of(self.pq_, notice);
  if (warning.severity == "WARNING") self.answer_.warning = warning.message;
}

Defaults defaults(const Libpq& pq, const std::map<std::string, std::string>& parameters) {
  Words words(parameters);
  // libpq refuses this value after it has put all parameters together and before it connects.
  words.add("target_session_attrs", "none, only show the parameters");
  words.add(nullptr, nullptr);
  Defaults found;
  PGconn* const connection = pq.connect_start(words.names.data(), words.values.data(), 0);
  if (connection == nullptr) return found;
  if (PQconninfoOption* const options = pq.connection_options(connection)) {
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
      if (option->val == nullptr) continue;
      if (std::string_view(option->keyword) == "host") found.hosts = option->val;
      if (std::string_view(option->keyword) == "port") found.ports = option->val;
    }
    pq.free_options(options);
  }
  pq.finish(connection);
  return found;
}

}  // namespace muster::postgres
