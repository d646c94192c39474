#include "platform/http_client.h"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "platform/event_loop.h"
#include "platform/http_transfer.h"

namespace muster {
namespace {

void initialize_libcurl_once() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  MUSTER_CHECK(code == CURLE_OK);
  // Otherwise the loop would wait for name servers. Debian's libcurl has threads for that.
  MUSTER_CHECK((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0);
}

std::uint32_t epoll_events(int wanted) {
  std::uint32_t events = 0;
  if ((wanted & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((wanted & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  return events;
}

/// An error shows itself, with its reason, in whatever libcurl tries next.
int curl_events(std::uint32_t happened) {
  int events = 0;
  if ((happened & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) events |= CURL_CSELECT_IN;
  if ((happened & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) events |= CURL_CSELECT_OUT;
  return events;
}

}  // namespace

using http::Transfer;

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

/// Runs libcurl on the loop: libcurl says which sockets and which time it waits for, and acts when
/// they have come. Its callbacks only take note; completions are posted, so nobody enters libcurl,
/// or destroys this, from within it.
class HttpClient::Transfers {
 public:
  Transfers(EventLoop& loop, Options options)
      : loop_(loop), options_(std::move(options)), timer_(loop) {
    initialize_libcurl_once();
    multi_ = curl_multi_init();
    MUSTER_CHECK(multi_ != nullptr);
    set(CURLMOPT_MAXCONNECTS, static_cast<long>(options_.in_flight_max));
    set(CURLMOPT_SOCKETFUNCTION, &Transfers::on_socket);
    set(CURLMOPT_SOCKETDATA, this);
    set(CURLMOPT_TIMERFUNCTION, &Transfers::on_time);
    set(CURLMOPT_TIMERDATA, this);
  }
  ~Transfers() {
    for (auto& [key, transfer] : transfers_) {
      if (transfer->easy() != nullptr) release(*transfer);
    }
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
    for (const curl_socket_t socket : watched_) loop_.unwatch_fd(socket);
  }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void add(HttpRequest request, Answered done) {
    auto made = std::make_unique<Transfer>(loop_, std::move(request), std::move(done));
    Transfer& transfer = *made;
    transfers_.emplace(&transfer, std::move(made));
    transfer.at_deadline([this, &transfer] { expire(transfer); });
    waiting_.push_back(&transfer);
    start_waiting();
  }

 private:
  template <typename T>
  void set(CURLMoption option, T value) {
    MUSTER_CHECK(curl_multi_setopt(multi_, option, value) == CURLM_OK);
  }

  void expire(Transfer& transfer) {
    if (transfer.easy() == nullptr) std::erase(waiting_, &transfer);
    complete(transfer, transfer.expired());
    start_waiting();
  }

  /// Starts what has waited for its turn, and what gets it because others fail at once.
  void start_waiting() {
    while (start_some()) {
      act(CURL_SOCKET_TIMEOUT, 0);
      collect();
    }
  }

  /// False when there was nothing to start.
  bool start_some() {
    bool any = false;
    while (!waiting_.empty() && transfers_.size() - waiting_.size() < options_.in_flight_max) {
      Transfer& transfer = *waiting_.front();
      waiting_.pop_front();
      if (transfer.by() <= loop_.now()) {
        complete(transfer, transfer.expired());
        continue;
      }
      start(transfer);
      any = true;
    }
    return any;
  }

  void start(Transfer& transfer) {
    CURL* easy = idle_.empty() ? curl_easy_init() : idle_.back();
    MUSTER_CHECK(easy != nullptr);
    if (!idle_.empty()) idle_.pop_back();
    transfer.prepare(easy, options_);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &Transfers::on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
    MUSTER_CHECK(curl_multi_add_handle(multi_, easy) == CURLM_OK);
  }

  void resume(curl_socket_t socket, int events) {
    act(socket, events);
    collect();
    start_waiting();
  }

  void act(curl_socket_t socket, int events) {
    int running = 0;
    MUSTER_CHECK(curl_multi_socket_action(multi_, socket, events, &running) == CURLM_OK);
  }

  void collect() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      complete(*transfer, transfer->finish(code));
    }
  }

  void complete(Transfer& transfer, Result<HttpResponse> result) {
    if (transfer.easy() != nullptr) release(transfer);
    loop_.post([done = transfer.take_done(), result = std::move(result)]() mutable {
      done(std::move(result));
    });
    transfers_.erase(&transfer);
  }

  void release(Transfer& transfer) {
    curl_multi_remove_handle(multi_, transfer.easy());
    curl_easy_reset(transfer.easy());
    idle_.push_back(transfer.easy());
  }

  void watch(curl_socket_t socket, int wanted) {
    if (const std::uint32_t events = epoll_events(wanted); events != 0) {
      watched_.insert(socket);
      return loop_.watch_fd(socket, events, [this, socket](std::uint32_t happened) {
        resume(socket, curl_events(happened));
      });
    }
    // Some versions let go of a socket twice, the second time when others have its number.
    if (watched_.erase(socket) > 0) loop_.unwatch_fd(socket);
  }

  static int on_socket(CURL*, curl_socket_t socket, int wanted, void* self, void*) {
    static_cast<Transfers*>(self)->watch(socket, wanted);
    return 0;
  }

  /// Some versions close a socket without letting go of it before.
  static int on_close(void* self, curl_socket_t socket) {
    static_cast<Transfers*>(self)->watch(socket, CURL_POLL_REMOVE);
    return ::close(socket);
  }

  /// Only one time at a time: a later call replaces it, and a negative one takes it back.
  static int on_time(CURLM*, long delay_ms, void* self) {
    auto& transfers = *static_cast<Transfers*>(self);
    if (delay_ms < 0) {
      transfers.timer_.cancel();
    } else {
      transfers.timer_.arm(std::chrono::milliseconds(delay_ms),
                           [&transfers] { transfers.resume(CURL_SOCKET_TIMEOUT, 0); });
    }
    return 0;
  }

  EventLoop& loop_;
  const Options options_;
  CURLM* multi_ = nullptr;
  Timer timer_;  ///< For libcurl's own times, such as when to try another address.
  std::unordered_set<curl_socket_t> watched_;
  /// Every request not yet answered; those without a handle wait for their turn.
  std::unordered_map<const Transfer*, std::unique_ptr<Transfer>> transfers_;
  std::deque<Transfer*> waiting_;
  std::vector<CURL*> idle_;
};

HttpClient::HttpClient(EventLoop& loop, Options options)
    : loop_(loop),
      outstanding_max_(options.in_flight_max + options.waiting_max),
      transfers_(std::make_unique<Transfers>(loop, std::move(options))) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(HttpRequest request, Answered done) {
  if (outstanding_ >= outstanding_max_) {
    loop_.post(lifetime_.wrap([done = std::move(done)] {
      done({Errc::kUnavailable, "too many HTTP requests are under way"});
    }));
    return;
  }
  ++outstanding_;
  transfers_->add(
      std::move(request),
      lifetime_.wrap([this, done = std::move(done)](Result<HttpResponse> result) mutable {
        --outstanding_;
        done(std::move(result));
      }));
}

}  // namespace muster
