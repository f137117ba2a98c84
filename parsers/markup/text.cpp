#include "parsers/markup/text.hpp"

#include "parsers/markup/html_policy.hpp"
#include "parsers/markup/html_tokenizer.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {

std::string bare_type(std::string_view declared) {
  const auto is_name = [](char c) { return is_alnum(c) || c == '+' || c == '-' || c == '.' || c == '_'; };
  while (!declared.empty() && !is_name(declared.front())) declared.remove_prefix(1);
  std::size_t end = 0;
  bool slash = false;
  while (end < declared.size() && (is_name(declared[end]) || (declared[end] == '/' && !slash))) {
    slash = slash || declared[end] == '/';
    ++end;
  }
  return lower(declared.substr(0, end));
}

TextType::TextType(std::string_view declared) {
  const std::string type = bare_type(declared);
  if (type == "html" || type == "text/html") name_ = "text/html";
  if (type == "xhtml" || type == "application/xhtml+xml") name_ = "application/xhtml+xml";
}

bool is_markup(std::string_view type) {
  return type == "text/html" || type == "application/xhtml+xml";
}

std::string plain_text(std::string_view markup, std::size_t max_bytes) {
  std::string out;
  HtmlTokenizer tokens(markup);
  for (HtmlToken token = tokens.next(); token.kind != HtmlToken::Kind::end; token = tokens.next()) {
    if (out.size() > 2 * max_bytes) break;
    switch (token.kind) {
      case HtmlToken::Kind::text:
        append_decoded(out, token.text);
        break;
      case HtmlToken::Kind::cdata:
        out += token.text;
        break;
      case HtmlToken::Kind::start_tag:
      case HtmlToken::Kind::end_tag: {
        const HtmlElement* element = find_html_element(token.name);
        if (element == nullptr) break;
        if (element->is(HtmlElement::block) || element->name == "br" || element->name == "hr") out += ' ';
        if (token.kind == HtmlToken::Kind::start_tag && element->is(HtmlElement::raw_text) &&
            element->name != "plaintext") {
          const std::string_view inside = tokens.skip_raw_text(element->name);
          if (element->name == "textarea" || element->name == "title") append_decoded(out, inside);
        }
        break;
      }
      default:
        break;
    }
  }
  out = fold_space(out);
  out.resize(utf8_prefix(out, max_bytes).size());
  return out;
}

std::string readable_text(std::string_view text, std::string_view type) {
  return is_markup(type) ? plain_text(text) : std::string(text);
}

}  // namespace feedmill
