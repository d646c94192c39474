#pragma once

#include <functional>
#include <string>
#include <vector>

namespace muster::compat {

/// One value of one format that outlives a process.
///
/// tests/compat/fixtures holds the bytes of each as the first release wrote them; every later one
/// must read them. The files of binary formats are in hexadecimal digits. They were made by
/// `compat_fixtures tests/compat/fixtures`, which writes those that are not there and never touches
/// one that is: for a new field or kind, add a sample with a new name.
struct Sample {
  std::string file;
  std::string bytes;  ///< As this build writes it.
  /// What is wrong with bytes that should mean this value; empty when they do.
  std::function<std::string(const std::string& bytes)> check;

  [[nodiscard]] bool text() const { return file.ends_with(".json"); }
};

[[nodiscard]] std::vector<Sample> samples();

/// A fixture's content, and back.
[[nodiscard]] std::string to_file(const Sample& sample);
[[nodiscard]] std::string from_file(const Sample& sample, const std::string& content);

}  // namespace muster::compat
