#include "plugins/queue_records.h"

#include <array>
#include <limits>
#include <utility>

#include "plugins/record_json.h"

namespace muster::queue {
namespace {

using record::Json;

constexpr std::array<std::pair<ClaimState, const char*>, 4> kStates{
    {{ClaimState::kClaimed, "claimed"},
     {ClaimState::kFailed, "failed"},
     {ClaimState::kDone, "done"},
     {ClaimState::kDead, "dead"}}};

// A claim beyond this would keep its message from everybody.
constexpr Duration kVisibilityMax = 24h;

// A dead letter says more than its message did, and must fit where that did: a message beyond the
// first size, which is half of what the narrowest store takes, is written with so much room.
constexpr std::size_t kLargeMessage = 128 * 1024;
constexpr std::size_t kRoom = 8 * 1024;

Error corrupt(const std::string& what) {
  return {Errc::kCorrupt, what};
}

std::optional<unsigned> small_number(const Json& json, const char* name) {
  const auto value = record::number(json, name);
  if (!value || *value > std::numeric_limits<unsigned>::max()) return {};
  return static_cast<unsigned>(*value);
}

std::optional<ClaimState> state_of(const Json& json) {
  const auto name = record::text(json, "state");
  for (const auto& [state, text] : kStates) {
    if (name == text) return state;
  }
  return {};
}

Json to_json(const Message& message) {
  return {
      {"id", message.id}, {"payload", message.payload}, {"enqueuedAt", to_ms(message.enqueued_at)}};
}

Result<Message> message_of(const Json& json) {
  if (!json.is_object()) return corrupt("the message is not a JSON object");
  const auto id = record::text(json, "id");
  const auto payload = record::text(json, "payload");
  const auto enqueued = record::wall(json, "enqueuedAt");
  if (!id || !payload || !enqueued) return corrupt("the message lacks its id, payload or time");
  return Message{*id, *payload, *enqueued};
}

std::string cut(const std::string& reason) {
  return reason.substr(0, kReasonBytesMax);
}

std::string finish(Json json, const std::string& nonce) {
  json["nonce"] = nonce;
  return record::dump(json);
}

}  // namespace

std::string encode(const Message& message, const std::string& nonce) {
  Json json = to_json(message);
  std::string body = finish(json, nonce);
  if (body.size() <= kLargeMessage) return body;
  json["room"] = std::string(kRoom, ' ');
  return finish(std::move(json), nonce);
}

Result<Message> decode_message(std::string_view body) {
  return message_of(record::parse(body));
}

std::string encode(const ClaimRecord& record, const std::string& nonce) {
  const char* state = "";
  for (const auto& [value, text] : kStates) {
    if (value == record.state) state = text;
  }
  return finish({{"state", state},
                 {"claim", record.claim},
                 {"worker", record.worker},
                 {"attempt", record.attempt},
                 {"visibility", to_ms(record.visibility)},
                 {"epoch", record.epoch.value()},
                 {"reason", cut(record.reason)}},
                nonce);
}

Result<ClaimRecord> decode_claim(std::string_view body) {
  const Json json = record::parse(body);
  if (!json.is_object()) return corrupt("the claim is not a JSON object");
  const auto state = state_of(json);
  const auto claim = record::text(json, "claim");
  const auto attempt = small_number(json, "attempt");
  const auto visibility = record::number(json, "visibility");
  const auto epoch = record::number(json, "epoch");
  if (!state || !claim || !attempt || !epoch || !visibility ||
      *visibility > static_cast<std::uint64_t>(to_ms(kVisibilityMax))) {
    return corrupt("the claim lacks its state, name, attempt, visibility or epoch");
  }
  return ClaimRecord{*state,
                     *claim,
                     record::text(json, "worker").value_or(""),
                     *attempt,
                     std::chrono::milliseconds(*visibility),
                     Epoch(*epoch),
                     record::text(json, "reason").value_or("")};
}

std::string encode(const Board& board, const std::string& nonce) {
  Json tickets = Json::array();
  for (const Ticket& ticket : board.tickets) {
    tickets.push_back({{"id", ticket.id},
                       {"revision", ticket.revision ? Json(ticket.revision->value()) : Json()},
                       {"attempts", ticket.attempts},
                       {"createdAt", to_ms(ticket.created_at)}});
  }
  return finish({{"epoch", board.epoch.value()}, {"tickets", std::move(tickets)}}, nonce);
}

Result<Board> decode_board(std::string_view body) {
  const Json json = record::parse(body);
  if (!json.is_object()) return corrupt("the dispatch is not a JSON object");
  const auto epoch = record::number(json, "epoch");
  const auto tickets = json.find("tickets");
  if (!epoch || tickets == json.end() || !tickets->is_array()) {
    return corrupt("the dispatch lacks its epoch or tickets");
  }
  Board board{Epoch(*epoch), {}};
  for (const Json& ticket : *tickets) {
    if (!ticket.is_object()) return corrupt("a ticket is not a JSON object");
    const auto id = record::text(ticket, "id");
    const auto attempts = small_number(ticket, "attempts");
    const auto created = record::wall(ticket, "createdAt");
    const auto revision = record::text(ticket, "revision");
    if (!id || !attempts || !created) return corrupt("a ticket lacks its id, attempts or time");
    board.tickets.push_back(
        {*id, revision ? std::optional(Revision(*revision)) : std::nullopt, *attempts, *created});
  }
  return board;
}

std::string encode(const DeadLetter& letter, const std::string& nonce) {
  Json json = to_json(letter.message);
  json["attempts"] = letter.attempts;
  json["reason"] = cut(letter.reason);
  json["diedAt"] = to_ms(letter.died_at);
  return finish(std::move(json), nonce);
}

Result<DeadLetter> decode_dead_letter(std::string_view body) {
  const Json json = record::parse(body);
  Result<Message> message = message_of(json);
  if (!message) return message.error();
  const auto attempts = small_number(json, "attempts");
  const auto died = record::wall(json, "diedAt");
  if (!attempts || !died) return corrupt("the dead letter lacks its attempts or time");
  return DeadLetter{
      *std::move(message), *attempts, record::text(json, "reason").value_or(""), *died, {}};
}

}  // namespace muster::queue
