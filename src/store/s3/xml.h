#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::s3 {

/// An element of a small XML document: its text, with entities resolved, and its children in order.
/// Attributes and namespace prefixes are dropped, because no answer of S3 or STS needs them.
struct XmlElement {
  std::string name;
  std::string text;
  std::vector<XmlElement> children;

  /// The first child with that name; null if there is none.
  [[nodiscard]] const XmlElement* child(std::string_view name) const;
  /// The text of the first child with that name; empty if there is none.
  [[nodiscard]] std::string_view child_text(std::string_view name) const;
};

/// Reads the root element: both quotings of attributes, CDATA, comments, the five named entities
/// and numeric ones. Returns kCorrupt for malformed text, a document type (nothing here may define
/// entities), more than 16 MiB, and nesting deeper than 32, which bounds its recursion.
[[nodiscard]] Result<XmlElement> parse_xml(std::string_view text);

}  // namespace muster::s3
