// What a text is by its declared type, and markup → the text a reader would see.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// A media type without parameters and whatever else follows it, in lower case: "text/html" of `Text/HTML; charset=x`,
/// `text/html,text/plain`, `text/html/` or one that ends in a no-break space; "html" of `html;`.
std::string bare_type(std::string_view declared);

/// What a text is kept as, whatever its document declares (SECURITY §4): "text/html" (of `html` and `text/html`),
/// "application/xhtml+xml" (of `xhtml` and `application/xhtml+xml`), "text/plain" for all else: markup of other kinds
/// is shown as it is written. No text has another type: there is no other way to make one.
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

/// Whether text of that type, a TextType's name, is markup that the sanitiser has to see.
bool is_markup(std::string_view type);

/// The visible text of HTML: tags gone, references decoded, block elements and <br> as white space, scripts and styles
/// left out, white space folded. At most `max_bytes`, cut at a code point. Linear.
std::string plain_text(std::string_view markup, std::size_t max_bytes = std::size_t{1} << 20);

/// `text` of that type, a TextType's name, as people read it: markup as its visible text, all else as it stands.
std::string readable_text(std::string_view text, std::string_view type);

}  // namespace feedmill
