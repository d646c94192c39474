// Nodes for the tests of the page: as many as told, all in this one process.
//   page_fleet HOST:PORT,…
// Does what each line on stdin says and answers it with one line:
//   register N     N nodes n00001… register and send their first heartbeat
//   beat           every node that is not silent sends a heartbeat
//   silence ID     that node sends no more
#include <algorithm>
#include <future>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/coordinator_client.h"

namespace muster {
namespace {

using client::NodeSpec;

std::string digits(std::size_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

class Fleet {
 public:
  explicit Fleet(client::Client& client) : client_(client) {}

  Status add(std::size_t count) {
    static constexpr client::NodeType kTypes[] = {
        client::NodeType::kObject, client::NodeType::kMetadata, client::NodeType::kFrontend};
    std::vector<client::RegisterNode> requests;
    for (std::size_t n = nodes_.size() + 1; requests.size() < count; ++n) {
      NodeSpec node;
      node.id = NodeId("n" + digits(n, 5));
      node.type = kTypes[n % std::size(kTypes)];
      node.address = "10.0." + std::to_string(n / 256) + "." + std::to_string(n % 256);
      node.port = 7000;
      node.generation = client::Generation("00000000-0000-4000-8000-" + digits(n, 12));
      requests.push_back({node});
    }
    for (const auto& request : requests) nodes_.push_back(request.node);
    if (const Status registered = all(requests); !registered) return registered;
    return beat();
  }

  Status beat() {
    std::vector<client::Heartbeat> requests;
    for (const NodeSpec& node : nodes_) {
      if (!silent_.contains(node.id.value())) requests.push_back({node.id, node.generation});
    }
    return all(requests);
  }

  void silence(const std::string& id) { silent_.insert(id); }

 private:
  /// Many at once, and the first failure of them.
  template <typename Request>
  Status all(const std::vector<Request>& requests) {
    constexpr std::size_t kUnderWay = 256;
    Status outcome = Done{};
    for (std::size_t first = 0; first < requests.size(); first += kUnderWay) {
      std::vector<std::future<Result<typename Request::Answer>>> answers;
      for (std::size_t i = first; i < std::min(requests.size(), first + kUnderWay); ++i) {
        answers.push_back(client_.async(requests[i], {.timeout = 60s}));
      }
      for (auto& answer : answers) {
        if (const auto result = answer.get(); !result && outcome) outcome = result.error();
      }
    }
    return outcome;
  }

  client::Client& client_;
  std::vector<NodeSpec> nodes_;
  std::set<std::string> silent_;
};

Status obey(Fleet& fleet, const std::string& line) {
  std::istringstream words(line);
  std::string order;
  std::string rest;
  words >> order >> rest;
  if (order == "register") return fleet.add(parse_unsigned(rest).value_or(0));
  if (order == "beat") return fleet.beat();
  if (order != "silence") return {Errc::kInvalid, "unknown order " + order};
  fleet.silence(rest);
  return Done{};
}

int run(const std::string& servers) {
  std::vector<std::string> addresses;
  for (const std::string_view each : split(servers, ',')) addresses.emplace_back(each);
  auto client = client::SmartCoordinatorClient::create(addresses);
  if (!client) {
    std::cerr << client.error().message << '\n';
    return 64;
  }
  Fleet fleet(**client);
  for (std::string line; std::getline(std::cin, line);) {
    const Status done = obey(fleet, line);
    std::cout << (done ? "done" : done.error().message) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: page_fleet HOST:PORT,…\n";
    return 64;
  }
  return muster::run(argv[1]);
}
