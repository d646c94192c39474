#pragma once

#include <muster/store.h>

#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "store/store.h"

namespace muster::api {

/// A program's store that has not been connected to a loop.
struct OpenedScheme {
  std::shared_ptr<api_v1::Store> store;
  api_v1::StoreTraits traits;
  std::string address;  ///< Without secrets.

  [[nodiscard]] std::unique_ptr<ObjectStore> on(Loop& loop) const;
};

/// Opens `url` if the program has registered its scheme; nothing if it has not. Threads: any but
/// the loop's, because the program's code may block.
[[nodiscard]] std::optional<Result<OpenedScheme>> open_registered(const std::string& url,
                                                                  const api_v1::Tls& tls);

}  // namespace muster::api
