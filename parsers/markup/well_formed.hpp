// Is this XML? A linear check of XML 1.0 well-formedness and of Namespaces in XML 1.0: what keeps `bozo` honest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/text/defects.hpp"

namespace feedmill {

/// Caps of SECURITY §3 on one document.
inline constexpr std::size_t max_element_depth = 256;
inline constexpr std::size_t max_elements = 1'000'000;  ///< runs of text and CDATA sections count as elements do
inline constexpr std::size_t max_attributes = 256;
inline constexpr std::size_t max_prefixes = 64;  ///< bound by one element

/// An entity that the document's internal subset declares, with its replacement text. Only harmless ones are listed:
/// their text holds no reference and no markup.
struct DeclaredEntity {
  std::string_view name, value;
};

struct NamespaceDeclaration {
  std::string_view prefix, uri;  ///< prefix "" for xmlns itself; uri as written
};

struct WellFormedness {
  Bozo bozo = Bozo::none;    ///< none, malformed_xml, undefined_entity, undeclared_namespace, truncated
  std::string detail;        ///< what is wrong, for people
  std::size_t offset = 0;    ///< where, in bytes
  bool limit = false;        ///< a cap was reached at `offset`; what comes before may be good
  bool nested = true;        ///< a tree may be built from the text as it stands: what is wrong changes no nesting
  std::string_view doctype;  ///< what stands between "<!DOCTYPE" and ">", "" if none
  std::vector<DeclaredEntity> entities;
  std::vector<NamespaceDeclaration> namespaces;  ///< in order; at most 256
  std::size_t tree_bytes = 0;                    ///< what the tree of it takes in memory

  bool ok() const { return bozo == Bozo::none; }
};

/// Checks a whole document of valid UTF-8 with LF line ends. Views in the result point into `text`. Linear; memory in
/// proportion to depth. Reads no external subset: with one, undefined entities are no error (XML §4.1). A tree of more
/// than `max_tree_bytes` is over a cap.
WellFormedness check_well_formed(std::string_view text, std::size_t max_tree_bytes = std::string_view::npos);

/// Memory of an element or a run of text, and of an attribute, in the tree.
inline constexpr std::size_t node_bytes = 64, attribute_bytes = 40;

}  // namespace feedmill
