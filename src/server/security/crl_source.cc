#include "server/security/crl_source.h"

#include <utility>

#include "platform/whole_file.h"

namespace muster::server {
namespace {

constexpr std::size_t kListBytesMax = std::size_t{16} << 20;

}  // namespace

CrlKeeper::Fetch crl_from_file(std::string path) {
  return [path = std::move(path)](MonoTime, const CrlKeeper::Fetched& done) {
    done(files::read_whole(path, kListBytesMax));
  };
}

CrlKeeper::Fetch crl_from_url(HttpClient& http, std::string url) {
  return [&http, url = std::move(url)](MonoTime by, CrlKeeper::Fetched done) {
    HttpRequest request;
    request.url = url;
    request.by = by;
    request.answer_bytes_max = kListBytesMax;
    http.send(std::move(request), [done = std::move(done)](Result<HttpResponse> answer) {
      if (!answer) return done(answer.error());
      if (answer->status != 200) {
        return done(Error{Errc::kUnavailable, "the server of the revocation list answered " +
                                                  std::to_string(answer->status)});
      }
      done(std::move(answer->body));
    });
  };
}

}  // namespace muster::server
