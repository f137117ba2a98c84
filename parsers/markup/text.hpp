// Text types, as declared and as kept; the visible text of markup.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// A declared media type in lower case, without parameters and trailing junk: "text/html" for `Text/HTML; charset=x`,
/// `text/html,text/plain`, `text/html/` or one with a trailing no-break space; "html" for `html;`.
std::string bare_type(std::string_view declared);

/// The type that a text is kept as (SECURITY §4): "text/html" (declared as `html` or `text/html`),
/// "application/xhtml+xml" (declared as `xhtml` or `application/xhtml+xml`), else "text/plain"; other markup is shown
/// as written. No text can have another type, because only this class makes types.
class TextType {
 public:
  TextType() = default;  ///< plain
  explicit TextType(std::string_view declared);

  std::string_view name() const { return name_; }
  operator std::string_view() const { return name_; }  // NOLINT(google-explicit-constructor)
  friend bool operator==(TextType a, std::string_view b) { return a.name_ == b; }
  friend bool operator==(TextType a, TextType b) { return a.name_ == b.name_; }

 private:
  std::string_view name_ = "text/plain";
};

/// Whether text of this type (a TextType's name) is markup, which must be sanitised.
bool is_markup(std::string_view type);

/// The visible text of HTML: tags removed, references decoded, block elements and <br> as white space, scripts and
/// styles left out, white space folded. At most `max_bytes`, cut at a code point. Linear.
std::string plain_text(std::string_view markup, std::size_t max_bytes = std::size_t{1} << 20);

/// `text` of this type (a TextType's name) as people read it: the visible text if it is markup, else unchanged.
std::string readable_text(std::string_view text, std::string_view type);

}  // namespace feedmill
