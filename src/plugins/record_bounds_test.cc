// R39: what others leave in the store takes no more memory than an honest writer needs.
#include <gtest/gtest.h>

#include <string>

#include "plugins/counter_records.h"
#include "plugins/queue_records.h"
#include "plugins/run_record.h"
#include "plugins/ttl.h"

namespace muster {
namespace record_bounds_test {

/// `body`, a JSON object, with a field of that many nested lists.
std::string nested(std::string body, std::size_t levels) {
  body.back() = ',';
  return body + "\"x\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
}

TEST(RecordBoundsTest, NoPluginReadsBracketsWithoutEnd) {
  const std::string total = R"({"value":1,"epoch":1,"lanes":{},"updatedAt":1})";
  const std::string board = R"({"epoch":1,"tickets":[]})";
  const std::string claim =
      R"({"state":"claimed","claim":"c","attempt":1,"visibility":1000,"epoch":1})";
  const std::string message = R"({"id":"m","payload":"p","enqueuedAt":1})";
  const std::string run =
      R"({"cron":"* * * * *","zone":"UTC","lastDue":1,"previousDue":1,"epoch":1,"attempt":1,)"
      R"("nonce":"n","outcome":"scheduled"})";
  const std::string tombstone = R"({"_tombstone":"muster.ttl"})";
  const auto each = [&](std::size_t levels) {
    return std::vector<bool>{counters::decode_total(nested(total, levels)).ok(),
                             queue::decode_board(nested(board, levels)).ok(),
                             queue::decode_claim(nested(claim, levels)).ok(),
                             queue::decode_message(nested(message, levels)).ok(),
                             decode_run_record(nested(run, levels)).ok(),
                             is_tombstone(nested(tombstone, levels))};
  };
  EXPECT_EQ(each(4), std::vector<bool>(6, true));
  EXPECT_EQ(each(1000), std::vector<bool>(6, false));
}

}  // namespace record_bounds_test
}  // namespace muster
