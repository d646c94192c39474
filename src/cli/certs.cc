#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/authority.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string day_of(WallTime time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
  return text.data();
}

void add_list(CLI::App& app, const std::string& name, const std::string& type,
              std::vector<std::string>& target, const std::string& text) {
  add_value(app, name, type, "", text, [&target](const std::string& value) -> Status {
    target.clear();
    for (const std::string_view each : split(value, ',')) {
      if (trim(each).empty()) return {Errc::kInvalid, "an entry of \"" + value + "\" is empty"};
      target.emplace_back(trim(each));
    }
    return Done{};
  });
}

class CertsCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "certs"; }
  [[nodiscard]] const char* summary() const override {
    return "Create and revoke certificates for development and small sites";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster certs init   --dir pki\n"
           "  muster certs issue  --dir pki --role server --id s1 --san h1.example,10.0.0.1\n"
           "  muster certs issue  --dir pki --role node --id n1 --san n1.example\n"
           "  muster certs issue  --dir pki --role agent --id a1 --san rack7 --carry n1,rack7-*\n"
           "  muster certs revoke --dir pki --id n1\n";
  }

  void declare(CLI::App& app) override {
    app.require_subcommand(0, 1);
    init_ = add_action(app, "init", "Create a CA: ca.crt, ca.key",
                       "Example:\n  muster certs init --dir pki\n\nThe key is not encrypted: keep "
                       "the directory where only its operators can read it.\n");
    add_count(*init_, "--days", authority_days_, "Validity of the CA certificate in days");

    issue_ = add_action(
        app, "issue", "Issue a certificate: ID.crt, ID.key",
        "Example:\n"
        "  muster certs issue --dir pki --role node --id n1 --san n1.example,10.0.0.7\n"
        "\n"
        "An agent speaks for the nodes of --carry: ids, or prefixes with a star (rack7-*).\n"
        "The password of --p12 is printed once and stored nowhere.\n");
    add_role(*issue_);
    add_text(*issue_, "--id", "ID", order_.id, "Id of the node, server or person");
    add_list(*issue_, "--san", "NAME,…", order_.sans,
             "Host names, addresses and URIs of the certificate");
    add_list(*issue_, "--carry", "ID,…", order_.carries,
             "Ids of the nodes that an agent may act for");
    add_count(*issue_, "--days", order_.days, "Validity in days");
    add_flag(*issue_, "--p12", order_.p12, "Also write ID.p12 for a browser");
    add_flag(*issue_, "--replace", order_.replace, "Replace an existing certificate");

    revoke_ = add_action(app, "revoke", "Revoke every certificate of an id and write a new crl.pem",
                         "Example:\n  muster certs revoke --dir pki --id n1\n");
    add_text(*revoke_, "--id", "ID", revoked_id_, "Id whose certificates are revoked");
    add_count(*revoke_, "--days", list_days_, "Validity of the revocation list in days");

    crl_ = add_action(app, "crl", "Write a new crl.pem with all revoked certificates",
                      "Example:\n"
                      "  muster certs crl --dir pki\n"
                      "\n"
                      "With an expired list, servers refuse every client: write a fresh list in "
                      "time.\n");
    add_count(*crl_, "--days", list_days_, "Validity of the revocation list in days");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const bool chosen = init_->parsed() || issue_->parsed() || revoke_->parsed() || crl_->parsed();
    if (!chosen) return {Errc::kInvalid, "say what to do: init, issue, revoke or crl"};
    if (directory_.empty()) return {Errc::kInvalid, "name the directory of the CA: --dir DIR"};
    // Certificates count in seconds.
    const WallTime now = std::chrono::floor<std::chrono::seconds>(system_wall_now());
    if (init_->parsed()) return init(terminal, now);
    if (issue_->parsed() && !has_role_) {
      return {Errc::kInvalid, "name the role: --role server|node|agent|admin|reader"};
    }
    auto authority = Authority::open(directory_);
    if (!authority) return authority.error();
    if (issue_->parsed()) return issue(terminal, *authority, now);
    const std::uint32_t days = list_days(authority->facts().not_after, now);
    return write_list(terminal, revoke_->parsed() ? authority->revoke(revoked_id_, days, now)
                                                  : authority->write_list(days, now));
  }

 private:
  CLI::App* add_action(CLI::App& app, const std::string& name, const std::string& summary,
                       const std::string& footer) {
    CLI::App* action = app.add_subcommand(name, summary);
    action->footer("\n" + footer);
    add_text(*action, "--dir", "DIR", directory_, "Directory of the CA's files");
    add_flag(*action, "--json", json_, "Print one JSON object");
    return action;
  }

  void add_role(CLI::App& app) {
    add_value(app, "--role", "ROLE", "", "server, node, agent, admin or reader",
              [this](const std::string& value) -> Status {
                const auto role = security::parse_role(value);
                if (!role) {
                  return {Errc::kInvalid,
                          "\"" + value + "\" is none of server, node, agent, admin, reader"};
                }
                order_.role = *role;
                has_role_ = true;
                return Done{};
              });
  }

  Result<int> init(Terminal& terminal, WallTime now) {
    const auto authority = Authority::create(directory_, authority_days_, now);
    if (!authority) return authority.error();
    const pki::CertificateFacts& facts = authority->facts();
    if (json_) {
      return print(terminal, {{"ca", authority->path("ca.crt")},
                              {"key", authority->path("ca.key")},
                              {"subject", facts.subject},
                              {"expires", to_ms(facts.not_after)}});
    }
    terminal.line(authority->path("ca.crt") + "  " + facts.subject + ", until " +
                  day_of(facts.not_after));
    terminal.line(authority->path("ca.key") +
                  "  its private key: keep it secret, it can issue "
                  "any certificate");
    return kDone;
  }

  Result<int> issue(Terminal& terminal, Authority& authority, WallTime now) {
    const auto issued = authority.issue(order_, now);
    if (!issued) return issued.error();
    const bool p12 = !issued->p12_file.empty();
    if (json_) {
      return print(terminal, {{"id", order_.id},
                              {"role", to_string(order_.role)},
                              {"certificate", issued->certificate_file},
                              {"key", issued->key_file},
                              {"p12", p12 ? Json(issued->p12_file) : Json(nullptr)},
                              {"p12Password", p12 ? Json(issued->p12_password) : Json(nullptr)},
                              {"serial", issued->serial},
                              {"expires", to_ms(issued->expires)}});
    }
    terminal.line(issued->certificate_file + "  " + to_string(order_.role) + " " + order_.id +
                  ", until " + day_of(issued->expires) + ", serial " + issued->serial);
    terminal.line(issued->key_file + "  its key");
    if (p12) {
      terminal.line(issued->p12_file + "  for a browser, with the password " +
                    issued->p12_password + " (stored nowhere else)");
    }
    return kDone;
  }

  /// As given; a default that would outlive the CA certificate ends with it.
  [[nodiscard]] std::uint32_t list_days(WallTime authority_expires, WallTime now) const {
    const CLI::App& action = revoke_->parsed() ? *revoke_ : *crl_;
    if (action.count("--days") > 0) return list_days_;
    const auto left = std::chrono::floor<std::chrono::days>(authority_expires - now).count();
    return std::min(list_days_, static_cast<std::uint32_t>(std::max<std::int64_t>(left, 1)));
  }

  Result<int> write_list(Terminal& terminal, const Result<WrittenList>& list) {
    if (!list) return list.error();
    if (json_) {
      Json json{{"crl", list->file},
                {"revoked", list->revoked},
                {"nextUpdate", to_ms(list->next_update)}};
      if (revoke_->parsed()) json["serials"] = list->serials;
      return print(terminal, json);
    }
    for (const std::string& serial : list->serials) {
      terminal.line("revoked " + revoked_id_ + ", serial " + serial);
    }
    if (revoke_->parsed() && list->serials.empty()) {
      terminal.line(revoked_id_ + " was revoked before");
    }
    terminal.line(list->file + "  names " + std::to_string(list->revoked) + "; replace it before " +
                  day_of(list->next_update));
    return kDone;
  }

  static Result<int> print(Terminal& terminal, const Json& json) {
    terminal.line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    return kDone;
  }

  CLI::App* init_ = nullptr;
  CLI::App* issue_ = nullptr;
  CLI::App* revoke_ = nullptr;
  CLI::App* crl_ = nullptr;
  std::string directory_;
  std::uint32_t authority_days_ = 3650;
  std::uint32_t list_days_ = 365;
  IssueOrder order_;
  bool has_role_ = false;
  std::string revoked_id_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_certs_command() {
  return std::make_unique<CertsCommand>();
}

}  // namespace muster::cli
