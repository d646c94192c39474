#include "tests/api/scene.h"
#include "tests/api/stores.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace api_test {
namespace {

using muster::register_scheme;
using muster::StoreAddress;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Stores = muster::Result<std::shared_ptr<muster::Store>>;

std::string on_shelf() {
  auto shelf = std::make_shared<Shelf>();
  return own_address([shelf] { return std::make_shared<ShelfStore>(shelf); });
}

/// An address of a store of kind T.
template <typename T>
std::string address_of() {
  auto shelf = std::make_shared<Shelf>();
  return own_address([shelf] { return std::make_shared<T>(shelf); });
}

TEST(OwnStoreTest, ElectionsRunOnIt) {
  const std::string url = on_shelf();
  const Arbiter one = Arbiter::open(url).value();
  const Arbiter two = Arbiter::open(url).value();
  EXPECT_EQ(one.describe(), url);
  EXPECT_TRUE(one.probe().ok()) << one.probe().message();
  Leadership first = Leadership::stand(one, "n", options_of("a", 1s)).value();
  const Term term = first.wait({}, kSoon).value();
  Leadership second = Leadership::stand(two, "n", options_of("b", 1s)).value();
  EXPECT_TRUE(second.wait({}, 200ms).is(Code::kTimeout));
  EXPECT_TRUE(term.valid());
  std::thread stop([&] { EXPECT_TRUE(first.stop().ok()); });
  wait_for(term.stopping());
  const_cast<Term&>(term) = Term();
  stop.join();
  EXPECT_GT(second.wait({}, kSoon).value().token(), 1u);
}

TEST(OwnStoreTest, TheOpenerIsToldTheAddress) {
  StoreAddress seen;
  ASSERT_TRUE(register_scheme("told+me.2-x", [&](const StoreAddress& address) -> Stores {
                seen = address;
                return std::make_shared<ShelfStore>(std::make_shared<Shelf>());
              }).ok());
  muster::Tls tls;
  tls.ca_file = "ca.pem";
  const auto arbiter =
      Arbiter::open("told+me.2-x://me:s%40cret@h1:1,h2/dir/a%20b?size=3&mode=", tls).value();
  EXPECT_EQ(arbiter.describe(), "told+me.2-x://h1:1,h2/dir/a b");
  EXPECT_EQ(seen.scheme, "told+me.2-x");
  EXPECT_EQ(seen.user, "me");
  EXPECT_EQ(seen.password, "s@cret");
  EXPECT_EQ(seen.hosts, (std::vector<std::string>{"h1:1", "h2"}));
  EXPECT_EQ(seen.path, "/dir/a b");
  EXPECT_EQ(seen.options, (std::map<std::string, std::string>{{"size", "3"}, {"mode", ""}}));
  EXPECT_EQ(seen.tls.ca_file, "ca.pem");
}

TEST(OwnStoreTest, ASchemeThatIsTakenMalformedOrBuiltInIsRefused) {
  const auto open = [](const StoreAddress&) -> Stores { return {Code::kInvalid, "never opened"}; };
  EXPECT_TRUE(register_scheme("taken", open).ok());
  EXPECT_TRUE(register_scheme("taken", open).is(Code::kConflict));
  EXPECT_EQ(register_scheme("taken", open).message(), "the scheme taken is registered already");
  for (const char* scheme : {"s3", "file", "etcd", "muster", "memory", "postgres", "postgresql"}) {
    EXPECT_TRUE(register_scheme(scheme, open).is(Code::kInvalid)) << scheme;
    EXPECT_THAT(register_scheme(scheme, open).message(), HasSubstr("is built in"));
  }
  for (const std::string scheme :
       {"", "My", "1st", "a:b", "a/b", "-a", "a b", "caf\xc3\xa9", "a_b"}) {
    EXPECT_TRUE(register_scheme(scheme, open).is(Code::kInvalid)) << scheme;
    EXPECT_THAT(register_scheme(scheme, open).message(), HasSubstr("is no scheme"));
  }
  EXPECT_TRUE(register_scheme(std::string(33, 'a'), open).is(Code::kInvalid));
  EXPECT_TRUE(register_scheme("empty", nullptr).is(Code::kInvalid));
}

TEST(OwnStoreTest, AStoreThatIsNoArbiterIsRefusedWithTheReasonUnlessTheProgramBringsIt) {
  const auto refused = Arbiter::open("redis://h/0");
  EXPECT_TRUE(refused.is(Code::kInvalid));
  EXPECT_THAT(refused.message(), StartsWith("redis:// cannot decide elections: it acknowledges"));
  ASSERT_TRUE(register_scheme("redis", [](const StoreAddress&) {
                return std::make_shared<ShelfStore>(std::make_shared<Shelf>());
              }).ok());
  EXPECT_TRUE(Arbiter::open("redis://h/0").ok());
}

TEST(OwnStoreTest, AnOpenerThatFailsIsAnErrorOfOpen) {
  ASSERT_TRUE(register_scheme("failing", [](const StoreAddress& address) -> Stores {
                if (address.path == "/throw") throw std::runtime_error("no disk");
                if (address.path == "/odd") throw 7;
                if (address.path == "/null") return std::shared_ptr<muster::Store>();
                return {Code::kDenied, "no permission"};
              }).ok());
  EXPECT_EQ(Arbiter::open("failing://h/no").message(), "failing://h/no: no permission");
  EXPECT_TRUE(Arbiter::open("failing://h/no").is(Code::kInvalid));
  EXPECT_EQ(Arbiter::open("failing://h/throw").message(),
            "failing://h/throw: its opener has thrown: no disk");
  EXPECT_EQ(Arbiter::open("failing://h/odd").message(), "failing://h/odd: its opener has thrown");
  EXPECT_EQ(Arbiter::open("failing://h/null").message(),
            "failing://h/null: its opener returned no store");
  for (const int threads : {0, -1, 65}) {
    const auto many = own_address([threads] {
      return std::make_shared<BlockingStore>(std::make_shared<Shelf>(), std::make_shared<Gate>(),
                                             threads);
    });
    EXPECT_THAT(Arbiter::open(many).message(), HasSubstr("between 1 and 64")) << threads;
  }
}

TEST(OwnStoreTest, TheProbeRefusesUnsafeOnes) {
  const auto verdict = [](const std::string& url) { return Arbiter::open(url).value().probe(); };
  EXPECT_TRUE(verdict(address_of<CarelessStore>()).is(Code::kUnsupported));
  EXPECT_THAT(verdict(address_of<CarelessStore>()).message(),
              HasSubstr("an existing object was created again"));
  EXPECT_TRUE(verdict(address_of<ForgetfulStore>()).is(Code::kUnsupported));
  EXPECT_THAT(verdict(address_of<ForgetfulStore>()).message(),
              HasSubstr("a read did not show the last accepted write"));
  EXPECT_TRUE(verdict(address_of<UniformStore>()).is(Code::kUnsupported));
  EXPECT_THAT(verdict(address_of<UniformStore>()).message(),
              HasSubstr("a new body got the revision of the old one"));
  EXPECT_TRUE(verdict(address_of<CountingStore>()).is(Code::kUnsupported));
  EXPECT_THAT(verdict(address_of<CountingStore>()).message(),
              HasSubstr("an object that was made anew got the revision of a removed one"));
  auto shelf = std::make_shared<Shelf>();
  const auto pages = own_address([shelf] {
    return std::make_shared<WrongPagesStore>(
        shelf, [](const auto& right, const auto& prefix, const auto& after, std::size_t most) {
          auto keys = right(prefix, after, most);
          if (!keys.empty()) keys.push_back(keys.back());
          return keys;
        });
  });
  EXPECT_TRUE(verdict(pages).is(Code::kUnsupported));
  EXPECT_THAT(verdict(pages).message(),
              HasSubstr("the store breaks a rule of its interface: list()"));
}

TEST(OwnStoreTest, NoElectionHasALeaderOnAnUnsafeOne) {
  for (const std::string& url : {address_of<CarelessStore>(), address_of<ForgetfulStore>(),
                                 address_of<UniformStore>(), address_of<CountingStore>()}) {
    Heard<muster::Error> troubles;
    LeaderOptions options = options_of("me", 1s);
    options.on_trouble = [&](const muster::Error& error) { troubles.add(error); };
    const Arbiter arbiter = Arbiter::open(url).value();
    Leadership standing = Leadership::stand(arbiter, "n", options).value();
    const auto trouble = troubles.wait_for([](const muster::Error&) { return true; });
    ASSERT_TRUE(trouble);
    EXPECT_EQ(trouble->code, Code::kUnsupported);
    EXPECT_THAT(trouble->message, StartsWith("unsafe store " + url));
    EXPECT_FALSE(standing.term().valid());
  }
}

TEST(OwnStoreTest, TheStoreEndsWithItsArbiter) {
  const std::size_t before = threads();
  std::weak_ptr<muster::Store> store;
  const auto url = own_address([&store] {
    auto made = std::make_shared<ShelfStore>(std::make_shared<Shelf>());
    store = made;
    return made;
  });
  {
    const Arbiter arbiter = Arbiter::open(url).value();
    EXPECT_TRUE(arbiter.probe().ok());
    EXPECT_FALSE(store.expired());
  }
  EXPECT_TRUE(store.expired());
  EXPECT_TRUE(threads_fall_to(before));
}

}  // namespace
}  // namespace api_test
