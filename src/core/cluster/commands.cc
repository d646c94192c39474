#include "core/cluster/commands.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/membership/codec.h"
#include "core/membership/validation.h"
#include "core/membership/wire.h"

namespace muster::cluster {
namespace {

using membership::WireReader;
using membership::WireWriter;

constexpr std::uint64_t kFormatVersion = 1;
/// The fields of a command; the kinds begin at kFirstKind, in the variant's order.
enum CommandField : std::uint32_t { kFormat = 1, kFirstKind = 10 };

Error corrupt() {
  return {Errc::kCorrupt, "a command of the cluster's log is damaged"};
}

Error newer() {
  return {Errc::kUnsupported, "a newer server wrote this command; upgrade this server"};
}

/// A condition is two fields: `field` says absent, `field + 1` holds a revision.
void write(WireWriter& out, std::uint32_t field, const KvCondition& when) {
  if (std::holds_alternative<Absent>(when)) out.number(field, 1);
  if (const auto* at = std::get_if<AtRevision>(&when)) out.number(field + 1, at->revision);
}

/// What nobody writes is not read either: written again it would be no condition at all.
bool read(WireReader& in, std::uint32_t field, KvCondition& when) {
  if (in.field() == field) {
    when = Absent{};
    if (in.number() != 1) in.fail();
    return true;
  }
  if (in.field() == field + 1) {
    when = AtRevision{in.number()};
    if (when == KvCondition(AtRevision{0})) in.fail();
    return true;
  }
  return false;
}

struct WriteBody {
  WireWriter& out;

  void operator()(const ChangeTopology& c) const {
    out.raw(membership::encode({{}, c.command, {}, c.reason}));
  }
  void operator()(const StorePut& c) const {
    out.text(1, c.key);
    out.text(2, c.value);
    write(out, 3, c.when);
    if (c.guard) {
      out.text(5, c.guard->key);
      write(out, 6, c.guard->when);
    }
    out.raw(c.unknown);
  }
  void operator()(const StoreRemove& c) const {
    out.text(1, c.key);
    write(out, 3, c.when);
    out.raw(c.unknown);
  }
  void operator()(const AnnounceServer& c) const {
    out.text(1, c.id);
    out.text(2, c.address);
    out.text(3, c.version);
    out.number(5, c.level);
    out.raw(c.unknown);
  }
  void operator()(const ForgetServer& c) const {
    out.text(1, c.id);
    out.raw(c.unknown);
  }
  void operator()(const Note& c) const {
    out.number(1, static_cast<std::uint64_t>(c.kind));
    out.text(2, c.subject);
    out.number(3, static_cast<std::uint64_t>(c.why));
    out.text(4, c.detail);
    out.text(5, c.asked_by);
    out.raw(c.unknown);
  }
};

/// Takes the current field; false when this version does not know it.
struct ReadField {
  WireReader& in;

  bool operator()(StorePut& c) const {
    if (in.field() == 1) return c.key = std::string(in.message()), true;
    if (in.field() == 2) return c.value = std::string(in.message()), true;
    if (in.field() == 5) {
      guard(c).key = std::string(in.message());
      if (c.guard->key.empty()) in.fail();
      return true;
    }
    if (in.field() == 6 || in.field() == 7) return read(in, 6, guard(c).when);
    return read(in, 3, c.when);
  }
  bool operator()(StoreRemove& c) const {
    if (in.field() == 1) return c.key = std::string(in.message()), true;
    return read(in, 3, c.when);
  }
  bool operator()(AnnounceServer& c) const {
    if (in.field() == 1) return c.id = in.text(), true;
    if (in.field() == 2) return c.address = in.text(), true;
    if (in.field() == 3) return c.version = in.text(), true;
    if (in.field() == 5) return c.level = std::max<std::uint64_t>(in.number(), 1), true;
    return false;
  }
  bool operator()(ForgetServer& c) const {
    if (in.field() == 1) return c.id = in.text(), true;
    return false;
  }
  bool operator()(Note& c) const {
    if (in.field() == 1) return c.kind = static_cast<DecisionKind>(in.number(UINT8_MAX)), true;
    if (in.field() == 2) return c.subject = in.text(), true;
    if (in.field() == 3) return c.why = static_cast<Why>(in.number(UINT8_MAX)), true;
    if (in.field() == 4) return c.detail = in.text(), true;
    if (in.field() == 5) return c.asked_by = in.text(), true;
    return false;
  }
  static StoreGuard& guard(StorePut& c) { return c.guard ? *c.guard : c.guard.emplace(); }
};

template <typename T>
Result<Command> read_body(std::string_view bytes) {
  T command;
  WireReader in(bytes);
  while (in.next()) {
    if (!ReadField{in}(command)) in.keep(command.unknown);
  }
  if (in.failed()) return corrupt();
  return Command(std::move(command));
}

template <>
Result<Command> read_body<ChangeTopology>(std::string_view bytes) {
  auto timed = membership::decode_command(bytes);
  if (!timed) return timed.error();
  return Command(ChangeTopology{std::move(timed->command), std::move(timed->reason)});
}

/// The command of the kind that `field` stands for.
template <std::uint32_t I = 0>
Result<Command> read_kind(std::uint32_t field, std::string_view bytes) {
  if constexpr (I < std::variant_size_v<Command>) {
    if (field == kFirstKind + I) return read_body<std::variant_alternative_t<I, Command>>(bytes);
    return read_kind<I + 1>(field, bytes);
  } else {
    return newer();
  }
}

struct Validate {
  Status operator()(const ChangeTopology& c) const { return membership::validate(c.command); }
  Status operator()(const StorePut& c) const {
    if (Status s = condition(c.when); !s) return s;
    if (c.value.size() > kValueBytesMax) {
      return {Errc::kInvalid, "value must have at most 262144 bytes"};
    }
    if (c.guard) {
      if (Status s = validate_key(c.guard->key); !s) {
        return {Errc::kInvalid, "guard: " + s.error().message};
      }
      if (Status s = condition(c.guard->when); !s) return s;
    }
    return validate_key(c.key);
  }
  Status operator()(const StoreRemove& c) const {
    if (Status s = condition(c.when); !s) return s;
    return validate_key(c.key);
  }
  Status operator()(const AnnounceServer& c) const {
    // All three are shown to clients, in headers and on terminals.
    if (Status s = membership::validate_endpoint(c.address); !s) return s;
    if (c.version.size() > 64 || !printable(c.version)) {
      return {Errc::kInvalid, "version must have at most 64 printable ASCII characters"};
    }
    if (!printable(c.id)) {
      return {Errc::kInvalid, "id of a server must have printable ASCII characters only"};
    }
    return server_id(c.id);
  }
  Status operator()(const ForgetServer& c) const { return server_id(c.id); }
  Status operator()(const Note& c) const {
    for (const std::string* text : {&c.subject, &c.detail, &c.asked_by}) {
      if (text->size() > membership::kTextBytesMax) {
        return {Errc::kInvalid, "a note must have at most 1024 bytes in each text"};
      }
    }
    return Done{};
  }

  static bool printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  }
  static Status condition(const KvCondition& when) {
    if (when != KvCondition(AtRevision{0})) return Done{};
    return {Errc::kInvalid, "at_revision must be above 0"};
  }
  /// As long as a host's name, which it is unless an operator chose another.
  static Status server_id(const std::string& id) {
    if (!id.empty() && id.size() <= 253) return Done{};
    return {Errc::kInvalid, "id of a server must have 1 to 253 bytes"};
  }
};

}  // namespace

const char* name(const Command& command) {
  static constexpr const char* kNames[] = {
      "", "StorePut", "StoreRemove", "AnnounceServer", "ForgetServer", "Note"};
  static_assert(std::size(kNames) == std::variant_size_v<Command>);
  if (const auto* change = std::get_if<ChangeTopology>(&command)) {
    return membership::name(change->command);
  }
  return kNames[command.index()];
}

std::uint64_t own_level() {
  return 3;
}

std::uint64_t level(const Command& command) {
  const auto* change = std::get_if<ChangeTopology>(&command);
  if (change == nullptr) return 1;
  if (std::holds_alternative<membership::RegisterServiceNode>(change->command)) return 3;
  return std::holds_alternative<membership::SetDrain>(change->command) ? 2 : 1;
}

Status validate(const Command& command) {
  return std::visit(Validate{}, command);
}

std::string encode(const Command& command) {
  WireWriter body;
  std::visit(WriteBody{body}, command);
  WireWriter out;
  out.number(kFormat, kFormatVersion);
  out.message(kFirstKind + static_cast<std::uint32_t>(command.index()), body.bytes());
  return out.bytes();
}

Result<Command> decode(std::string_view bytes) {
  std::uint64_t format = 0;
  std::uint32_t kind = 0;
  std::string_view body;
  WireReader in(bytes);
  while (in.next()) {
    if (in.field() == kFormat) {
      format = in.number();
    } else if (in.field() >= kFirstKind && kind == 0) {
      kind = in.field();
      body = in.message();
    } else {
      // Whatever else a command of this format carries may change what it means.
      return newer();
    }
  }
  if (format > kFormatVersion) return newer();
  if (in.failed() || format == 0 || kind == 0) return corrupt();
  return read_kind(kind, body);
}

}  // namespace muster::cluster
