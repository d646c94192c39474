#include "store/etcd/requests.h"

#include <utility>

#include "store/remote/numbers.h"

namespace muster::etcd {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;
using remote::PageStart;
using remote::to_number;

/// The first key after all that begin with `prefix`; "\0" is etcd's word for "no end".
std::string end_of(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// etcd has no empty key: everything begins at "\0".
std::string begin_of(std::string prefix) {
  return prefix.empty() ? std::string(1, '\0') : prefix;
}

}  // namespace

Requests::Requests(std::string prefix) : prefix_(std::move(prefix)) {
  while (prefix_.ends_with('/')) prefix_.pop_back();
  if (!prefix_.empty()) prefix_ += '/';
}

Key Requests::strip(const std::string& full_key) const {
  return full_key.substr(prefix_.size());
}

bool Requests::add_compare(TxnRequest& txn, const Key& key, const Precondition& when) const {
  if (when.kind == Precondition::Kind::kNone) return true;
  Compare compare;
  compare.set_key(full(key));
  compare.set_result(Compare::EQUAL);
  if (when.kind == Precondition::Kind::kAbsent) {
    compare.set_target(Compare::CREATE);
    compare.set_create_revision(0);
  } else {
    const auto revision = to_number(when.revision.value());
    if (!revision) return false;
    compare.set_target(Compare::MOD);
    compare.set_mod_revision(*revision);
  }
  *txn.add_compare() = std::move(compare);
  return true;
}

TxnRequest Requests::get(const Key& key, const std::optional<Revision>& unless) const {
  TxnRequest txn;
  // With a comparison that holds nothing is sent back: the caller has the body already.
  const bool compared = unless && add_compare(txn, key, Precondition::at(*unless));
  auto* op = compared ? txn.add_failure() : txn.add_success();
  op->mutable_request_range()->set_key(full(key));
  return txn;
}

Result<Object> Requests::got(const Key& key, TxnResponse response) const {
  if (response.responses_size() == 0) return {Errc::kUnchanged, key + " has not changed"};
  auto* range = response.mutable_responses(0)->mutable_response_range();
  if (range->kvs_size() == 0) return {Errc::kNotFound, key + " does not exist"};
  auto* kv = range->mutable_kvs(0);
  return Object{std::move(*kv->mutable_value()), Revision(std::to_string(kv->mod_revision())),
                std::nullopt};
}

Result<TxnRequest> Requests::put(const Key& key, std::string body, const Precondition& when,
                                 const std::optional<Guard>& guard) const {
  TxnRequest txn;
  if (!add_compare(txn, key, when) || (guard && !add_compare(txn, guard->key, guard->when))) {
    return {Errc::kConflict, key + " is not at a revision that etcd never issued"};
  }
  auto* put = txn.add_success()->mutable_request_put();
  put->set_key(full(key));
  put->set_value(std::move(body));
  return txn;
}

Result<Revision> Requests::was_put(const Key& key, const TxnResponse& response) const {
  if (!response.succeeded()) return {Errc::kConflict, key + ": another writer came first"};
  return Revision(std::to_string(response.header().revision()));
}

TxnRequest Requests::remove(const Key& key, const std::optional<Revision>& when) const {
  TxnRequest txn;
  const auto look = [&](etcdserverpb::RequestOp* op) {
    op->mutable_request_range()->set_key(full(key));
    op->mutable_request_range()->set_keys_only(true);
  };
  // At a revision that etcd never issued nothing is removed, but absence is still told apart.
  if (when && !add_compare(txn, key, Precondition::at(*when))) {
    look(txn.add_success());
    return txn;
  }
  txn.add_success()->mutable_request_delete_range()->set_key(full(key));
  look(txn.add_failure());
  return txn;
}

Status Requests::removed(const Key& key, const TxnResponse& response) const {
  const auto& answer = response.responses(0);
  if (answer.has_response_delete_range()) {
    if (answer.response_delete_range().deleted() > 0) return Done{};
  } else if (answer.response_range().kvs_size() > 0) {
    return {Errc::kConflict, key + ": another writer came first"};
  }
  return {Errc::kNotFound, key + " does not exist"};
}

Result<TxnRequest> Requests::list(const std::string& prefix, const std::string& from,
                                  std::int64_t page_size) const {
  TxnRequest txn;
  auto* range = txn.add_success()->mutable_request_range();
  range->set_key(begin_of(full(prefix)));
  range->set_range_end(end_of(full(prefix)));
  range->set_limit(page_size);
  range->set_keys_only(true);
  if (!from.empty()) {
    const auto start = PageStart::parse(from);
    if (!start || !start->key.starts_with(full(prefix))) {
      return {Errc::kInvalid,
              "a list continues only from the position that its earlier page "
              "returned"};
    }
    range->set_revision(start->revision);
    range->set_key(std::string(start->key) + '\0');
  }
  return txn;
}

ListPage Requests::listed(const std::string& from, const TxnResponse& response) const {
  ListPage page;
  const auto& range = response.responses(0).response_range();
  const auto start = PageStart::parse(from);
  const std::int64_t revision = start ? start->revision : response.header().revision();
  page.cursor = std::to_string(revision);
  for (const auto& kv : range.kvs()) {
    page.objects.push_back(
        {strip(kv.key()), Revision(std::to_string(kv.mod_revision())), std::nullopt});
  }
  if (range.more() && range.kvs_size() > 0) {
    page.next = PageStart{revision, range.kvs(range.kvs_size() - 1).key()}.text();
  }
  return page;
}

TxnRequest Requests::revision() const {
  TxnRequest txn;
  auto* range = txn.add_success()->mutable_request_range();
  range->set_key(begin_of(prefix_));
  range->set_keys_only(true);
  return txn;
}

void Requests::read_through_log(TxnRequest& txn) {
  // A transaction that holds anything but reads is logged, be it an empty transaction. It comes
  // last, where no answer is looked for.
  auto* op = txn.success_size() > 0 ? txn.add_success() : txn.add_failure();
  op->mutable_request_txn();
}

bool Requests::goes_through_log(const TxnRequest& txn) {
  for (const auto* ops : {&txn.success(), &txn.failure()}) {
    for (const auto& op : *ops) {
      if (!op.has_request_range()) return true;
    }
  }
  return false;
}

etcdserverpb::WatchRequest Requests::watch(const std::string& prefix,
                                           std::int64_t start_revision) const {
  etcdserverpb::WatchRequest request;
  auto* create = request.mutable_create_request();
  create->set_key(begin_of(full(prefix)));
  create->set_range_end(end_of(full(prefix)));
  create->set_start_revision(start_revision);
  create->set_progress_notify(true);
  create->set_fragment(true);
  return request;
}

std::vector<WatchEvent> Requests::events(
    google::protobuf::RepeatedPtrField<mvccpb::Event> raw) const {
  std::vector<WatchEvent> events;
  for (int i = 0; i < raw.size(); ++i) {
    auto* kv = raw.Mutable(i)->mutable_kv();
    const std::int64_t revision = kv->mod_revision();
    // One transaction changes several keys at one revision: a watch that stops among them must see
    // them all again.
    const bool last = i + 1 == raw.size() || raw.Get(i + 1).kv().mod_revision() != revision;
    WatchEvent event{WatchEvent::Kind::kRemoved,
                     strip(kv->key()),
                     {},
                     std::to_string(last ? revision : revision - 1)};
    if (raw.Get(i).type() == mvccpb::Event::PUT) {
      event.kind = WatchEvent::Kind::kPut;
      event.object.body = std::move(*kv->mutable_value());
      event.object.revision = Revision(std::to_string(revision));
    }
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace muster::etcd
