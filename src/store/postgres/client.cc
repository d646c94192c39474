#include "store/postgres/client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "platform/system_clock.h"

namespace muster::postgres {
namespace {

constexpr Duration kConnectTimeout = 2s;
constexpr Duration kShortestPause = 50ms;
constexpr Duration kLongestPause = 1s;
/// With several servers, a read that was sent waits so long for an answer.
constexpr Duration kSilence = 1s;
/// Statements without an answer on one connection.
constexpr std::size_t kSentMax = 256;
/// The first version whose functions and statements are all used here is 11; 13 is the oldest that
/// the project maintains.
constexpr std::int64_t kOldestVersion = 130000;
/// Between two lines about one kind of failure of one server.
constexpr Duration kQuietTime = 30s;

Duration connect_timeout(const DatabaseAddress& address) {
  const auto found = address.parameters.find("connect_timeout");
  if (found == address.parameters.end()) return kConnectTimeout;
  const auto seconds = parse_unsigned(found->second);
  if (!seconds || *seconds == 0 || *seconds > 3600) return kConnectTimeout;
  return std::chrono::seconds(static_cast<std::int64_t>(*seconds));
}

}  // namespace

struct Client::Call {
  Call(Loop& loop, Statement s, Access a, Deadline d, Callback<Rows> callback)
      : statement(std::move(s)), access(a), by(d), done(std::move(callback)), deadline(loop) {}

  Statement statement;
  Access access;
  Deadline by;
  Callback<Rows> done;
  Timer deadline;
  bool sent = false;
  std::uint64_t answers = 0;  ///< Those that had come when it was sent.
  std::string tag;            ///< What its answer begins with; empty: anything.
};

Client::Client(const Libpq& pq, EventLoop& loop, DatabaseAddress address, Needs needs,
               Events events)
    : pq_(pq),
      loop_(loop),
      address_(std::move(address)),
      needs_(needs),
      events_(std::move(events)),
      connect_timeout_(connect_timeout(address_)),
      finder_(pq, loop),
      random_(system_random()),
      told_(LogThrottle::Options{.lines_max = 1, .window = kQuietTime}),
      pause_(loop),
      silence_(loop) {
  // Kerberos may ask name servers and others for a ticket, and would hold up the loop meanwhile.
  address_.parameters.emplace("gssencmode", "disable");
  address_.parameters.erase("connect_timeout");
}

Client::~Client() = default;

void Client::ask(Statement statement, Access access, Deadline by, Callback<Rows> done) {
  auto call = std::make_shared<Call>(loop_, std::move(statement), access, by, std::move(done));
  calls_.insert(call);
  if (by <= loop_.now()) {
    return complete(call, Error{Errc::kUnavailable, "the deadline had already passed"});
  }
  if (by != Deadline::max()) {
    call->deadline.arm(by, [this, weak = std::weak_ptr(call)] {
      if (const Shared locked = weak.lock()) expire(locked);
    });
  }
  waiting_.push_back(call);
  pump();
}

void Client::listen(const std::string& channel) {
  channels_.insert(channel);
  if (!ready_ || pooled_ || channels_.count(channel) > 1) return pump();
  sent_.push_back(nullptr);
  link_->send(postgres::listen(channel));
}

void Client::unlisten(const std::string& channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  channels_.erase(found);
  if (!ready_ || pooled_ || channels_.contains(channel)) return;
  sent_.push_back(nullptr);
  link_->send(postgres::unlisten(channel));
}

void Client::pump() {
  if (!link_) return connect();
  while (ready_ && !waiting_.empty() && sent_.size() < (pooled_ ? 1 : kSentMax)) {
    const Shared call = waiting_.front();
    waiting_.pop_front();
    call->sent = true;
    call->answers = answers_;
    sent_.push_back(call);
    Statement statement = call->statement;
    call->tag.clear();
    if (const auto at = statement.sql.find(Statement::kTag); at != std::string::npos) {
      call->tag = std::to_string(random_.next()) + "." + std::to_string(++tags_) + ":";
      statement.sql.replace(at, Statement::kTag.size() + 1, call->tag);
    }
    link_->send(statement);
  }
  limit_silence();
}

void Client::connect() {
  if (connecting_ || pause_.armed()) return;
  connecting_ = true;
  // Names are looked up anew for each round of all servers: after a failover they may lead
  // elsewhere.
  if (targets_.empty() || target_ >= targets_.size()) return find_targets();
  open_link();
}

void Client::find_targets() {
  target_ = 0;
  hopeless_ = true;
  refusal_.reset();
  finder_.find(address_, [this](Result<std::vector<Target>> found) {
    targets_ = found ? std::move(*found) : std::vector<Target>();
    if (!found) return leave(found.error());
    open_link();
  });
}

void Client::open_link() {
  const Target& target = targets_[target_];
  auto parameters = address_.parameters;
  if (!target.host.name.empty()) parameters["host"] = target.host.name;
  if (!target.address.empty()) parameters["hostaddr"] = target.address;
  if (!target.host.port.empty()) parameters["port"] = target.host.port;
  pause_.arm(connect_timeout_, [this] {
    leave({Errc::kUnavailable, "no answer within " + format_duration(connect_timeout_)});
  });
  link_ = std::make_unique<Link>(
      pq_, loop_, parameters,
      Link::Events{[this] { on_connected(); },
                   [this](StatementAnswer answer) { on_answer(std::move(answer)); },
                   [this](const std::string& channel, const std::string& payload) {
                     events_.notified(channel, payload);
                   },
                   [this](const std::string& reason) {
                     if (ready_) return leave({Errc::kUnavailable, reason});
                     leave(judge_connection(reason).error);
                   }});
}

void Client::on_connected() {
  sent_.push_back(nullptr);
  link_->send(greeting());
}

void Client::on_answer(StatementAnswer answer) {
  if (!ready_) return greeted(answer);
  const Shared call = sent_.front();
  sent_.pop_front();
  ++answers_;
  if (call && call->done) settle(call, std::move(answer));
  pump();
}

void Client::greeted(const StatementAnswer& answer) {
  sent_.pop_front();
  if (answer.error) return leave(judge(*answer.error, Access::kRead).error);
  const auto greeting = Greeting::read(answer.rows);
  if (!greeting) return leave(greeting.error());
  if (const auto error = objection(*greeting)) return leave(*error);
  pause_.cancel();
  connecting_ = false;
  ready_ = true;
  failures_ = 0;
  last_failure_.clear();
  pooled_ = greeting->process != link_->announced_process();
  seen_.system = greeting->origin.system;
  seen_.timeline = greeting->origin.timeline;
  std::string last;
  for (const std::string& channel : channels_) {
    if (channel == last || pooled_) continue;
    last = channel;
    sent_.push_back(nullptr);
    link_->send(postgres::listen(channel));
  }
  events_.connected();
  pump();
}

bool Client::take_tag(const Call& call, Rows& rows) {
  if (call.tag.empty()) return true;
  if (rows.empty() || rows[0].empty() || !rows[0][0] || !rows[0][0]->starts_with(call.tag)) {
    return false;
  }
  rows[0][0]->erase(0, call.tag.size());
  return true;
}

std::optional<Error> Client::objection(const Greeting& greeting) const {
  if (greeting.version < kOldestVersion) {
    return Error{Errc::kUnsupported, "Muster needs PostgreSQL 13 or later"};
  }
  if (!greeting.utf8) {
    return Error{Errc::kUnsupported,
                 "the database's encoding is not UTF8; make one with createdb --encoding=UTF8 "
                 "--template=template0"};
  }
  if (!greeting.durable) {
    return Error{Errc::kUnsupported,
                 "unsafe store " + address_.text +
                     ": fsync is off, so a power loss undoes what was confirmed, and two leaders "
                     "could be elected; set fsync = on"};
  }
  if (greeting.standby) return Error{Errc::kUnavailable, "the server is a standby"};
  if (greeting.origin.is_outdated(seen_)) {
    return Error{Errc::kUnavailable,
                 "the server is on timeline " + std::to_string(greeting.origin.timeline) +
                     ", but a standby was promoted to timeline " + std::to_string(seen_.timeline) +
                     "; stop this old primary, or, if an old backup took its place on purpose, "
                     "restart the processes that use it"};
  }
  if (greeting.read_only) {
    return Error{Errc::kUnavailable,
                 "the server makes this session read-only (default_transaction_read_only)"};
  }
  if (!greeting.installed && needs_ == Needs::kTable) {
    return Error{Errc::kInvalid, "there is no table muster.objects in the database of " +
                                     address_.text + "; make it with muster postgres init"};
  }
  return std::nullopt;
}

void Client::settle(const Shared& call, StatementAnswer answer) {
  const bool wrote = call->access == Access::kWrite;
  if (answer.error) {
    Verdict verdict = judge(*answer.error, call->access);
    if (verdict.reaction != Reaction::kTryAgain) return complete(call, std::move(verdict.error));
    // It did nothing there. Another server may accept it.
    call->sent = false;
    waiting_.push_front(call);
    return leave(verdict.error);
  }
  if (!take_tag(*call, answer.rows)) {
    const std::string what = "the pooler delivered the answer to another statement";
    complete(call, Error{wrote ? Errc::kAmbiguous : Errc::kUnavailable, what});
    return leave({Errc::kUnavailable, what});
  }
  if (wrote && answer.warning) {
    // PostgreSQL says so when it gives up the wait for a standby, and confirms all the same.
    return complete(
        call, Error{Errc::kAmbiguous,
                    "PostgreSQL confirmed the write with a warning (" + *answer.warning + ")"});
  }
  if (needs_ == Needs::kDatabase) return complete(call, std::move(answer.rows));
  const auto origin = Origin::read(answer.rows);
  if (!origin) {
    return complete(call, Error{wrote ? Errc::kAmbiguous : Errc::kCorrupt, origin.error().message});
  }
  if (origin->is_outdated(seen_)) {
    // Only a pooler leads to another server on the same connection.
    const Error outdated{wrote ? Errc::kAmbiguous : Errc::kUnavailable,
                         "the pooler leads to an old primary on timeline " +
                             std::to_string(origin->timeline) + ", but a standby was promoted to " +
                             std::to_string(seen_.timeline)};
    complete(call, outdated);
    return leave({Errc::kUnavailable, outdated.message});
  }
  seen_ = *origin;
  complete(call, std::move(answer.rows));
}

void Client::leave(const Error& reason) {
  if (ready_) warn(reason);
  last_failure_ = reason.message;
  const bool served = std::exchange(ready_, false);
  connecting_ = false;
  pooled_ = false;
  if (link_) {
    // It may be calling.
    link_->close();
    loop_.post([link = std::shared_ptr<Link>(std::move(link_))] {});
  }
  pause_.cancel();
  silence_.cancel();
  if (served || !is_lasting(reason.code)) {
    hopeless_ = false;
  } else {
    refusal_ = reason;
  }
  // Reads are asked again, in their order, before what has not been sent yet.
  std::deque<Shared> again;
  for (const Shared& call : std::exchange(sent_, {})) {
    if (!call || !call->done) continue;
    if (call->access == Access::kWrite) {
      complete(call, Error{Errc::kAmbiguous,
                           "the connection to PostgreSQL was lost before it answered; the write "
                           "may have landed (" +
                               reason.message + ")"});
    } else {
      call->sent = false;
      again.push_back(call);
    }
  }
  waiting_.insert(waiting_.begin(), again.begin(), again.end());
  ++target_;
  ++failures_;
  // Every server has refused for a reason that lasts: nobody need wait for their deadline.
  if (target_ >= targets_.size() && hopeless_ && refusal_) {
    for (const Shared& call : std::exchange(waiting_, {})) complete(call, *refusal_);
  }
  schedule();
}

void Client::schedule() {
  if (waiting_.empty() && channels_.empty()) return;
  // The next server at once; all of them again after a moment, which spares them and us.
  Duration delay{0};
  if (target_ >= targets_.size()) {
    const std::size_t rounds = failures_ / std::max<std::size_t>(targets_.size(), 1);
    delay = std::min(kLongestPause, kShortestPause * (1 << std::min<std::size_t>(rounds, 5)));
    delay = random_.between(delay / 2, delay);
  }
  pause_.arm(delay, [this] { pump(); });
}

/// A server that hangs is left for another one. A write belongs to the server that it was sent to,
/// however long that takes.
void Client::limit_silence() {
  if (!ready_ || sent_.empty() || silence_.armed() || targets_.size() < 2) return;
  silence_.arm(kSilence, [this, before = answers_] {
    if (sent_.empty()) return;
    const Shared& first = sent_.front();
    const bool writes = first && first->done && first->access == Access::kWrite;
    if (writes || answers_ != before) return limit_silence();
    leave({Errc::kUnavailable, "no answer within " + format_duration(kSilence)});
  });
}

void Client::expire(const Shared& call) {
  if (!call->sent) {
    return complete(
        call, Error{Errc::kUnavailable,
                    last_failure_.empty() ? "PostgreSQL did not answer in time" : last_failure_});
  }
  const bool wrote = call->access == Access::kWrite;
  const bool silent = answers_ == call->answers;
  complete(call, wrote ? Error{Errc::kAmbiguous,
                               "PostgreSQL did not answer in time; the write may have landed"}
                       : Error{Errc::kUnavailable, "PostgreSQL did not answer in time"});
  // A connection on which nothing has come since then may be dead.
  if (silent && ready_) leave({Errc::kUnavailable, "no answer by the deadline"});
}

void Client::complete(const Shared& call, Result<Rows> result) {
  call->deadline.cancel();
  std::erase(waiting_, call);
  calls_.erase(call);
  // Posted and not called: the callback may destroy this client.
  loop_.post(lifetime_.wrap([done = std::exchange(call->done, nullptr),
                             result = std::move(result)]() mutable { done(std::move(result)); }));
}

void Client::warn(const Error& reason) {
  const std::string server =
      targets_.empty() || target_ >= targets_.size() ? address_.text : name(targets_[target_]);
  const LogThrottle::Verdict verdict =
      told_.judge({LogLevel::kWarn, server + " " + to_string(reason.code), {}}, loop_.now());
  if (!verdict.pass) return;
  LogLine::Fields fields{{"store", "PostgreSQL"}, {"server", server}, {"reason", reason.message}};
  if (verdict.left_out > 0) fields.emplace_back("left_out", std::to_string(verdict.left_out));
  log_warn("store server failed", std::move(fields));
}

std::string Client::name(const Target& target) const {
  if (target.host.name.empty()) return address_.text;
  return target.host.port.empty() ? target.host.name : target.host.name + ":" + target.host.port;
}

}  // namespace muster::postgres
