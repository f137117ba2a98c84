// Defects of documents that are read in spite of them.
#pragma once

namespace feedmill {

/// The defect that was repaired or worked around. `none`: the document is valid.
enum class Bozo {
  none,
  malformed_xml,
  malformed_json,
  undefined_entity,
  undeclared_namespace,
  truncated,
  encoding_override,
  encoding_undetermined,
  non_xml_content_type
};

/// Publishers' mistakes that were repaired or dropped; the names are metric labels (OPERATIONS §3).
enum class Flaw {
  encoding,
  entity,
  namespace_,
  structure,
  date,
  url,
  duplicate_guid,
  missing_guid,
  truncated,
  loop,  ///< posts that this store, or too many stores, had before (WEBSUB U17); reported by the worker
  other
};

}  // namespace feedmill
