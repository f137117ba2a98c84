// A linear tokenizer for HTML, and for text meant to be HTML or XML. It never fails and never backtracks. The
// sanitiser, plain-text extraction and the salvage of broken documents all use it.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

struct HtmlToken {
  enum class Kind { text, start_tag, end_tag, comment, cdata, declaration, instruction, end };
  Kind kind = Kind::end;
  std::string_view text;        ///< text, cdata: its content (references as written); others: the whole token
  std::string_view name;        ///< tags: as written, prefix included
  std::string_view attributes;  ///< start tags: the part after the name, for HtmlAttributes
  bool self_closing = false;
  bool closed = true;      ///< false: the document ended inside it
  std::size_t offset = 0;  ///< offset of its first byte in the input
};

class HtmlTokenizer {
 public:
  explicit HtmlTokenizer(std::string_view input) : input_(input) {}

  HtmlToken next();

  /// Skips to the end tag `</name` and returns the text before it, or the whole rest if there is none. For elements
  /// whose content is not markup (script, style …). The end tag itself is the next token.
  std::string_view skip_raw_text(std::string_view name);

  std::size_t offset() const { return at_; }
  /// Goes back to an offset inside the token just read, for callers that know better where it ends.
  void rewind(std::size_t offset) { at_ = offset; }

 private:
  HtmlToken text_token(std::size_t from);
  HtmlToken tag(std::size_t start);
  HtmlToken markup_declaration(std::size_t start);

  std::string_view input_;
  std::size_t at_ = 0;
  // No such terminator follows: avoids repeating a failed search at every later opener.
  bool no_comment_end_ = false, no_cdata_end_ = false;
};

/// The attributes of a start tag, one at a time. Names as written; values as written between their quotes.
class HtmlAttributes {
 public:
  explicit HtmlAttributes(std::string_view text) : rest_(text) {}

  /// False at the end.
  bool next();
  std::string_view name() const { return name_; }
  std::string_view value() const { return value_; }
  bool has_value() const { return has_value_; }

 private:
  std::string_view rest_, name_, value_;
  bool has_value_ = false;
};

}  // namespace feedmill
