#include "elector/control.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_bounds.h"
#include "base/text.h"

namespace muster {
namespace {

using Json = nlohmann::json;

Error bad_control(const std::string& why) {
  return {Errc::kCorrupt, "control.json: " + why};
}

Result<Json> parse_object(std::string_view body) {
  if (Status s = check_json_bounds(body); !s) return bad_control(s.error().message);
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad_control("the body is not a JSON object");
  return Result<Json>(std::move(json));
}

std::string text(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return "";
  // It is shown to people: a writer of the store must not be able to control terminals.
  return without_controls(it->get<std::string>());
}

std::uint64_t number(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number_unsigned() ? it->get<std::uint64_t>() : 0;
}

WallTime wall(const Json& json, const char* name) {
  return wall_from_ms(static_cast<std::int64_t>(number(json, name)));
}

std::optional<ControlKind> kind_of(const std::string& name) {
  for (const ControlKind kind : {ControlKind::kStepDown, ControlKind::kTransfer,
                                 ControlKind::kPause, ControlKind::kResume}) {
    if (name == to_string(kind)) return kind;
  }
  return {};
}

}  // namespace

const char* to_string(ControlKind kind) {
  switch (kind) {
    case ControlKind::kStepDown:
      return "step-down";
    case ControlKind::kTransfer:
      return "transfer";
    case ControlKind::kPause:
      return "pause";
    case ControlKind::kResume:
      return "resume";
  }
  return "unknown";
}

std::string encode(const ControlRecord& record, std::string_view previous) {
  const ControlCommand& command = record.command;
  auto parsed = parse_object(previous);
  Json json = parsed ? std::move(*parsed) : Json::object();
  json["id"] = command.id;
  json["command"] = to_string(command.kind);
  json["epoch"] = command.epoch.value();
  json["issuedAt"] = to_ms(command.issued_at);
  if (command.worker) json["workerId"] = command.worker->value();
  if (record.ack) {
    json["acknowledged"] = {
        {"id", record.ack->id}, {"by", record.ack->by.value()}, {"at", to_ms(record.ack->at)}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ControlRecord> decode_control(std::string_view body) {
  const auto parsed = parse_object(body);
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  ControlRecord record;
  ControlCommand& command = record.command;
  command.id = text(json, "id");
  if (command.id.empty()) return bad_control("the command has no id");
  const auto kind = kind_of(text(json, "command"));
  if (!kind) return bad_control("\"" + text(json, "command") + "\" is not a command");
  command.kind = *kind;
  if (!json.contains("epoch") || !json["epoch"].is_number_unsigned()) {
    return bad_control("the epoch is not a whole number");
  }
  command.epoch = Epoch(number(json, "epoch"));
  command.issued_at = wall(json, "issuedAt");
  if (const std::string worker = text(json, "workerId"); !worker.empty()) {
    command.worker = WorkerId(worker);
  }
  if (command.kind == ControlKind::kTransfer && !command.worker) {
    return bad_control("a transfer names no worker");
  }
  if (const auto it = json.find("acknowledged"); it != json.end() && it->is_object()) {
    record.ack = ControlAck{text(*it, "id"), WorkerId(text(*it, "by")), wall(*it, "at")};
  }
  return record;
}

void write_control(ObjectStore& store, const Key& key, const ControlCommand& command, Deadline by,
                   Callback<Done> done) {
  const auto settle = [&store, key, id = command.id, by, done](const Result<Revision>& written) {
    if (written) return done(Done{});
    // Also after a conflict: a proxy may have sent the write twice, unseen by us.
    store.get(key, {}, by, [id, done, error = written.error()](const Result<Object>& object) {
      const auto record =
          object ? decode_whole(*object, decode_control) : Result<ControlRecord>(error);
      if (record && record->command.id == id) return done(Done{});
      done(error);
    });
  };
  store.get(key, {}, by, [&store, key, command, by, settle, done](const Result<Object>& object) {
    if (!object && !object.is(Errc::kNotFound)) return done(object.error());
    const Precondition when = object ? Precondition::at(object->revision) : Precondition::absent();
    store.put(key, encode(ControlRecord{command, {}}), when, by, settle);
  });
}

ControlReader::ControlReader(Loop& loop, ObjectStore& store, Key key, WorkerId self,
                             Duration request_timeout, Hooks hooks)
    : loop_(loop),
      store_(store),
      key_(std::move(key)),
      self_(std::move(self)),
      request_timeout_(request_timeout),
      hooks_(std::move(hooks)) {}

void ControlReader::look() {
  if (std::exchange(busy_, true)) return;
  // While an acknowledgement is owed the body is wanted even when it has not changed.
  const std::optional<Revision> unless = owed_ ? std::nullopt : revision_;
  store_.get(key_, unless, loop_.now() + request_timeout_,
             lifetime_.wrap([this](Result<Object> object) { read(std::move(object)); }));
}

void ControlReader::listed(const Revision& revision) {
  if (revision != revision_) look();
}

void ControlReader::read(Result<Object> object) {
  busy_ = false;
  if (object.is(Errc::kNotFound) || object.is(Errc::kUnchanged)) return;
  if (!object) return hooks_.on_error(object.error());
  revision_ = object->revision;
  Result<ControlRecord> record = decode_whole(*object, decode_control);
  if (!record) {
    owed_.reset();
    return hooks_.on_bad(record.error());
  }
  const ControlCommand command = record->command;
  const bool fresh = command.id != judged_;
  if (fresh) owed_.reset();
  const bool acknowledged = record->ack && record->ack->id == command.id;
  const bool mine = acknowledged && record->ack->by == self_;
  if (owed_ && mine) owed_.reset();
  judged_ = command.id;
  const bool accepted = fresh && hooks_.offer(command);
  if (accepted) owed_ = command.id;
  if (owed_) acknowledge(std::move(*record), *object);
  if (accepted) hooks_.accepted(command);
}

void ControlReader::acknowledge(ControlRecord record, const Object& seen) {
  record.ack = ControlAck{record.command.id, self_, loop_.wall_now()};
  store_.put(key_, encode(record, seen.body), Precondition::at(seen.revision),
             loop_.now() + request_timeout_,
             lifetime_.wrap([this, id = record.command.id](const Result<Revision>& written) {
               // Whatever went wrong is looked at again: it may have landed, or been overtaken.
               if (!written && !written.is(Errc::kConflict)) hooks_.on_error(written.error());
               if (written && owed_ == id) owed_.reset();
             }));
}

}  // namespace muster
