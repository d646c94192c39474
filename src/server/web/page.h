#pragma once

#include <span>
#include <string_view>

namespace muster::server {

/// One file of the page that musterd serves, compiled into the program.
struct PageFile {
  std::string_view path;  ///< "/", "/assets/app.js"
  std::string_view type;  ///< "text/html; charset=utf-8"
  std::string_view etag;  ///< With its quotes.
  std::string_view body;
};

/// All of them; none when the program was built without the page.
[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace muster::server
