// Every kind of call, with C++'s gRPC. The steps are those of ../interop_test.py.
//
// usage: interop_client SERVER STANDBY [CA CERTIFICATE KEY]
#include <exception>
#include <iostream>

#include "tests/interop/cpp/scene.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 6) {
    std::cerr << "usage: interop_client SERVER STANDBY [CA CERTIFICATE KEY]\n";
    return 64;
  }
  interop::Scene scene(std::vector<std::string>(argv + 1, argv + argc));
  int code = 0;
  for (const interop::Step& step : interop::steps(scene.tls())) {
    try {
      const std::string told = step.act(scene);
      std::cout << "ok " << step.name << (told.empty() ? "" : " ") << told << std::endl;
    } catch (const std::exception& error) {
      std::cout << "failed " << step.name << ": " << error.what() << std::endl;
      code = 1;
    }
  }
  return code;
}
