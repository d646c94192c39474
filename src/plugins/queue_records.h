#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "store/store.h"

namespace muster::queue {

/// A producer's message; never changed, and removed once its claim is final.
struct Message {
  std::string id;
  std::string payload;
  WallTime enqueued_at{};
};

/// The state of a message. There is none before its first claim.
enum class ClaimState {
  kClaimed,
  kFailed,  ///< By its handler, or given back: to be retried after a pause.
  kDone,    ///< Final: a tombstone that keeps late copies of the message from running.
  kDead,    ///< Final: no attempts left. The message becomes a dead letter.
};

/// The one object that decides who may run a message. Every change is a compare-and-swap.
struct ClaimRecord {
  ClaimState state = ClaimState::kClaimed;
  std::string claim;      ///< Names this claim, through all its extensions.
  std::string worker;     ///< Who claimed last.
  unsigned attempt = 1;   ///< Claims so far, less those given back because nothing was run.
  Duration visibility{};  ///< As long as its holder wrote.
  Epoch epoch;            ///< Of the ticket that was claimed, or of the leader that ended it.
  std::string reason;     ///< Why it failed, for people.
};

/// The leader's permission to claim a message: its revision, and its attempts so far.
struct Ticket {
  std::string id;
  std::optional<Revision> revision;  ///< Of the claim to replace; none before the first.
  unsigned attempts = 0;
  WallTime created_at{};
};

/// All tickets out at a time, published together; the epoch is each ticket's.
struct Board {
  Epoch epoch;
  std::vector<Ticket> tickets;
};

struct DeadLetter {
  Message message;
  unsigned attempts = 0;
  std::string reason;
  WallTime died_at{};
  std::string name{};  ///< Of the letter itself, where it was read; the message's id, or longer.
};

/// What a reason may be in a record; the rest is cut off.
inline constexpr std::size_t kReasonBytesMax = 1024;

[[nodiscard]] std::string encode(const Message& message, const std::string& nonce);
[[nodiscard]] std::string encode(const ClaimRecord& record, const std::string& nonce);
[[nodiscard]] std::string encode(const Board& board, const std::string& nonce);
[[nodiscard]] std::string encode(const DeadLetter& letter, const std::string& nonce);
[[nodiscard]] Result<Message> decode_message(std::string_view body);
[[nodiscard]] Result<ClaimRecord> decode_claim(std::string_view body);
[[nodiscard]] Result<Board> decode_board(std::string_view body);
[[nodiscard]] Result<DeadLetter> decode_dead_letter(std::string_view body);

struct Keys {
  Keys(const std::string& name_space, const std::string& queue)
      : root("plugin=queue/namespace=" + name_space + "/queue=" + queue + "/"),
        dispatch(root + "dispatch.json"),
        messages(root + "messages/"),
        claims(root + "claims/"),
        dead(root + "dead/") {}

  [[nodiscard]] Key message(const std::string& id) const { return messages + id; }
  [[nodiscard]] Key claim(const std::string& id) const { return claims + id; }
  [[nodiscard]] Key dead_letter(const std::string& id) const { return dead + id; }

  std::string root;
  std::string dispatch;
  std::string messages;
  std::string claims;
  std::string dead;
};

}  // namespace muster::queue
