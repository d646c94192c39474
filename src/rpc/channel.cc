#include "rpc/channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "rpc/client_call.h"

namespace muster::rpc {
namespace {

constexpr std::string_view kLocal = "unix:";
/// As much of a call that was sent is kept, so that it can be sent once more.
constexpr std::size_t kKeptMax = 64 * 1024;
constexpr const char* kClientClosed = "the client was closed";

Outcome never_left(const std::string& why) {
  return {Code::kUnavailable, why, Outcome::Word::kNeverLeft, {}, {Trouble::Kind::kOther, why}};
}

}  // namespace

/// What calls share with their channel, so that they may outlive it.
class Channel::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(EventLoop& loop, SendTurn& turn, ChannelOptions options, Random random)
      : loop_(loop),
        turn_(turn),
        options_(std::move(options)),
        random_(random),
        backoff_(options_.backoff_min),
        resolver_(loop),
        look_(loop) {
    if (options_.authority.empty()) {
      const bool six = options_.host.find(':') != std::string::npos;
      options_.authority = options_.host.starts_with(kLocal)
                               ? "localhost"
                               : (six ? "[" + options_.host + "]" : options_.host) + ":" +
                                     std::to_string(options_.port);
    }
    server_ = options_.host.starts_with(kLocal) ? options_.host : options_.authority;
  }

  CallStatePtr start(const std::string& method, std::optional<MonoTime> by, Metadata metadata,
                     ClientCallEvents events) {
    auto call = std::make_shared<CallState>(loop_, options_.answer_bytes_max);
    call->method = method;
    call->by = by;
    call->metadata = std::move(metadata);
    call->events = std::move(events);
    if (by) {
      call->deadline.arm(*by, [this, weak = std::weak_ptr(call), self = weak_from_this()] {
        const auto late = weak.lock();
        if (!late) return;
        Outcome outcome{
            Code::kDeadlineExceeded, "there was no answer in time", Outcome::Word::kNobody, {}, {}};
        if (!late->left) {
          outcome = self.expired() ? never_left(kClientClosed) : unreachable(awaited());
        }
        outcome.code = Code::kDeadlineExceeded;
        if (!self.expired()) give_up(*late);
        late->end(std::move(outcome));
      });
    }
    waiting_.push_back(call);
    // What is given to it in this turn goes out with it.
    schedule_pump();
    return call;
  }

  void give_up(CallState& call) {
    if (call.link != nullptr) return call.link->forget(call);
    std::erase_if(waiting_, [&](const CallStatePtr& each) { return each.get() == &call; });
  }

  void renew() {
    if (!link_) return;
    link_->leave();
    retire_if_leaving();
  }

  [[nodiscard]] bool connected() const { return link_ && link_->ready(); }

  void close() {
    lifetime_.renew();
    look_.cancel();
    for (const CallStatePtr& call : std::exchange(waiting_, {})) {
      call->end_soon(never_left(kClientClosed));
    }
    auto links = std::exchange(retired_, {});
    if (link_) links.push_back(std::exchange(link_, nullptr));
    for (const auto& link : links) {
      if (Connection* connection = link->connection()) connection->close();
    }
  }

 private:
  void schedule_pump() {
    if (std::exchange(pumping_, true)) return;
    loop_.post(lifetime_.wrap([this] {
      pumping_ = false;
      pump();
    }));
  }

  void pump() {
    retire_if_leaving();
    while (!waiting_.empty() && link_ && link_->takes_calls()) {
      const CallStatePtr call = waiting_.front();
      waiting_.pop_front();
      if (call->ended) continue;
      link_->open(call, loop_.now());
      backoff_ = options_.backoff_min;
    }
    if (waiting_.empty() || link_ || resolving_) return;
    if (loop_.now() < retry_at_) return fail_waiting();
    connect();
  }

  void retire_if_leaving() {
    if (link_ && link_->leaving()) {
      if (link_->turned_away()) back_off({Trouble::Kind::kOther, "it accepts no calls"});
      retired_.push_back(std::exchange(link_, nullptr));
    }
    if (retired_.empty()) return;
    // Not now: this may be within a call of its session's.
    loop_.post(lifetime_.wrap(
        [this] { std::erase_if(retired_, [](const auto& link) { return link->spent(); }); }));
  }

  [[nodiscard]] Outcome unreachable(Trouble why) const {
    Outcome outcome = never_left(server_ + " is unreachable: " + why.text);
    outcome.trouble = std::move(why);
    return outcome;
  }

  /// What calls wait for that have not left.
  [[nodiscard]] Trouble awaited() const {
    if (resolving_) return {Trouble::Kind::kName, "resolving the host name took too long"};
    if (link_ && !link_->ready()) return link_->connection()->awaited();
    return {Trouble::Kind::kOther, "the server accepted no further call in time"};
  }

  void fail_waiting() {
    for (const CallStatePtr& call : std::exchange(waiting_, {})) {
      call->end_soon(unreachable(trouble_));
    }
  }

  void connect() {
    addresses_.clear();
    trouble_ = {};
    if (options_.host.starts_with(kLocal)) {
      const auto local = Resolver::local(options_.host.substr(kLocal.size()));
      if (!local) return attempt_failed({Trouble::Kind::kOther, local.error().message});
      addresses_.push_back(*local);
      return try_next();
    }
    resolving_ = true;
    resolver_.resolve(options_.host, options_.port,
                      lifetime_.wrap([this](Result<std::vector<SocketAddress>> found) {
                        resolving_ = false;
                        if (!found) {
                          return attempt_failed({Trouble::Kind::kName, found.error().message});
                        }
                        addresses_.assign(found->begin(), found->end());
                        try_next();
                      }));
  }

  void try_next() {
    while (!addresses_.empty()) {
      const SocketAddress address = addresses_.front();
      addresses_.pop_front();
      UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      if (!fd.valid() || (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes),
                                    address.size) != 0 &&
                          errno != EINPROGRESS)) {
        const int error = errno;
        trouble_ = {trouble_kind(error), std::system_category().message(error)};
        continue;
      }
      return begin(std::move(fd));
    }
    attempt_failed(trouble_);
  }

  void begin(UniqueFd fd) {
    SslPtr ssl(nullptr, SSL_free);
    if (options_.tls) {
      Result<SslPtr> made = options_.tls();
      if (!made) return attempt_failed({Trouble::Kind::kTls, made.error().message});
      ssl = *std::move(made);
    }
    // The link is told apart by its address: it may end after another has taken its place.
    auto link = std::make_shared<ClientLink>(options_.tls ? "https" : "http", options_.authority);
    ClientLink* which = link.get();
    ClientLink::Hooks hooks = {
        .ready = lifetime_.wrap([this] { schedule_pump(); }),
        .room = lifetime_.wrap([this] { schedule_pump(); }),
        .unseen =
            [this, alive = lifetime_.token()](const CallStatePtr& call) {
              if (alive.expired()) return call->end_soon(never_left(kClientClosed));
              unseen(call);
            },
        .ended = lifetime_.wrap([this, which](const Error&) { ended(which); })};
    auto connection = std::make_shared<Connection>(
        loop_, turn_, std::move(fd), std::move(ssl), Session::Side::kClient, options_.connection,
        *link,
        Connection::Hooks{.shaken = options_.shaken,
                          .ready = [which] { which->set_ready(); },
                          .ended =
                              [weak = std::weak_ptr(link)](const Error& why) {
                                if (const auto lost = weak.lock()) lost->lost(why);
                              }});
    link_ = link;
    link->begin(std::move(connection), std::move(hooks));
    arm_look();
  }

  /// The server did not look at it. Once, that is not the caller's concern.
  void unseen(const CallStatePtr& call) {
    call->left = false;
    if (std::exchange(call->again, true)) {
      return call->end_soon(never_left("the server accepted no call"));
    }
    waiting_.push_front(call);
    schedule_pump();
  }

  void ended(ClientLink* which) {
    std::erase_if(retired_, [&](const auto& link) { return link.get() == which; });
    if (link_.get() != which) return;
    // Its session may be at work further up: it goes when that is done.
    loop_.post([gone = std::exchange(link_, nullptr)] {});
    trouble_ = which->connection()->trouble();
    if (!which->was_ready()) return try_next();
    if (!which->used()) back_off(trouble_);
    schedule_pump();
  }

  void attempt_failed(Trouble why) {
    back_off(std::move(why));
    fail_waiting();
  }

  void back_off(Trouble why) {
    trouble_ = std::move(why);
    retry_at_ = loop_.now() + random_.between(backoff_ / 2, backoff_);
    backoff_ = std::min(options_.backoff_max, backoff_ * 2);
  }

  void arm_look() {
    const ConnectionOptions& c = options_.connection;
    Duration every = std::min(c.ask_after, c.answer_within);
    if (link_ && !link_->ready()) every = std::min(every, c.ready_within);
    every /= 4;
    look_.arm(std::clamp<Duration>(every, 10ms, 5s), [this] {
      auto links = retired_;
      if (link_) links.push_back(link_);
      for (const auto& link : links) {
        if (Connection* connection = link->connection()) connection->look();
      }
      if (link_ || !retired_.empty()) arm_look();
    });
  }

  EventLoop& loop_;
  SendTurn& turn_;
  ChannelOptions options_;
  std::string server_;  ///< For people.
  Random random_;
  Duration backoff_;
  Resolver resolver_;
  Timer look_;
  std::deque<CallStatePtr> waiting_;
  std::deque<SocketAddress> addresses_;  ///< Still to be tried.
  std::shared_ptr<ClientLink> link_;
  std::vector<std::shared_ptr<ClientLink>> retired_;  ///< That have calls left.
  bool resolving_ = false;
  bool pumping_ = false;
  MonoTime retry_at_{};
  Trouble trouble_;
  Lifetime lifetime_;
};

namespace {

/// What the owner of a call holds.
template <typename Core>
class Handle final : public ClientCall {
 public:
  Handle(CallStatePtr call, std::weak_ptr<Core> core)
      : call_(std::move(call)), core_(std::move(core)) {}
  ~Handle() override {
    call_->events = {};
    call_->deadline.cancel();
    if (std::exchange(call_->ended, true)) return;
    if (const auto core = core_.lock()) core->give_up(*call_);
  }

  void send(Payload message) override {
    if (call_->ended || call_->finished) return;
    if (call_->link != nullptr) call_->link->send(*call_, message);
    if (call_->looked_at) return;
    call_->given_bytes += message->size();
    call_->given.push_back(std::move(message));
    if (call_->link == nullptr || call_->given_bytes <= kKeptMax) return;
    call_->given.clear();
    call_->again = true;  // Not twice: the beginning is no longer there.
  }
  void finish() override {
    if (call_->ended || std::exchange(call_->finished, true)) return;
    if (call_->link != nullptr) call_->link->finish(*call_);
  }
  bool left() const override { return call_->left; }

 private:
  CallStatePtr call_;
  std::weak_ptr<Core> core_;
};

}  // namespace

Channel::Channel(EventLoop& loop, SendTurn& turn, ChannelOptions options, Random random)
    : core_(std::make_shared<Core>(loop, turn, std::move(options), random)) {}

Channel::~Channel() {
  core_->close();
}

std::unique_ptr<ClientCall> Channel::start(const std::string& method, std::optional<MonoTime> by,
                                           Metadata metadata, ClientCallEvents events) {
  auto call = core_->start(method, by, std::move(metadata), std::move(events));
  return std::make_unique<Handle<Core>>(std::move(call), core_);
}

void Channel::renew() {
  core_->renew();
}

bool Channel::connected() const {
  return core_->connected();
}

}  // namespace muster::rpc
