#include "base/metric_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace muster::metric {
namespace {

const char* to_string(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
    case Type::kSummary:
      break;
  }
  return "summary";
}

/// As %.16g writes it in the C locale: what people write by hand stays as it is, and the names of
/// buckets stay the same from release to release.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::general, 16);
  return {digits.data(), end.ptr};
}

std::string escaped(std::string_view text, bool quoted) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quoted) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

/// Prometheus refuses a whole scrape in which one value is not UTF-8.
std::string label_value(const std::string& value) {
  if (is_utf8(value)) return escaped(value, true);
  std::string plain = value;
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) > 0x7f) c = '?';
  }
  return escaped(plain, true);
}

}  // namespace

void Text::family(std::string_view name, std::string_view help, Type type) {
  name_ = prefix_ + std::string(name);
  head_ = "# HELP " + name_ + " " + escaped(help, false) + "\n# TYPE " + name_ + " " +
          to_string(type) + "\n";
}

void Text::line(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_ += head_;
  head_.clear();
  text_ += name_;
  text_ += suffix;
  char before = '{';
  for (const Labels* some : {&labels_, &labels}) {
    for (const auto& [label, of] : *some) {
      text_ += before;
      text_ += label + "=\"" + label_value(of) + "\"";
      before = ',';
    }
  }
  if (before == ',') text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void Text::sample(const Labels& labels, std::uint64_t value) {
  line("", labels, std::to_string(value));
}

void Text::sample(const Labels& labels, double value) {
  line("", labels, number(value));
}

void Text::sample(const Labels& labels, const Distribution& distribution) {
  const auto& [bounds, counts, sum] = distribution;
  Labels bucket = labels;
  bucket.emplace_back("le", "");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    if (i < counts.size()) count += counts[i];
    bucket.back().second = i < bounds.size() ? number(bounds[i]) : "+Inf";
    line("_bucket", bucket, std::to_string(count));
  }
  line("_sum", labels, number(sum));
  line("_count", labels, std::to_string(count));
}

void Text::counter(std::string_view name, std::string_view help, std::uint64_t value) {
  family(name, help, Type::kCounter);
  sample({}, value);
}

void Text::counters(std::string_view name, std::string_view help, const std::string& label,
                    const Counts& counts) {
  family(name, help, Type::kCounter);
  for (const auto& [of, count] : counts) sample({{label, of}}, count);
}

void Text::gauge(std::string_view name, std::string_view help, double value) {
  family(name, help, Type::kGauge);
  sample({}, value);
}

void Text::gauges(std::string_view name, std::string_view help, const std::string& label,
                  const Values& values) {
  family(name, help, Type::kGauge);
  for (const auto& [of, value] : values) sample({{label, of}}, value);
}

void Text::histogram(std::string_view name, std::string_view help,
                     const Distribution& distribution) {
  family(name, help, Type::kHistogram);
  sample({}, distribution);
}

void Text::summary(std::string_view name, std::string_view help, const Values& quantiles) {
  family(name, help, Type::kSummary);
  for (const auto& [quantile, value] : quantiles) sample({{"quantile", quantile}}, value);
}

}  // namespace muster::metric
