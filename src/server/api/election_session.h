#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "elector/participant.h"
#include "muster/v1/election.pb.h"
#include "rpc/call.h"
#include "server/api/local_store.h"

namespace muster::server {

/// What a client that campaigns has said of itself, checked.
struct CampaignTerms {
  std::string name;
  WorkerId id;
  Incarnation session;
  std::string value;
  Duration lease{0};
  std::optional<Epoch> resumed;
  std::string prefix;
  bool paused = false;

  /// kInvalid names the field and its rule.
  [[nodiscard]] static Result<CampaignTerms> from(const v1::CampaignHello& hello);
  /// Of one worker of one process: two streams with the same key do not campaign side by side.
  [[nodiscard]] std::string key() const;
};

/// One client's part in one election, as long as its stream lasts. The client is the owner of the
/// terms: this renews only because of its beats, releases only when it says that its work has
/// ended, and writes nothing when the stream breaks, because the client may go on at another
/// server. Threads: loop thread only.
class ElectionSession final : private ParticipantFront {
 public:
  struct Deps {
    Cluster& cluster;
    rpc::CallPtr call;
    Random random;
    /// For the audit log: what happened to the leadership.
    std::function<void(const std::string& what)> note;
    /// A term began here, or went on here.
    std::function<void(bool resumed)> led;
    /// Nothing is left to do: destroy this, but not before the call to this has returned.
    std::function<void()> over;
  };

  ElectionSession(CampaignTerms terms, Deps deps);

  /// The first message of the call was read; this reads the others.
  void start();
  /// Ends the stream. The term goes on elsewhere, or expires.
  void end(rpc::RpcStatus status);
  [[nodiscard]] bool leads() const { return participant_.leads_now(); }
  [[nodiscard]] const CampaignTerms& terms() const { return terms_; }

 private:
  void on(const ElectionEvent& event) override;
  void on_unsafe_store(const Error& why) override { trouble(why.message); }
  void on_start() override {}
  void on_beat(MonoTime began, bool failed) override;
  void on_workers(std::size_t, std::size_t) override {}
  [[nodiscard]] bool paused() const override { return terms_.paused; }
  [[nodiscard]] bool is_for_me(const ControlCommand& command) const override;
  void obey(const ControlCommand& command) override;
  void on_bad_command(const Error& why) override { trouble(why.message); }

  void read();
  void heard(const v1::CampaignRequest& request);
  void beat(std::uint64_t number);
  void resign(const v1::CampaignResign& request);
  void resigned(bool confirmed);
  void lost(const LostLeadership& loss);
  void give_up(const ControlCommand& command);
  void trouble(const std::string& why);
  void store_failed(const Error& error);
  void show_leader(bool answer = false);
  void watch_silence();
  void left();

  void send(v1::CampaignResponse response);
  void write();
  /// After everything that was sent.
  void finish(rpc::RpcStatus status);
  void gone();

  CampaignTerms terms_;
  const Duration held_;  ///< Of each lease, from the beat that it counts from.
  Cluster& cluster_;
  Loop& loop_;
  rpc::CallPtr call_;
  std::function<void(const std::string&)> note_;
  std::function<void(bool)> led_;
  std::function<void()> over_;
  LocalStore store_;
  Participant participant_;

  std::uint64_t last_beat_ = 0;
  std::optional<v1::CampaignResign> resigning_;
  std::optional<WorkerId> preferred_;   ///< By the operator's command.
  std::optional<MonoTime> gave_up_at_;  ///< When the client was told to hand over.
  std::optional<v1::CampaignWaiting> shown_;
  std::string trouble_;  ///< The last one that the client was told.
  Timer silence_;
  Timer release_;  ///< Ends the wait for a release without its client.

  std::deque<v1::CampaignResponse> unsent_;
  bool writing_ = false;
  std::optional<rpc::RpcStatus> status_;  ///< Of the end that follows the unsent.
  bool ended_ = false;
  Lifetime lifetime_;
};

}  // namespace muster::server
