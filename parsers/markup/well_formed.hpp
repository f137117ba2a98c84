// Linear check of XML 1.0 well-formedness and Namespaces in XML 1.0; it decides `bozo`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/text/defects.hpp"

namespace feedmill {

/// Caps on one document (SECURITY §3).
inline constexpr std::size_t max_element_depth = 256;
inline constexpr std::size_t max_elements = 1'000'000;  ///< runs of text and CDATA sections count as elements
inline constexpr std::size_t max_attributes = 256;
inline constexpr std::size_t max_prefixes = 64;  ///< bound by one element

/// An entity declared in the document's internal subset, with its replacement text. Only harmless entities are listed:
/// their text contains no markup and at most one reference, which is numeric.
struct DeclaredEntity {
  std::string_view name, value;
};

/// One xmlns attribute.
struct NamespaceDeclaration {
  std::string_view prefix, uri;  ///< "" for xmlns itself; the URI as written
};

/// Result of the check. `bozo` is `none` if the document is well-formed.
struct WellFormedness {
  Bozo bozo = Bozo::none;    ///< none, malformed_xml, undefined_entity, undeclared_namespace, truncated
  std::string detail;        ///< error message for people; for an undefined entity, its name
  std::size_t offset = 0;    ///< byte offset of the error
  bool limit = false;        ///< a cap was reached at `offset`; the text before it may be well-formed
  bool nested = true;        ///< the errors do not affect nesting, so a tree can be built from the text as it is
  std::string_view doctype;  ///< the text between "<!DOCTYPE" and ">", "" if none
  std::vector<DeclaredEntity> entities;
  std::vector<NamespaceDeclaration> namespaces;  ///< in document order; at most 256
  std::size_t tree_bytes = 0;                    ///< memory that the document's tree takes

  bool ok() const { return bozo == Bozo::none; }
};

/// Checks a whole document of valid UTF-8 with LF line ends. Views in the result point into `text`. Linear; memory in
/// proportion to depth. External subsets are not read: if the document has one, undefined entities are not errors (XML
/// §4.1). A tree of more than `max_tree_bytes` counts as exceeding a cap.
WellFormedness check_well_formed(std::string_view text, std::size_t max_tree_bytes = std::string_view::npos);

/// Memory of the tree per element or run of text, and per attribute.
inline constexpr std::size_t node_bytes = 64, attribute_bytes = 40;

}  // namespace feedmill
