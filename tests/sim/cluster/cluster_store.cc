#include "tests/sim/cluster/cluster_store.h"

#include <utility>

namespace muster::sim {

template <typename Response, typename Request, typename T, typename Read>
void ClusterStore::send(const char* method, const Result<Request>& request, bool writes,
                        Deadline by, Callback<T> done, Read read) {
  if (!request) {
    return caller_.loop().post(
        lifetime_.wrap([done = std::move(done), error = request.error()] { done(error); }));
  }
  caller_.start(
      {method, request->SerializeAsString(), writes ? client::Effect::kOnce : client::Effect::kRead,
       writes ? client::Aim::kLeader : client::Aim::kAny},
      by,
      lifetime_.wrap([done = std::move(done), read = std::move(read),
                      writes](const Result<std::string>& body) {
        if (!body) return done(body.error());
        Response response;
        if (response.ParseFromString(*body)) return done(read(std::move(response)));
        done(Error{writes ? Errc::kAmbiguous : Errc::kCorrupt, "cannot be read"});
      }));
}

void ClusterStore::get(Key key, std::optional<Revision> unless, Deadline by,
                       Callback<Object> done) {
  send<v1::StoreGetResponse>("/muster.v1.StoreService/Get", requests_.get(key, unless), false, by,
                             std::move(done), [key](v1::StoreGetResponse response) {
                               return musterd::Requests::got(key, std::move(response));
                             });
}

void ClusterStore::put(Key key, std::string body, Precondition when, Deadline by,
                       Callback<Revision> done) {
  send<v1::StorePutResponse>(
      "/muster.v1.StoreService/Put", requests_.put(key, std::move(body), when, std::nullopt), true,
      by, std::move(done), [](const v1::StorePutResponse& response) -> Result<Revision> {
        return Revision(std::to_string(response.revision()));
      });
}

void ClusterStore::guarded_put(Key key, std::string body, Precondition when, Guard guard,
                               Deadline by, Callback<Revision> done) {
  send<v1::StorePutResponse>(
      "/muster.v1.StoreService/Put", requests_.put(key, std::move(body), when, std::move(guard)),
      true, by, std::move(done), [](const v1::StorePutResponse& response) -> Result<Revision> {
        return Revision(std::to_string(response.revision()));
      });
}

void ClusterStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  send<v1::StoreRemoveResponse>("/muster.v1.StoreService/Remove", requests_.remove(key, when), true,
                                by, std::move(done),
                                [](const v1::StoreRemoveResponse&) -> Status { return Done{}; });
}

void ClusterStore::list(std::string prefix, std::string from, Deadline by,
                        Callback<ListPage> done) {
  send<v1::StoreListResponse>(
      "/muster.v1.StoreService/List", requests_.list(prefix, from, 1000), false, by,
      std::move(done), [this, from](const v1::StoreListResponse& response) -> Result<ListPage> {
        return requests_.listed(from, response);
      });
}

}  // namespace muster::sim
