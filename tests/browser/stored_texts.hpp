// Every text that a document can bring into the store, under every spelling of a type, as readers get it.
#pragma once

#include <string>
#include <vector>

namespace feedmill::test {

/// A stored field that may hold markup, or that readers show together with one.
struct StoredText {
  std::string field;  ///< as in Entry:<n> and Feed:<feed_url>
  std::string type;   ///< of its `…_type`; "" when there is none
  std::string value;
  std::string source;  ///< for people: the type declared and where it stood
};

/// Spellings of types in documents: parameters, case, spaces, commas, unknown, full-width, several.
std::vector<std::string> declared_types();

/// All of them × all places of a text in Atom and RSS × markup that runs, escaped, in CDATA and inline, and longer than
/// any cap: what feed_fields() and entry_record() store of it.
std::vector<StoredText> stored_texts();

}  // namespace feedmill::test
