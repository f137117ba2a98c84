// What can be wrong with a document that is read all the same.
#pragma once

namespace feedmill {

/// What the document was repaired for or guessed at. `none`: a legal document.
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

/// What a publisher got wrong and we repaired or dropped; the words are metric labels (OPERATIONS §3).
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
  loop,  ///< posts that have been in this store already, or in too many (WEBSUB U17): told by whoever knows that
  other
};

}  // namespace feedmill
