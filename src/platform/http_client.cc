#include "platform/http_client.h"

#include <curl/curl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <map>
#include <thread>

#include "base/check.h"
#include "base/mutex.h"
#include "platform/http_transfer.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"

namespace muster {
namespace {

void initialize_libcurl_once() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  MUSTER_CHECK(code == CURLE_OK);
}

}  // namespace

using http::Transfer;

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

/// The thread and what it alone touches. submit() is for the loop's thread.
class HttpClient::Worker {
 public:
  Worker(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {
    initialize_libcurl_once();
    multi_ = curl_multi_init();
    MUSTER_CHECK(multi_ != nullptr && alarm_.valid());
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.in_flight_max));
    thread_ = std::thread([this] { run(); });
  }
  ~Worker() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    for (auto& [when, transfer] : transfers_) {
      if (transfer->easy() != nullptr) release(*transfer);
    }
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void submit(std::unique_ptr<Transfer> transfer) MUSTER_EXCLUDES(mutex_) {
    bool first = false;
    {
      MutexLock lock(mutex_);
      first = inbox_.empty();
      inbox_.push_back(std::move(transfer));
    }
    if (first) curl_multi_wakeup(multi_);
  }

 private:
  /// Every transfer not yet answered, in order of deadline.
  using Transfers = std::map<Transfer::Id, std::unique_ptr<Transfer>>;

  void run() {
    // Signals are for the program's own threads; a broken connection must not raise SIGPIPE here.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (take_inbox()) {
      expire();
      start_waiting();
      int running = 0;
      MUSTER_CHECK(curl_multi_perform(multi_, &running) == CURLM_OK);
      const bool finished_some = collect();
      if (finished_some && !waiting_.empty()) continue;
      wait();
    }
  }

  /// False when it is time to end.
  bool take_inbox() MUSTER_EXCLUDES(mutex_) {
    std::vector<std::unique_ptr<Transfer>> arrived;
    {
      MutexLock lock(mutex_);
      if (stopping_) return false;
      arrived.swap(inbox_);
    }
    for (auto& transfer : arrived) {
      const Transfer::Id id = transfer->id();
      waiting_.push_back(id);
      transfers_.emplace(id, std::move(transfer));
    }
    return true;
  }

  void expire() {
    const MonoTime now = boot_now();
    while (!transfers_.empty() && transfers_.begin()->first.first <= now) {
      const auto it = transfers_.begin();
      if (it->second->easy() == nullptr) std::erase(waiting_, it->first);
      complete(it, it->second->expired());
    }
  }

  void start_waiting() {
    while (!waiting_.empty() && transfers_.size() - waiting_.size() < options_.in_flight_max) {
      Transfer& transfer = *transfers_.at(waiting_.front());
      waiting_.pop_front();
      CURL* easy = idle_.empty() ? curl_easy_init() : idle_.back();
      MUSTER_CHECK(easy != nullptr);
      if (!idle_.empty()) idle_.pop_back();
      transfer.prepare(easy, options_);
      MUSTER_CHECK(curl_multi_add_handle(multi_, easy) == CURLM_OK);
    }
  }

  /// True when a transfer ended.
  bool collect() {
    bool any = false;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      complete(transfers_.find(transfer->id()), transfer->finish(code));
      any = true;
    }
    return any;
  }

  void complete(Transfers::iterator it, Result<HttpResponse> result) {
    Transfer& transfer = *it->second;
    if (transfer.easy() != nullptr) release(transfer);
    // Moved, never copied: whatever the callback holds is destroyed on the loop's thread.
    loop_.post([done = transfer.take_done(), result = std::move(result)]() mutable {
      done(std::move(result));
    });
    transfers_.erase(it);
  }

  void release(Transfer& transfer) {
    curl_multi_remove_handle(multi_, transfer.easy());
    curl_easy_reset(transfer.easy());
    idle_.push_back(transfer.easy());
  }

  /// libcurl waits on a clock that stands still during suspend; this timer's does not. It is only
  /// ever moved to an earlier time: waking once too often is cheaper than setting it per request.
  void set_alarm() {
    if (transfers_.empty() || transfers_.begin()->first.first >= alarm_at_) return;
    alarm_at_ = transfers_.begin()->first.first;
    const Duration::rep ns = alarm_at_.time_since_epoch().count();
    itimerspec spec{};
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
    MUSTER_CHECK(::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
  }

  void wait() {
    set_alarm();
    curl_waitfd alarm{alarm_.get(), CURL_WAIT_POLLIN, 0};
    MUSTER_CHECK(curl_multi_poll(multi_, &alarm, 1, 60'000, nullptr) == CURLM_OK);
    if (alarm.revents == 0) return;
    std::uint64_t expirations = 0;
    if (::read(alarm_.get(), &expirations, sizeof expirations) < 0) MUSTER_CHECK(errno == EAGAIN);
    alarm_at_ = MonoTime::max();
  }

  Loop& loop_;
  const Options options_;
  CURLM* multi_ = nullptr;
  UniqueFd alarm_{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)};
  MonoTime alarm_at_ = MonoTime::max();
  Transfers transfers_;
  std::deque<Transfer::Id> waiting_;
  std::vector<CURL*> idle_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Transfer>> inbox_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

HttpClient::HttpClient(Loop& loop, Options options)
    : loop_(loop),
      outstanding_max_(options.in_flight_max + options.waiting_max),
      worker_(std::make_unique<Worker>(loop, std::move(options))) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(HttpRequest request, Answered done) {
  if (outstanding_ >= outstanding_max_) {
    loop_.post(lifetime_.wrap([done = std::move(done)] {
      done({Errc::kUnavailable, "too many HTTP requests are under way"});
    }));
    return;
  }
  ++outstanding_;
  Answered answered =
      lifetime_.wrap([this, done = std::move(done)](Result<HttpResponse> result) mutable {
        --outstanding_;
        done(std::move(result));
      });
  const Transfer::Id id{request.by, next_number_++};
  worker_->submit(std::make_unique<Transfer>(id, std::move(request), std::move(answered)));
}

}  // namespace muster
