#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::s3 {

/// An element of a small XML document: its text, entities resolved, and its children in order.
/// Attributes and namespace prefixes are dropped: no answer of S3 or STS needs them.
struct XmlElement {
  std::string name;
  std::string text;
  std::vector<XmlElement> children;

  /// The first child of that name; null when there is none.
  [[nodiscard]] const XmlElement* child(std::string_view name) const;
  /// The text of the first child of that name, empty when there is none.
  [[nodiscard]] std::string_view child_text(std::string_view name) const;
};

/// Reads the root element. Either quoting of attributes, CDATA, comments, the five named entities
/// and numeric ones. kCorrupt for what is not well-formed, for a document type (nothing here may
/// define entities), for more than 16 MiB and for nesting deeper than 32. Never recurses further.
[[nodiscard]] Result<XmlElement> parse_xml(std::string_view text);

}  // namespace muster::s3
