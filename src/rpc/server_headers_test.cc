// Requests whose headers gRPC does not allow.
#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_test {

class HeadersTest : public ServerTest {
 protected:
  HeadersTest() { start({}); }

  /// The code of the answer to a call with one more header.
  std::string code_with(std::string_view name, std::string_view value) {
    BareClient client(port, loop.now());
    const std::vector<Header> headers = {{":method", "POST"}, {":scheme", "http"},
                                         {":path", "/a.B/C"}, {":authority", "x"},
                                         {"te", "trailers"},  {"content-type", "application/grpc"},
                                         {name, value}};
    const StreamId stream = client.session.open(headers).value();
    client.session.send(stream, payload("x"));
    client.session.finish(stream, {});
    EXPECT_TRUE(until([&] {
      (void)client.talk(loop.now());
      return client.answered;
    }));
    return client.status;
  }
  const std::string accepted;  // The code of an answer follows its data.
  const std::string internal = std::to_string(static_cast<int>(Code::kInternal));
};

// R50: INTERNAL, as other implementations answer.
TEST_F(HeadersTest, ATimeoutThatIsNoneIsRefusedAsInternal) {
  for (const char* timeout : {"", "S", "5", "-1S", "1x", "123456789S"})
    EXPECT_EQ(code_with("grpc-timeout", timeout), internal) << '"' << timeout << '"';
  EXPECT_EQ(code_with("grpc-timeout", "20S"), accepted);
}

// R50
TEST_F(HeadersTest, BinaryMetadataThatIsNotBase64IsRefusedAsInternal) {
  for (const char* value : {"!", "a", "YQ=a", "YQ==,!", "a b"})
    EXPECT_EQ(code_with("any-bin", value), internal) << value;
  for (const char* value : {"", "YQ", "YQ==", "YWI=", "YQ,YWI", "YQ==, YWI="})
    EXPECT_EQ(code_with("any-bin", value), accepted) << value;
  EXPECT_EQ(code_with("any", "!"), accepted);
}

}  // namespace server_test
}  // namespace muster::rpc
