#include "cli/commands.h"

namespace muster::cli {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_worker_command());
  commands.push_back(make_leader_command());
  commands.push_back(make_workers_command());
  commands.push_back(make_elections_command());
  commands.push_back(make_run_command());
  commands.push_back(make_step_down_command());
  commands.push_back(make_transfer_command());
  commands.push_back(make_pause_command());
  commands.push_back(make_resume_command());
  commands.push_back(make_probe_command());
  commands.push_back(make_lint_command());
  commands.push_back(make_topology_command());
  commands.push_back(make_nodes_command());
  commands.push_back(make_node_command());
  commands.push_back(make_ring_command());
  commands.push_back(make_server_command());
  commands.push_back(make_health_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_record_command());
  commands.push_back(make_backup_command());
  commands.push_back(make_restore_command());
  commands.push_back(make_move_command());
  commands.push_back(make_log_command());
  commands.push_back(make_certs_command());
  commands.push_back(make_completion_command());
  commands.push_back(make_man_command());
  return commands;
}

}  // namespace muster::cli
