#include "platform/settings_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"

namespace muster {
namespace {

Error wrong(int line, const std::string& what) {
  return {Errc::kInvalid, "line " + std::to_string(line) + ": " + what};
}

int line_of(const YAML::Mark& mark) {
  return mark.line + 1;
}

// 010 is eight in YAML 1.1 and ten in YAML 1.2; 0x10 and 0o10 are no better.
bool is_ambiguous_number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789abcdefoxABCDEFOX_+-") != text.npos) {
    return false;
  }
  const std::string digits = text.substr(text[0] == '-' || text[0] == '+' ? 1 : 0);
  return digits.size() > 1 && digits[0] == '0';
}

std::string option_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  static const std::map<std::string, std::string> kNames{{"tls-cert", "cert"},
                                                         {"tls-key", "key"},
                                                         {"tls-ca", "cacert"},
                                                         {"tls-crl-file", "crl-file"},
                                                         {"tls-crl-url", "crl-url"},
                                                         {"tls-crl-refresh", "crl-refresh"},
                                                         {"tls-crl-max-age", "crl-max-age"}};
  const auto it = kNames.find(name);
  return it == kNames.end() ? name : it->second;
}

class Walk {
 public:
  Status map(const YAML::Node& node, const std::string& prefix) {
    for (const auto& entry : node) {
      const int line = line_of(entry.first.Mark());
      if (!entry.first.IsScalar()) return wrong(line, "a key must be a word");
      const std::string key = prefix + entry.first.Scalar();
      // One level only: no option needs more, and an alias could make a group contain itself.
      if (entry.second.IsMap() && !prefix.empty()) {
        return wrong(line, key + " is a group inside a group; write its options one level higher");
      }
      Status status = entry.second.IsMap() ? map(entry.second, key + "-")
                                           : value(option_name(key), entry.second, line);
      if (!status) return status;
    }
    return Done{};
  }

  std::vector<Setting> settings;

 private:
  Status value(const std::string& name, const YAML::Node& node, int line) {
    if (!seen_.insert(name).second) return wrong(line, name + " is given twice; keep one of them");
    if (!node.IsScalar() || node.Scalar().empty())
      return wrong(line, name +
                             " needs exactly one "
                             "value");
    const std::string& text = node.Scalar();
    // The tag of a plain scalar is "?", that of a quoted one "!".
    if (node.Tag() == "?" && is_ambiguous_number(text)) {
      return wrong(line, name + ": " + text +
                             " is read as different numbers by different programs; write it in "
                             "decimal without a leading zero, or in quotes");
    }
    settings.push_back({name, text, line});
    return Done{};
  }

  std::set<std::string> seen_;
};

/// Hears what a document holds, and nothing of it matters.
class IgnoreEvents final : public YAML::EventHandler {
 public:
  using Text = const std::string&;
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, Text, YAML::anchor_t, Text) override {}
  void OnSequenceStart(const YAML::Mark&, Text, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, Text, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// Not by YAML::LoadAll, which finds documents in a lone comma until memory ends.
bool has_one_document(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  IgnoreEvents ignore;
  return !parser.HandleNextDocument(ignore) || !parser.HandleNextDocument(ignore);
}

}  // namespace

Result<std::vector<Setting>> read_settings(const std::string& yaml) {
  try {
    if (!has_one_document(yaml)) return wrong(1, "there must be one document, without ---");
    const YAML::Node document = YAML::Load(yaml);
    if (document.IsNull()) return std::vector<Setting>{};
    if (!document.IsMap()) return wrong(line_of(document.Mark()), "write options as NAME: VALUE");
    Walk walk;
    if (Status status = walk.map(document, ""); !status) return status.error();
    return std::move(walk.settings);
  } catch (const YAML::Exception& e) {
    return wrong(line_of(e.mark), "this is not YAML: " + e.msg);
  }
}

}  // namespace muster
