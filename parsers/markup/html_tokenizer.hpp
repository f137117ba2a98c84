// A linear tokenizer of HTML and of what is meant to be HTML or XML. Never fails, never backtracks: the sanitiser, the
// plain-text extraction and the salvage of broken documents all read through it.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

struct HtmlToken {
  enum class Kind { text, start_tag, end_tag, comment, cdata, declaration, instruction, end };
  Kind kind = Kind::end;
  std::string_view text;        ///< text, cdata: what it says (references as written); else the whole token
  std::string_view name;        ///< tags: as written, prefix included
  std::string_view attributes;  ///< start tags: what follows the name, for HtmlAttributes
  bool self_closing = false;
  bool closed = true;      ///< false: the document ended inside it
  std::size_t offset = 0;  ///< of its first byte in the input
};

class HtmlTokenizer {
 public:
  explicit HtmlTokenizer(std::string_view input) : input_(input) {}

  HtmlToken next();

  /// Skips to the end tag `</name` and returns what was before it; all of the rest when there is none. For elements
  /// whose content is no markup (script, style …). The end tag itself is the next token.
  std::string_view skip_raw_text(std::string_view name);

  std::size_t offset() const { return at_; }
  /// Goes back to an offset inside of the token just read, when the caller knows better where that ends.
  void rewind(std::size_t offset) { at_ = offset; }

 private:
  HtmlToken text_token(std::size_t from);
  HtmlToken tag(std::size_t start);
  HtmlToken markup_declaration(std::size_t start);

  std::string_view input_;
  std::size_t at_ = 0;
  // Nothing of the kind from here on: keeps a search that fails from being repeated at every later opener.
  bool no_comment_end_ = false, no_cdata_end_ = false;
};

/// The attributes of a start tag, one at a time. Names as written; values as written between their quotes.
class HtmlAttributes {
 public:
  explicit HtmlAttributes(std::string_view text) : rest_(text) {}

  /// False when there are no more.
  bool next();
  std::string_view name() const { return name_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view rest_, name_, value_;
};

}  // namespace feedmill
