// Every text that a document can bring into the store, under every spelling of a type, as readers get it.
#pragma once

#include <string>
#include <vector>

namespace feedmill::test {

/// A stored field that may hold markup, or that readers show together with such a field.
struct StoredText {
  std::string field;  ///< as in Entry:<n> and Feed:<feed_url>
  std::string type;   ///< value of the field's `…_type`; "" if there is none
  std::string value;
  std::string source;  ///< shown in failures: the declared type and its place
};

/// Spellings of types in documents: with parameters, in other case, with spaces or commas, unknown, full-width,
/// several.
std::vector<std::string> declared_types();

/// All declared types × all places of a text in Atom and RSS × active markup, escaped, in CDATA and inline, and longer
/// than any limit: the fields that feed_fields() and entry_record() store.
std::vector<StoredText> stored_texts();

}  // namespace feedmill::test
