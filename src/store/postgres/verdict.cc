#include "store/postgres/verdict.h"

#include <array>
#include <string_view>

namespace muster::postgres {
namespace {

/// Errors of statements by the beginning of their SQLSTATE. Each of them undid the statement.
struct KnownState {
  std::string_view state;
  Reaction reaction;
  Errc code;
  std::string_view advice;
};

constexpr std::array kStates = {
    KnownState{"25006", Reaction::kTryAgain, Errc::kUnavailable,
               "this PostgreSQL server is read-only"},
    KnownState{"55000", Reaction::kTryAgain, Errc::kUnavailable,
               "this PostgreSQL server is a standby"},
    KnownState{"42501", Reaction::kFail, Errc::kDenied,
               "the PostgreSQL role lacks a privilege; docs/postgres.md lists what it needs"},
    KnownState{"42P01", Reaction::kFail, Errc::kInvalid,
               "the table muster.objects does not exist; make it with muster postgres init"},
    KnownState{"3F000", Reaction::kFail, Errc::kInvalid,
               "the schema muster does not exist; make it with muster postgres init"},
    KnownState{"42703", Reaction::kFail, Errc::kInvalid,
               "the table muster.objects is not as muster postgres init makes it"},
    KnownState{"42704", Reaction::kFail, Errc::kInvalid, "there is no such role"},
    KnownState{"42804", Reaction::kFail, Errc::kInvalid,
               "the table muster.objects is not as muster postgres init makes it"},
    KnownState{"42", Reaction::kFail, Errc::kUnsupported,
               "this PostgreSQL server does not understand Muster's statements"},
    KnownState{"0A", Reaction::kFail, Errc::kUnsupported,
               "this PostgreSQL server lacks a feature that Muster needs"},
    KnownState{"22", Reaction::kFail, Errc::kInvalid, "PostgreSQL refused the object"},
    KnownState{"54", Reaction::kFail, Errc::kInvalid, "the object exceeds a limit of PostgreSQL"},
    KnownState{"53100", Reaction::kFail, Errc::kUnavailable, "PostgreSQL's disk is full"},
    KnownState{"53", Reaction::kFail, Errc::kThrottled, "PostgreSQL lacks resources"},
    KnownState{"40", Reaction::kFail, Errc::kUnavailable,
               "PostgreSQL undid the statement in favour of another one"},
    KnownState{"57014", Reaction::kFail, Errc::kUnavailable, "the statement was cancelled"},
    KnownState{"55P03", Reaction::kFail, Errc::kUnavailable, "another session holds a lock"},
    KnownState{"XX001", Reaction::kFail, Errc::kCorrupt, "PostgreSQL reports damaged data"},
    KnownState{"XX002", Reaction::kFail, Errc::kCorrupt, "PostgreSQL reports a damaged index"},
};

/// What a server or a pooler says to a client that connects. libpq passes on the text alone.
struct KnownText {
  std::string_view text;
  Errc code;
  std::string_view advice;
};

constexpr std::array kTexts = {
    KnownText{"password authentication failed", Errc::kDenied, "user or password is wrong"},
    KnownText{"no password supplied", Errc::kDenied,
              "the server wants a password; put it in ~/.pgpass, PGPASSWORD or a service file"},
    KnownText{"no pg_hba.conf entry", Errc::kDenied,
              "pg_hba.conf of the server has no line that admits this client"},
    KnownText{"pg_hba.conf rejects connection", Errc::kDenied,
              "pg_hba.conf of the server rejects this client"},
    KnownText{"authentication failed", Errc::kDenied, "the server did not accept this client"},
    KnownText{"permission denied for database", Errc::kDenied,
              "the role may not connect to this database"},
    KnownText{"certificate verify failed", Errc::kDenied,
              "the server's certificate is not trusted; check sslrootcert"},
    KnownText{"server certificate for", Errc::kDenied,
              "the server's certificate names another host"},
    KnownText{"root certificate file", Errc::kInvalid,
              "there is no CA certificate; name it with sslrootcert=/path"},
    KnownText{"certificate file", Errc::kInvalid, "a TLS file cannot be used"},
    KnownText{"private key file", Errc::kInvalid, "a TLS file cannot be used"},
    KnownText{"server does not support SSL", Errc::kDenied,
              "the server has no TLS, which sslmode demands"},
    KnownText{"definition of service", Errc::kInvalid, "there is no such service"},
    KnownText{"service file", Errc::kInvalid, "the service file cannot be used"},
    KnownText{"no such database", Errc::kInvalid, "the pooler has no such database"},
};

std::string with_reason(std::string_view advice, const std::string& reason) {
  return std::string(advice) + " (" + reason + ")";
}

bool is_missing(const std::string& message, std::string_view what) {
  return message.find(std::string(what) + " \"") != std::string::npos &&
         message.find("\" does not exist") != std::string::npos;
}

}  // namespace

Verdict judge(const ServerError& error, Access access) {
  // ERROR is the answer of a server that undid the statement and goes on. With anything else the
  // session ended, perhaps after the commit. A pooler says 08 of a server that it lost.
  if (error.severity == "ERROR" && !error.state.starts_with("08")) {
    for (const KnownState& known : kStates) {
      if (error.state.starts_with(known.state)) {
        return {known.reaction, {known.code, with_reason(known.advice, error.message)}};
      }
    }
    return {Reaction::kFail,
            {Errc::kUnavailable, with_reason("PostgreSQL refused the statement", error.message)}};
  }
  if (access == Access::kWrite) {
    return {
        Reaction::kFail,
        {Errc::kAmbiguous, with_reason("the write may have landed in PostgreSQL", error.message)}};
  }
  return {Reaction::kTryAgain,
          {Errc::kUnavailable, with_reason("PostgreSQL ended the connection", error.message)}};
}

Verdict judge_connection(const std::string& message) {
  for (const KnownText& known : kTexts) {
    if (message.find(known.text) != std::string::npos) {
      return {Reaction::kFail, {known.code, with_reason(known.advice, message)}};
    }
  }
  if (is_missing(message, "database")) {
    return {Reaction::kFail, {Errc::kInvalid, with_reason("there is no such database", message)}};
  }
  if (is_missing(message, "role")) {
    return {Reaction::kFail, {Errc::kDenied, with_reason("there is no such role", message)}};
  }
  return {Reaction::kTryAgain,
          {Errc::kUnavailable,
           with_reason("PostgreSQL is unreachable; check its address, and that it runs", message)}};
}

}  // namespace muster::postgres
