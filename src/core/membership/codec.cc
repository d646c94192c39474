#include "core/membership/codec.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/membership/node_codec.h"
#include "core/membership/wire.h"

namespace muster::membership {
namespace {

/// The fields of TimedCommand; the kinds of command begin at kFirstKind, in the variant's order.
enum CommandField : std::uint32_t {
  kFormat = 1,
  kTime = 2,
  kAskedBy = 3,
  kCause = 4,
  kFirstKind = 10,
};

/// In a packed beat, the low bits hold the reported state and the rest the distance between slots.
constexpr unsigned kReportedBits = 4;

Error corrupt(const char* what) {
  return {Errc::kCorrupt, std::string("a ") + what + " of the topology log is damaged"};
}

Error newer(const char* what) {
  return {Errc::kUnsupported,
          std::string("a newer server wrote this ") + what + "; upgrade this server"};
}

struct WriteBody {
  WireWriter& out;

  void operator()(const RegisterNode& c) const { registration(c.node); }
  void operator()(const RegisterServiceNode& c) const { registration(c.node); }
  void registration(const NodeSpec& spec) const {
    WireWriter node;
    write(node, spec);
    out.message(1, node.bytes());
  }
  void operator()(const DeregisterNode& c) const {
    out.text(1, c.id.value());
    out.text(2, c.generation.value());
  }
  void operator()(const BatchHeartbeat& c) const {
    out.number(1, c.as_of);
    WireWriter beats;
    Slot last = 0;
    for (const Beat& beat : c.beats) {
      MUSTER_CHECK(beat.slot > last || (beat.slot == last && &beat == c.beats.data()));
      MUSTER_CHECK(static_cast<unsigned>(beat.reported) < 1U << kReportedBits);
      const std::uint64_t distance = beat.slot - last;
      beats.varint(distance << kReportedBits | static_cast<std::uint64_t>(beat.reported));
      last = beat.slot;
    }
    out.text(2, beats.bytes());
  }
  void operator()(const MarkSuspect& c) const { observation(c.seen); }
  void operator()(const MarkDown& c) const { observation(c.seen); }
  void operator()(const RemoveJoining& c) const { observation(c.seen); }
  void operator()(const Drain& c) const {
    out.text(1, c.id.value());
    out.number(2, c.cancel ? 1 : 0);
  }
  void operator()(const SetRingConfig& c) const {
    WireWriter ring;
    write(ring, c.ring);
    out.message(1, ring.bytes());
  }
  void operator()(const SetDrain& c) const {
    out.text(1, c.id.value());
    out.number(2, c.drained ? 1 : 0);
  }
  void observation(const Observation& seen) const {
    out.text(1, seen.id.value());
    out.text(2, seen.generation.value());
    out.time(3, seen.last_heartbeat_at);
    out.number(4, seen.heartbeats);
  }
};

void read_beats(WireReader& in, std::vector<Beat>& beats) {
  if (!beats.empty()) return in.fail();
  WireReader packed(in.message());
  std::uint64_t value = 0;
  std::uint64_t slot = 0;
  while (packed.varint(value)) {
    const std::uint64_t distance = value >> kReportedBits;
    slot += distance;
    if (distance >= kSlotsMax || slot >= kSlotsMax || (distance == 0 && !beats.empty())) {
      packed.fail();
    } else {
      const auto reported = value & ((1U << kReportedBits) - 1);
      beats.push_back({static_cast<Slot>(slot), static_cast<NodeState>(reported)});
    }
  }
  if (packed.failed()) in.fail();
}

/// Takes the current field; false when this version does not know it.
struct ReadField {
  WireReader& in;

  bool operator()(RegisterNode& c) const { return registration(c.node); }
  bool operator()(RegisterServiceNode& c) const { return registration(c.node); }
  bool registration(NodeSpec& node) const {
    if (in.field() != 1) return false;
    if (!read(in.message(), node)) in.fail();
    return true;
  }
  bool operator()(DeregisterNode& c) const {
    if (in.field() == 1) return c.id = NodeId(in.text()), true;
    if (in.field() == 2) return c.generation = Generation(in.text()), true;
    return false;
  }
  bool operator()(BatchHeartbeat& c) const {
    if (in.field() == 1) return c.as_of = in.number(), true;
    if (in.field() == 2) return read_beats(in, c.beats), true;
    return false;
  }
  bool operator()(MarkSuspect& c) const { return observation(c.seen); }
  bool operator()(MarkDown& c) const { return observation(c.seen); }
  bool operator()(RemoveJoining& c) const { return observation(c.seen); }
  bool operator()(Drain& c) const {
    if (in.field() == 1) return c.id = NodeId(in.text()), true;
    if (in.field() == 2) return c.cancel = in.number(1) == 1, true;
    return false;
  }
  bool operator()(SetRingConfig& c) const {
    if (in.field() != 1) return false;
    if (!read(in.message(), c.ring)) in.fail();
    return true;
  }
  bool operator()(SetDrain& c) const {
    if (in.field() == 1) return c.id = NodeId(in.text()), true;
    if (in.field() == 2) return c.drained = in.number(1) == 1, true;
    return false;
  }
  bool observation(Observation& seen) const {
    if (in.field() == 1) return seen.id = NodeId(in.text()), true;
    if (in.field() == 2) return seen.generation = Generation(in.text()), true;
    if (in.field() == 3) return seen.last_heartbeat_at = in.time(), true;
    if (in.field() == 4) return seen.heartbeats = in.number(), true;
    return false;
  }
};

/// An empty command of the kind that `field` stands for; none when this version knows none.
template <std::uint32_t I = 0>
std::optional<Command> make_command(std::uint32_t field) {
  if constexpr (I < std::variant_size_v<Command>) {
    return field == kFirstKind + I ? Command(std::in_place_index<I>) : make_command<I + 1>(field);
  } else {
    return {};
  }
}

bool read_body(std::string_view bytes, Command& command) {
  // Absent means zero on the wire, whatever the default of a fresh struct is.
  if (auto* drain = std::get_if<SetDrain>(&command)) drain->drained = false;
  WireReader in(bytes);
  std::string& unknown = std::visit([](auto& c) -> std::string& { return c.unknown; }, command);
  while (in.next()) {
    if (!std::visit(ReadField{in}, command)) in.keep(unknown);
  }
  return !in.failed();
}

}  // namespace

std::string encode(const TimedCommand& timed) {
  WireWriter body;
  std::visit(WriteBody{body}, timed.command);
  body.raw(
      std::visit([](const auto& c) -> const std::string& { return c.unknown; }, timed.command));
  WireWriter out;
  out.number(kFormat, kFormatVersion);
  out.time(kTime, timed.time);
  out.message(kFirstKind + static_cast<std::uint32_t>(timed.command.index()), body.bytes());
  out.text(kAskedBy, timed.reason.asked_by);
  if (timed.reason.cause) {
    WireWriter cause;
    write(cause, *timed.reason.cause);
    out.message(kCause, cause.bytes());
  }
  out.raw(timed.unknown);
  return out.bytes();
}

Result<TimedCommand> decode_command(std::string_view bytes) {
  if (bytes.size() > kCommandBytesMax) return corrupt("command");
  TimedCommand timed;
  std::uint64_t format = 0;
  std::size_t kinds = 0;
  bool unknown_kind = false;
  WireReader in(bytes);
  while (in.next()) {
    if (in.field() == kFormat) {
      format = in.number();
    } else if (in.field() == kTime) {
      timed.time = in.time();
    } else if (in.field() == kAskedBy) {
      timed.reason.asked_by = in.text();
    } else if (in.field() == kCause) {
      if (!read(in.message(), timed.reason.cause.emplace())) in.fail();
    } else if (auto command = make_command(in.field())) {
      ++kinds;
      if (!read_body(in.message(), *command)) in.fail();
      timed.command = std::move(*command);
    } else {
      unknown_kind = unknown_kind || in.field() >= kFirstKind;
      in.keep(timed.unknown);
    }
  }
  // A format of the future may differ in anything that follows, so it is judged first.
  if (format > kFormatVersion) return newer("command");
  if (in.failed() || format == 0 || kinds > 1) return corrupt("command");
  if (kinds == 0) return unknown_kind ? newer("kind of command") : corrupt("command");
  return timed;
}

}  // namespace muster::membership
