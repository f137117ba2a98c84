// A linear tokenizer for HTML, and for text meant to be HTML or XML. It never fails and never backtracks. Used by the
// sanitiser, plain-text extraction and the salvage of broken documents.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

/// One token. Its views point into the tokenizer's input.
struct HtmlToken {
  enum class Kind { text, start_tag, end_tag, comment, cdata, declaration, instruction, end };
  Kind kind = Kind::end;
  std::string_view text;        ///< text, cdata: the content (references as written); others: the whole token
  std::string_view name;        ///< tags: the name as written, with its prefix
  std::string_view attributes;  ///< start tags: the part after the name, for HtmlAttributes
  bool self_closing = false;
  bool closed = true;      ///< false: the document ends inside the token
  std::size_t offset = 0;  ///< offset of the token's first byte in the input
};

/// Splits its input into tokens. The input must outlive the tokenizer and the tokens.
class HtmlTokenizer {
 public:
  explicit HtmlTokenizer(std::string_view input) : input_(input) {}

  /// The next token; Kind::end at the end of the input, however often it is called.
  HtmlToken next();

  /// Skips to the end tag `</name` and returns the text before it, or the whole rest if there is none. For elements
  /// with content that is not markup (script, style …). The end tag is the next token.
  std::string_view skip_raw_text(std::string_view name);

  std::size_t offset() const { return at_; }
  /// Goes back to `offset`, inside the token just read, for callers that know better where the token ends.
  void rewind(std::size_t offset) { at_ = offset; }

 private:
  HtmlToken text_token(std::size_t from);
  HtmlToken tag(std::size_t start);
  HtmlToken markup_declaration(std::size_t start);

  std::string_view input_;
  std::size_t at_ = 0;
  // Set when no terminator follows: avoids repeating the failed search at every later opener.
  bool no_comment_end_ = false, no_cdata_end_ = false;
};

/// The attributes of a start tag, one at a time. Names are as written; values as written between their quotes.
class HtmlAttributes {
 public:
  explicit HtmlAttributes(std::string_view text) : rest_(text) {}

  /// Moves to the next attribute; false at the end.
  bool next();
  std::string_view name() const { return name_; }
  std::string_view value() const { return value_; }
  bool has_value() const { return has_value_; }

 private:
  std::string_view rest_, name_, value_;
  bool has_value_ = false;
};

}  // namespace feedmill
