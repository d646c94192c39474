#include "store/remote/lineage.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::remote {
namespace {

constexpr char kMark = '~';

}  // namespace

std::string stamp(std::uint64_t history, std::string text) {
  if (history == 0 || text.empty()) return text;
  return std::to_string(history) + kMark + text;
}

Stamped unstamp(std::string_view stamped) {
  const auto end = stamped.find_first_not_of("0123456789");
  if (end == std::string_view::npos || stamped[end] != kMark) return {0, stamped};
  const auto history = parse_unsigned(stamped.substr(0, end));
  return history ? Stamped{*history, stamped.substr(end + 1)} : Stamped{0, stamped};
}

Error unusable(Error error, bool wrote) {
  if (wrote && error.code == Errc::kUnavailable) error.code = Errc::kAmbiguous;
  return error;
}

Status Lineage::observe(std::uint64_t cluster_id, std::int64_t revision, const Mark& sent,
                        std::string_view changed) {
  if (broken_) return *broken_;
  if (sent.history != history_) {
    return {Errc::kUnavailable, "the store at " + address_ +
                                    " has gone back in time since the request was sent: send "
                                    "it again"};
  }
  std::string why;
  if (cluster_id_ && *cluster_id_ != cluster_id) {
    why = "the store at " + address_ + " is not the one seen before: " + std::string(changed);
  } else if (revision < sent.floor) {
    why = "the store at " + address_ + " has gone back in time: it was at revision " +
          std::to_string(sent.floor) + " and is now at " + std::to_string(revision);
  }
  cluster_id_ = cluster_id;
  if (why.empty()) {
    floor_ = std::max(floor_, revision);
    return Done{};
  }
  floor_ = revision;
  history_ += 1;
  if (!stop_) return {Errc::kUnavailable, why};
  broken_ = Error{Errc::kCorrupt, why};
  return *broken_;
}

Status Lineage::status() const {
  if (broken_) return *broken_;
  return Done{};
}

std::string Lineage::own(std::string_view stamped) const {
  const auto [history, text] = unstamp(stamped);
  return history == history_ ? std::string(text) : std::string();
}

std::optional<Revision> Lineage::own(const std::optional<Revision>& revision) const {
  if (!revision) return {};
  return Revision(own(revision->value()));
}

Precondition Lineage::own(Precondition when) const {
  when.revision = Revision(own(when.revision.value()));
  return when;
}

std::optional<Guard> Lineage::own(std::optional<Guard> guard) const {
  if (guard) guard->when = own(std::move(guard->when));
  return guard;
}

Result<Object> Lineage::stamped(Result<Object> object) const {
  if (object) object->revision = Revision(stamp(history_, object->revision.value()));
  return object;
}

Result<Revision> Lineage::stamped(Result<Revision> revision) const {
  if (revision) *revision = Revision(stamp(history_, revision->value()));
  return revision;
}

Result<ListPage> Lineage::stamped(Result<ListPage> page) const {
  if (!page || history_ == 0) return page;
  for (ListedObject& object : page->objects) {
    object.revision = Revision(stamp(history_, object.revision.value()));
  }
  page->next = stamp(history_, std::move(page->next));
  page->cursor = stamp(history_, std::move(page->cursor));
  return page;
}

}  // namespace muster::remote
