#include "api/store_schemes.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "api/foreign_store.h"
#include "store/open/open.h"
#include "store/url.h"

namespace muster::api {
namespace {

namespace pub = muster::api_v1;

constexpr std::size_t kSchemeMax = 32;
constexpr int kStoreThreadsMax = 64;

/// The schemes of this process.
class Schemes {
 public:
  static Schemes& instance() {
    static Schemes& schemes = *new Schemes();
    return schemes;
  }
  [[nodiscard]] bool add(const std::string& scheme, pub::StoreOpener open) {
    const std::lock_guard lock(mutex_);
    return openers_.emplace(scheme, std::move(open)).second;
  }
  [[nodiscard]] pub::StoreOpener find(const std::string& scheme) {
    const std::lock_guard lock(mutex_);
    const auto found = openers_.find(scheme);
    return found == openers_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, pub::StoreOpener> openers_;
};

bool is_scheme(const std::string& text) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto other = [](char c) {
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kSchemeMax && lower(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return lower(c) || other(c); });
}

pub::StoreAddress address_of(const Url& url, const pub::Tls& tls) {
  pub::StoreAddress address;
  address.scheme = url.scheme;
  address.user = url.user;
  address.password = url.password;
  address.hosts = url.hosts;
  if (!url.path.empty()) address.path = "/" + url.path;
  address.options = url.query;
  address.tls = tls;
  return address;
}

Result<OpenedScheme> opened(const pub::StoreOpener& open, const Url& url, const pub::Tls& tls) {
  OpenedScheme scheme{nullptr, {}, url.redacted()};
  try {
    auto store = open(address_of(url, tls));
    if (!store) return {Errc::kInvalid, scheme.address + ": " + store.message()};
    scheme.store = *std::move(store);
    if (!scheme.store) return {Errc::kInvalid, scheme.address + ": its opener returned no store"};
    scheme.traits = scheme.store->traits();
  } catch (const std::exception& thrown) {
    return {Errc::kInvalid, scheme.address + ": its opener has thrown: " + thrown.what()};
  } catch (...) {
    return {Errc::kInvalid, scheme.address + ": its opener has thrown"};
  }
  if (scheme.traits.threads < 1 || scheme.traits.threads > kStoreThreadsMax) {
    return {Errc::kInvalid, scheme.address + ": StoreTraits::threads must be between 1 and " +
                                std::to_string(kStoreThreadsMax)};
  }
  return scheme;
}

}  // namespace

std::unique_ptr<ObjectStore> OpenedScheme::on(Loop& loop) const {
  return std::make_unique<ForeignStore>(loop, store, traits, address);
}

std::optional<Result<OpenedScheme>> open_registered(const std::string& url, const pub::Tls& tls) {
  const auto parsed = Url::parse(url);
  if (!parsed) return {};  // Said where built-in stores are opened.
  const pub::StoreOpener open = Schemes::instance().find(parsed->scheme);
  if (!open) return {};
  return opened(open, *parsed, tls);
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

Store::Store() = default;
Store::~Store() = default;

Status register_scheme(const std::string& scheme, StoreOpener open) {
  if (!api::is_scheme(scheme)) {
    return {Code::kInvalid, "\"" + scheme +
                                "\" is no scheme: it must be a lower-case letter, followed by at "
                                "most 31 lower-case letters, digits, '+', '-' and '.'"};
  }
  if (!open) return {Code::kInvalid, "register_scheme(\"" + scheme + "\") needs an opener"};
  if (muster::is_built_in(scheme))
    return {Code::kInvalid, "the scheme " + scheme + " is built in; choose another one"};
  if (!api::Schemes::instance().add(scheme, std::move(open)))
    return {Code::kConflict, "the scheme " + scheme + " is registered already"};
  return Done{};
}

MUSTER_END_NAMESPACE
