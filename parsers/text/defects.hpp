// Defects of documents that are read nevertheless.
#pragma once

namespace feedmill {

/// The defect that was repaired or guessed around. `none`: a legal document.
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

/// Publishers' mistakes that we repaired or dropped; the words are metric labels (OPERATIONS §3).
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
  loop,  ///< posts that this store, or too many stores, have had already (WEBSUB U17); reported by the worker
  other
};

}  // namespace feedmill
