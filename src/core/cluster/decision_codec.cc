#include <cstdint>
#include <utility>

#include "core/cluster/decision.h"
#include "core/membership/wire.h"

namespace muster::cluster {
namespace {

using membership::WireReader;
using membership::WireWriter;

enum DecisionField : std::uint32_t {
  kSeq = 1,
  kAt = 2,
  kKind = 3,
  kSubject = 4,
  kFrom = 5,
  kTo = 6,
  kWhy = 7,
  kCause = 8,
  kAskedBy = 9,
  kDetail = 10,
  kEpoch = 11,
};

void read_field(WireReader& in, Decision& d) {
  switch (in.field()) {
    case kSeq:
      d.seq = in.number();
      break;
    case kAt:
      d.at = in.wall();
      break;
    case kKind:
      d.kind = static_cast<DecisionKind>(in.number(UINT8_MAX));
      break;
    case kSubject:
      d.subject = in.text();
      break;
    case kFrom:
      d.from = in.text();
      break;
    case kTo:
      d.to = in.text();
      break;
    case kWhy:
      d.why = static_cast<Why>(in.number(UINT8_MAX));
      break;
    case kCause:
      if (!membership::read(in.message(), d.cause.emplace())) in.fail();
      break;
    case kAskedBy:
      d.asked_by = in.text();
      break;
    case kDetail:
      d.detail = in.text();
      break;
    case kEpoch:
      d.epoch = in.number();
      break;
    default:
      in.keep(d.unknown);
  }
}

}  // namespace

std::string encode(const Decision& d) {
  WireWriter out;
  out.number(kSeq, d.seq);
  out.wall(kAt, d.at);
  out.number(kKind, static_cast<std::uint64_t>(d.kind));
  out.text(kSubject, d.subject);
  out.text(kFrom, d.from);
  out.text(kTo, d.to);
  out.number(kWhy, static_cast<std::uint64_t>(d.why));
  if (d.cause) {
    WireWriter cause;
    membership::write(cause, *d.cause);
    out.message(kCause, cause.bytes());
  }
  out.text(kAskedBy, d.asked_by);
  out.text(kDetail, d.detail);
  out.number(kEpoch, d.epoch);
  out.raw(d.unknown);
  return std::move(out).take();
}

Result<Decision> decode_decision(std::string_view bytes) {
  Decision decision;
  WireReader in(bytes);
  while (in.next()) read_field(in, decision);
  if (in.failed()) return {Errc::kCorrupt, "a decision of the cluster's log is damaged"};
  return decision;
}

}  // namespace muster::cluster
