// Linear check of XML 1.0 well-formedness and Namespaces in XML 1.0; it makes `bozo` reliable.
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

/// An entity declared in the document's internal subset, with its replacement text. Only harmless ones are listed:
/// those whose text contains neither references nor markup.
struct DeclaredEntity {
  std::string_view name, value;
};

struct NamespaceDeclaration {
  std::string_view prefix, uri;  ///< prefix "" for xmlns itself; uri as written
};

struct WellFormedness {
  Bozo bozo = Bozo::none;    ///< none, malformed_xml, undefined_entity, undeclared_namespace, truncated
  std::string detail;        ///< error message for people
  std::size_t offset = 0;    ///< byte offset of the error
  bool limit = false;        ///< a cap was reached at `offset`; the text before it may be good
  bool nested = true;        ///< a tree may be built from the text as it is: the errors do not affect nesting
  std::string_view doctype;  ///< the text between "<!DOCTYPE" and ">", "" if none
  std::vector<DeclaredEntity> entities;
  std::vector<NamespaceDeclaration> namespaces;  ///< in order; at most 256
  std::size_t tree_bytes = 0;                    ///< memory that its tree takes

  bool ok() const { return bozo == Bozo::none; }
};

/// Checks a whole document of valid UTF-8 with LF line ends. Views in the result point into `text`. Linear; memory in
/// proportion to depth. External subsets are not read: if there is one, undefined entities are not errors (XML §4.1). A
/// tree of more than `max_tree_bytes` exceeds a cap.
WellFormedness check_well_formed(std::string_view text, std::size_t max_tree_bytes = std::string_view::npos);

/// Memory per element or run of text, and per attribute, in the tree.
inline constexpr std::size_t node_bytes = 64, attribute_bytes = 40;

}  // namespace feedmill
