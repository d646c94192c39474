#include "cli/election_list.h"

#include <set>
#include <utility>

#include "core/election/records.h"

namespace muster::cli {
namespace {

Result<ElectionRow> read_election(SyncStore& store, const std::string& name) {
  ElectionRow row;
  row.name = name;
  const auto object = store.get(NamespaceKeys(name).state);
  if (object.is(Errc::kNotFound)) return row;
  if (!object) return object.error();
  const auto state = decode_whole(*object, decode_leader_state);
  if (!state) {
    row.problem = state.error().message;
    row.answer.confirmed = false;
    return row;
  }
  row.answer = judge(*state, object->age);
  if (row.answer.leader) row.candidates = state->workers.size();
  return row;
}

}  // namespace

Result<std::vector<ElectionRow>> read_elections(SyncStore& store) {
  const auto listed = store.list_all(kElectionsPrefix);
  if (!listed) return listed.error();
  std::set<std::string> names;
  for (const ListedObject& object : listed->objects) {
    if (auto name = election_of(object.key)) names.insert(std::move(*name));
  }
  std::vector<ElectionRow> rows;
  for (const std::string& name : names) {
    auto row = read_election(store, name);
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace muster::cli
