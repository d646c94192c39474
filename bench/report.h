#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

/// What one run of a benchmark found: tables and verdicts on standard output while it goes, all of
/// it as bench/results/NAME.json at the end. One thread.
class Report {
 public:
  /// Begins with a description of the machine, its load included. One that measures only a part is
  /// named parts/NAME: the page of pictures leaves it out.
  explicit Report(std::string name);

  void title(const std::string& words);
  void note(const std::string& words);
  /// The first column is words, the others are figures.
  void table(const std::vector<std::string>& columns,
             const std::vector<std::vector<std::string>>& rows);
  /// One figure over another, for the pictures of bench/picture.py; both axes are logarithmic.
  struct Curve {
    std::string title;
    std::string x;
    std::string y;
    /// Points by the name of who was measured.
    std::map<std::string, std::vector<std::pair<double, double>>> lines;
  };
  void curve(const Curve& curve);
  /// One figure against its bar: "met" or "NOT met".
  void at_most(const std::string& what, double value, double bar, const std::string& unit);
  void at_least(const std::string& what, double value, double bar, const std::string& unit);
  /// What was measured, for programs.
  [[nodiscard]] nlohmann::json& data() { return results_["measured"]; }

  /// Writes the file; the exit code of the program, 0 only when every bar was met.
  int finish();

 private:
  void verdict(const std::string& what, double value, double bar, const std::string& unit,
               const char* relation, bool met);

  std::string name_;
  std::string title_;
  nlohmann::json results_;
  bool all_met_ = true;
};

/// `value` with that many digits after the point.
[[nodiscard]] std::string figure(double value, int digits);

/// The value below which the fraction `p` of the samples lies; the samples must not be empty.
[[nodiscard]] double percentile(std::vector<double> samples, double p);

}  // namespace muster::bench
