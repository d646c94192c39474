#include "cli/commands.h"

#include <utility>

namespace muster::cli {
namespace {

template <typename... Commands>
void list(std::vector<ListedCommand>& all, const char* group, Commands... commands) {
  (all.push_back({group, std::move(commands)}), ...);
}

}  // namespace

std::vector<ListedCommand> all_commands() {
  std::vector<ListedCommand> all;
  list(all, "Elections", make_run_command(), make_worker_command(), make_elections_command(),
       make_leader_command(), make_workers_command(), make_explain_command(),
       make_step_down_command(), make_transfer_command(), make_pause_command(),
       make_resume_command(), make_probe_command(), make_lint_command());
  list(all, "Nodes", make_topology_command(), make_nodes_command(), make_node_command(),
       make_ring_command());
  list(all, "Servers", make_health_command(), make_server_command(), make_record_command());
  list(all, "Operations", make_backup_command(), make_restore_command(), make_move_command(),
       make_log_command(), make_certs_command(), make_postgres_command());
  list(all, "Other commands", make_completion_command(), make_man_command());
  return all;
}

}  // namespace muster::cli
