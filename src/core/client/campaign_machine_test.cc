#include "core/client/campaign_machine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::client {
namespace campaign_machine_test {

using Kind = CampaignNews::Kind;
using Event = CampaignEventKind;

constexpr MonoTime kStart{1000s};
constexpr Duration kLeft = 12s;

CampaignConfig config() {
  CampaignConfig config;
  config.name = "jobs";
  config.id = WorkerId("w1");
  config.lease = 15s;
  return config;
}

CampaignNews granted(std::uint64_t epoch, std::uint64_t beat) {
  CampaignNews news{Kind::kGranted};
  news.epoch = Epoch(epoch);
  news.beat = beat;
  news.left = kLeft;
  return news;
}
CampaignNews renewed(std::uint64_t epoch, std::uint64_t beat) {
  CampaignNews news = granted(epoch, beat);
  news.kind = Kind::kRenewed;
  return news;
}
CampaignNews waiting(std::uint64_t beat = 0) {
  CampaignNews news{Kind::kWaiting};
  news.beat = beat;
  return news;
}
CampaignNews resigned(bool confirmed) {
  CampaignNews news{Kind::kResigned};
  news.confirmed = confirmed;
  return news;
}

class Client {
 public:
  CampaignMachine machine{config(), Random(1)};
  CampaignMachine::Work work;
  CampaignMachine::Events events;

  void works(MonoTime at) {
    events.clear();
    work = machine.take_work(at, events);
  }
  void hears(const CampaignNews& news, MonoTime at) {
    events.clear();
    machine.heard(news, at, events);
  }
  void loses_its_stream(MonoTime at, bool final = false) {
    events.clear();
    machine.stream_ended("broken", final, at, events);
  }
  [[nodiscard]] bool told(Event kind) const {
    return std::any_of(events.begin(), events.end(),
                       [kind](const CampaignEvent& event) { return event.kind == kind; });
  }
  /// Leads epoch 5 from kStart on.
  void leads() {
    works(kStart);
    ASSERT_TRUE(work.hello);
    hears(granted(5, 0), kStart + 1s);
    ASSERT_TRUE(machine.leads(kStart + 1s));
  }
};

TEST(CampaignMachineTest, ATermCountsFromTheSendOfTheBeatThatWasConfirmed) {
  Client client;
  client.leads();
  EXPECT_EQ(client.machine.deadline(), kStart + kLeft);
  EXPECT_EQ(client.machine.work_at(), kStart + 5s);
  client.works(kStart + 5s);
  EXPECT_EQ(client.work.beat, 1U);
  client.hears(renewed(5, 1), kStart + 8s);
  EXPECT_EQ(client.machine.deadline(), kStart + 5s + kLeft);
  EXPECT_TRUE(client.machine.leads(kStart + 5s + kLeft - 1ms));
  EXPECT_FALSE(client.machine.leads(kStart + 5s + kLeft)) << "without being told";
}

TEST(CampaignMachineTest, ARenewalThatArrivesAfterTheDeadlineRevivesNothing) {
  Client client;
  client.leads();
  client.works(kStart + 5s);
  client.hears(renewed(5, 1), kStart + kLeft);
  EXPECT_TRUE(client.told(Event::kLost));
  EXPECT_FALSE(client.machine.leads(kStart + kLeft));
  client.works(kStart + kLeft);
  EXPECT_TRUE(client.work.close);
  EXPECT_FALSE(client.work.hello) << "its work may still run";
  client.machine.work_ended(kStart + kLeft);
  client.works(kStart + kLeft);
  ASSERT_TRUE(client.work.hello);
  EXPECT_EQ(client.work.hello->resumed, std::nullopt);
}

TEST(CampaignMachineTest, AGrantThatArrivesTooLateIsOfNoUse) {
  Client client;
  client.works(kStart);
  client.hears(waiting(), kStart);
  client.hears(granted(5, 0), kStart + kLeft);
  EXPECT_FALSE(client.machine.leads(kStart + kLeft));
  EXPECT_FALSE(client.told(Event::kGranted));
  client.works(kStart + kLeft);
  EXPECT_TRUE(client.work.close);
  ASSERT_TRUE(client.work.hello);
  EXPECT_EQ(client.work.hello->resumed, std::nullopt);
}

TEST(CampaignMachineTest, ATermGoesOnOverAnotherStream) {
  Client client;
  client.leads();
  client.loses_its_stream(kStart + 2s);
  EXPECT_TRUE(client.machine.leads(kStart + 2s));
  client.works(kStart + 2s);
  ASSERT_TRUE(client.work.hello);
  EXPECT_EQ(client.work.hello->resumed, Epoch(5));
  client.hears(renewed(5, 0), kStart + 3s);
  EXPECT_EQ(client.machine.deadline(), kStart + 2s + kLeft) << "the hello is beat 0";
}

TEST(CampaignMachineTest, AServerThatDoesNotAnswerIsLeftForAnother) {
  Client client;
  client.leads();
  client.works(kStart + 5s);
  EXPECT_EQ(client.machine.work_at(), kStart + 10s);
  client.works(kStart + 10s);
  EXPECT_TRUE(client.work.close);
  ASSERT_TRUE(client.work.hello);
  EXPECT_EQ(client.work.hello->resumed, Epoch(5));
}

TEST(CampaignMachineTest, AnAnswerToAnEarlierBeatIsNoneToTheLast) {
  Client client;
  client.works(kStart);
  client.hears(waiting(), kStart);
  client.works(kStart + 5s);
  client.works(kStart + 10s - 1ms);
  client.hears(waiting(0), kStart + 9s);
  client.works(kStart + 10s);
  EXPECT_TRUE(client.work.close) << "beat 1 has no answer";
}

TEST(CampaignMachineTest, ATermThatTheServersEndedIsLost) {
  Client client;
  client.leads();
  CampaignNews lost{Kind::kLost};
  lost.reason = "replaced";
  client.hears(lost, kStart + 2s);
  EXPECT_TRUE(client.told(Event::kLost));
  EXPECT_FALSE(client.machine.leads(kStart + 2s));
}

TEST(CampaignMachineTest, AnOperatorsRequestIsAnsweredWithAResignationToTheSuccessor) {
  Client client;
  client.leads();
  CampaignNews give_up{Kind::kGiveUp};
  give_up.prefer = "w2";
  client.hears(give_up, kStart + 2s);
  EXPECT_TRUE(client.told(Event::kGiveUp));
  EXPECT_TRUE(client.machine.leads(kStart + 2s)) << "the work is being stopped";
  client.machine.resign({}, kStart + 3s);
  EXPECT_FALSE(client.machine.leads(kStart + 3s)) << "whatever the answer";
  client.works(kStart + 3s);
  ASSERT_TRUE(client.work.resign);
  EXPECT_EQ(client.work.resign->prefer, "w2");
  EXPECT_TRUE(client.work.resign->stay);
  client.hears(resigned(true), kStart + 3s);
  EXPECT_TRUE(client.told(Event::kResigned));
  client.hears(granted(7, 0), kStart + 4s);
  EXPECT_TRUE(client.machine.leads(kStart + 4s)) << "it has campaigned again";
}

TEST(CampaignMachineTest, AResignationIsRepeatedOverAnotherStreamWhileTheLeaseLasts) {
  Client client;
  client.leads();
  client.machine.resign({}, kStart + 2s);
  client.works(kStart + 2s);
  client.loses_its_stream(kStart + 3s);
  client.works(kStart + 3s);
  ASSERT_TRUE(client.work.hello);
  EXPECT_EQ(client.work.hello->resumed, Epoch(5));
  EXPECT_TRUE(client.work.resign);
  EXPECT_FALSE(client.machine.leads(kStart + 3s));
  client.hears(renewed(5, 0), kStart + 3s);
  EXPECT_FALSE(client.machine.leads(kStart + 3s));
  client.works(kStart + kLeft);
  ASSERT_TRUE(client.told(Event::kResigned));
  EXPECT_FALSE(client.events.front().confirmed);
}

TEST(CampaignMachineTest, ACampaignThatStopsReleasesItsLeaseAndEnds) {
  Client client;
  client.leads();
  client.machine.stop(kStart + 2s);
  client.works(kStart + 2s);
  ASSERT_TRUE(client.work.resign);
  EXPECT_FALSE(client.work.resign->stay);
  client.hears(resigned(true), kStart + 3s);
  EXPECT_TRUE(client.told(Event::kEnded));
  client.works(kStart + 3s);
  EXPECT_TRUE(client.work.close);
  EXPECT_EQ(client.machine.work_at(), MonoTime::max());
}

TEST(CampaignMachineTest, ACampaignThatIsRefusedEnds) {
  Client client;
  client.works(kStart);
  client.loses_its_stream(kStart, /*final=*/true);
  EXPECT_TRUE(client.told(Event::kRefused));
  EXPECT_EQ(client.machine.work_at(), MonoTime::max());
}

TEST(CampaignMachineTest, APauseGoesAlongToTheNextServer) {
  Client client;
  client.works(kStart);
  CampaignNews news = waiting();
  news.paused = true;
  client.hears(news, kStart);
  client.loses_its_stream(kStart + 1s);
  client.works(kStart + 1s);
  ASSERT_TRUE(client.work.hello);
  EXPECT_TRUE(client.work.hello->paused);
}

}  // namespace campaign_machine_test
}  // namespace muster::client
