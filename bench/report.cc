#include "bench/report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

using Json = nlohmann::json;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

double load_average() {
  double load = 0;
  MUSTER_CHECK(::getloadavg(&load, 1) == 1);
  return load;
}

Json machine() {
  utsname system{};
  MUSTER_CHECK(::uname(&system) == 0);
  const auto bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{"processor", processor()},
          {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_gib", std::round(bytes / (1 << 30) * 10) / 10},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"load_average_before", load_average()}};
}

}  // namespace

Report::Report(std::string name) : name_(std::move(name)) {
  const Json here = machine();
  results_ = {{"benchmark", name_},        {"began_ms", to_ms(system_wall_now())},
              {"machine", here},           {"tables", Json::array()},
              {"curves", Json::array()},   {"bars", Json::array()},
              {"measured", Json::object()}};
  std::printf("%s, %ld cores, %.1f GiB, %s; load average %.2f before this run\n",
              here["processor"].get<std::string>().c_str(), here["cores"].get<long>(),
              here["memory_gib"].get<double>(), here["kernel"].get<std::string>().c_str(),
              here["load_average_before"].get<double>());
}

void Report::title(const std::string& words) {
  title_ = words;
  std::printf("\n%s\n", words.c_str());
  std::fflush(stdout);
}

void Report::note(const std::string& words) {
  std::printf("  %s\n", words.c_str());
  std::fflush(stdout);
}

void Report::table(const std::vector<std::string>& columns,
                   const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = columns[i].size();
    for (const auto& row : rows) width = std::max(width, row.at(i).size());
    widths.push_back(width);
  }
  const auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      line += "  " + (i == 0 ? row[i] + gap : gap + row[i]);
    }
    std::printf("%s\n", line.c_str());
  };
  print(columns);
  for (const auto& row : rows) print(row);
  std::fflush(stdout);
  results_["tables"].push_back({{"title", title_}, {"columns", columns}, {"rows", rows}});
}

void Report::curve(const Curve& curve) {
  Json lines = Json::object();
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, points] : curve.lines) {
    lines[name] = points;
    for (const auto& [x, y] : points) rows.push_back({name, figure(x, 0), figure(y, 2)});
  }
  title(curve.title);
  table({"", curve.x, curve.y}, rows);
  results_["curves"].push_back(
      {{"title", curve.title}, {"x", curve.x}, {"y", curve.y}, {"lines", lines}});
}

void Report::at_most(const std::string& what, double value, double bar, const std::string& unit) {
  verdict(what, value, bar, unit, "at most", value <= bar);
}

void Report::at_least(const std::string& what, double value, double bar, const std::string& unit) {
  verdict(what, value, bar, unit, "at least", value >= bar);
}

void Report::verdict(const std::string& what, double value, double bar, const std::string& unit,
                     const char* relation, bool met) {
  std::printf("  %-66s %9.2f %s, bar %s %g: %s\n", what.c_str(), value, unit.c_str(), relation, bar,
              met ? "met" : "NOT met");
  std::fflush(stdout);
  results_["bars"].push_back({{"what", what},
                              {"value", value},
                              {"unit", unit},
                              {"relation", relation},
                              {"bar", bar},
                              {"met", met}});
  all_met_ = all_met_ && met;
}

int Report::finish() {
  results_["machine"]["load_average_after"] = load_average();
  const std::filesystem::path folder = std::string(MUSTER_SOURCE_DIR) + "/bench/results";
  const std::filesystem::path path = folder / (name_ + ".json");
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
  file << results_.dump(2) << "\n";
  file.close();
  MUSTER_CHECK(!file.fail());
  std::printf("\nload average %.2f after this run; all of it in bench/results/%s.json\n",
              load_average(), name_.c_str());
  return all_met_ ? 0 : 1;
}

std::string figure(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double percentile(std::vector<double> samples, double p) {
  MUSTER_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const double rank = p * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const auto above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (samples[above] - samples[below]) * (rank - static_cast<double>(below));
}

}  // namespace muster::bench
