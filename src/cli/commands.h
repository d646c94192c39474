#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace muster::cli {

[[nodiscard]] std::unique_ptr<Command> make_worker_command();
[[nodiscard]] std::unique_ptr<Command> make_leader_command();
[[nodiscard]] std::unique_ptr<Command> make_workers_command();
[[nodiscard]] std::unique_ptr<Command> make_elections_command();
[[nodiscard]] std::unique_ptr<Command> make_run_command();
[[nodiscard]] std::unique_ptr<Command> make_step_down_command();
[[nodiscard]] std::unique_ptr<Command> make_transfer_command();
[[nodiscard]] std::unique_ptr<Command> make_pause_command();
[[nodiscard]] std::unique_ptr<Command> make_resume_command();
[[nodiscard]] std::unique_ptr<Command> make_probe_command();
[[nodiscard]] std::unique_ptr<Command> make_postgres_command();
[[nodiscard]] std::unique_ptr<Command> make_lint_command();
[[nodiscard]] std::unique_ptr<Command> make_completion_command();
[[nodiscard]] std::unique_ptr<Command> make_man_command();
[[nodiscard]] std::unique_ptr<Command> make_certs_command();
[[nodiscard]] std::unique_ptr<Command> make_topology_command();
[[nodiscard]] std::unique_ptr<Command> make_nodes_command();
[[nodiscard]] std::unique_ptr<Command> make_node_command();
[[nodiscard]] std::unique_ptr<Command> make_ring_command();
[[nodiscard]] std::unique_ptr<Command> make_server_command();
[[nodiscard]] std::unique_ptr<Command> make_health_command();
[[nodiscard]] std::unique_ptr<Command> make_explain_command();
[[nodiscard]] std::unique_ptr<Command> make_record_command();
[[nodiscard]] std::unique_ptr<Command> make_backup_command();
[[nodiscard]] std::unique_ptr<Command> make_restore_command();
[[nodiscard]] std::unique_ptr<Command> make_move_command();
[[nodiscard]] std::unique_ptr<Command> make_log_command();

struct ListedCommand {
  const char* group;  ///< The heading under which help lists it.
  std::unique_ptr<Command> command;
};
/// Every command, in the order in which help lists them.
[[nodiscard]] std::vector<ListedCommand> all_commands();

}  // namespace muster::cli
