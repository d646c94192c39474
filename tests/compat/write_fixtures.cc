// Writes the fixtures that do not exist yet: compat_fixtures DIRECTORY

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/compat/samples.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: compat_fixtures DIRECTORY\n";
    return 64;
  }
  for (const auto& sample : muster::compat::samples()) {
    const std::filesystem::path path = std::filesystem::path(argv[1]) / sample.file;
    if (std::filesystem::exists(path)) continue;
    std::ofstream file(path, std::ios::binary);
    file << muster::compat::to_file(sample);
    if (!file.flush()) {
      std::cerr << path << " cannot be written\n";
      return 1;
    }
    std::cout << path.string() << "\n";
  }
}
