#include "parsers/markup/html_tokenizer.hpp"

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

bool is_name_end(char c) {
  return is_space(c) || c == '/' || c == '>' || c == '<';
}

}  // namespace

HtmlToken HtmlTokenizer::text_token(std::size_t from) {
  HtmlToken token;
  token.kind = HtmlToken::Kind::text;
  token.offset = from;
  token.text = input_.substr(from, at_ - from);
  return token;
}

HtmlToken HtmlTokenizer::next() {
  const std::size_t start = at_;
  if (at_ >= input_.size()) return {};
  // Text runs up to the next markup; a "<" that begins no markup is part of the text.
  while (at_ < input_.size()) {
    const std::size_t open = input_.find('<', at_);
    if (open == npos) {
      at_ = input_.size();
      break;
    }
    const char c = open + 1 < input_.size() ? input_[open + 1] : ' ';
    const char after = open + 2 < input_.size() ? input_[open + 2] : ' ';
    const bool declaration = c == '!' && (is_alpha(after) || after == '-' || after == '[');
    const bool markup =
        is_alpha(c) || declaration || c == '?' || c == '_' ||
        (c == '/' && open + 2 < input_.size() && (is_alpha(input_[open + 2]) || input_[open + 2] == '_'));
    if (!markup) {
      at_ = open + 1;
      continue;
    }
    if (open > start) {
      at_ = open;
      break;
    }
    at_ = open;
    return c == '!' || c == '?' ? markup_declaration(open) : tag(open);
  }
  return text_token(start);
}

HtmlToken HtmlTokenizer::tag(std::size_t start) {
  HtmlToken token;
  token.offset = start;
  const bool closing = input_[start + 1] == '/';
  token.kind = closing ? HtmlToken::Kind::end_tag : HtmlToken::Kind::start_tag;
  std::size_t at = start + (closing ? 2 : 1);
  const std::size_t name = at;
  while (at < input_.size() && !is_name_end(input_[at])) ++at;
  token.name = input_.substr(name, at - name);
  const std::size_t attributes = at;
  char quote = '\0';
  bool value = false;  // just after "=", where a quote would open a value
  for (; at < input_.size(); ++at) {
    const char c = input_[at];
    if (quote != '\0') {
      const std::size_t close = input_.find(quote, at);
      if (close == npos) {
        at = input_.size();
        break;
      }
      at = close;
      quote = '\0';
    } else if (c == '>') {
      break;
    } else if (value && (c == '"' || c == '\'')) {
      quote = c;
      value = false;
    } else if (c == '=') {
      value = true;
    } else if (!is_space(c)) {
      value = false;
    }
  }
  token.closed = at < input_.size();
  token.attributes = input_.substr(attributes, at - attributes);
  if (token.attributes.ends_with('/')) {
    token.self_closing = true;
    token.attributes.remove_suffix(1);
  }
  at_ = token.closed ? at + 1 : at;
  token.text = input_.substr(start, at_ - start);
  return token;
}

HtmlToken HtmlTokenizer::markup_declaration(std::size_t start) {
  HtmlToken token;
  token.offset = start;
  const std::string_view rest = input_.substr(start);
  std::size_t body = 2;
  std::string_view terminator = ">";
  bool* hopeless = nullptr;
  if (rest.starts_with("<!--")) {
    token.kind = HtmlToken::Kind::comment;
    body = 4;
    terminator = "-->";
    hopeless = &no_comment_end_;
    if (rest.starts_with("<!-->") || rest.starts_with("<!--->")) {  // HTML §13.2.5.43: an empty comment
      at_ = start + (rest[4] == '>' ? 5 : 6);
      token.text = input_.substr(start, at_ - start);
      return token;
    }
  } else if (rest.starts_with("<![CDATA[")) {
    token.kind = HtmlToken::Kind::cdata;
    body = 9;
    terminator = "]]>";
    hopeless = &no_cdata_end_;
  } else if (rest[1] == '?') {
    token.kind = HtmlToken::Kind::instruction;
  } else {
    token.kind = HtmlToken::Kind::declaration;
  }
  const std::size_t found = hopeless != nullptr && *hopeless ? npos : rest.find(terminator, body);
  token.closed = found != npos;
  if (!token.closed && hopeless != nullptr) *hopeless = true;
  at_ = token.closed ? start + found + terminator.size() : input_.size();
  token.text = token.kind == HtmlToken::Kind::cdata ? rest.substr(body, token.closed ? found - body : npos)
                                                    : input_.substr(start, at_ - start);
  return token;
}

std::string_view HtmlTokenizer::skip_raw_text(std::string_view name) {
  const std::size_t start = at_;
  for (std::size_t open = input_.find("</", at_); open != npos; open = input_.find("</", open + 2)) {
    const std::string_view rest = input_.substr(open + 2);
    if (istarts_with(rest, name) && (rest.size() == name.size() || is_name_end(rest[name.size()]))) {
      at_ = open;
      return input_.substr(start, open - start);
    }
  }
  at_ = input_.size();
  return input_.substr(start);
}

bool HtmlAttributes::next() {
  std::size_t at = 0;
  while (at < rest_.size() && (is_space(rest_[at]) || rest_[at] == '/')) ++at;
  if (at >= rest_.size()) return false;
  const std::size_t name = at++;  // a leading "=" is part of the name (HTML §13.2.5.32)
  while (at < rest_.size() && !is_space(rest_[at]) && rest_[at] != '=' && rest_[at] != '/') ++at;
  name_ = rest_.substr(name, at - name);
  while (at < rest_.size() && is_space(rest_[at])) ++at;
  value_ = {};
  has_value_ = at < rest_.size() && rest_[at] == '=';
  if (has_value_) {
    ++at;
    while (at < rest_.size() && is_space(rest_[at])) ++at;
    if (at < rest_.size() && (rest_[at] == '"' || rest_[at] == '\'')) {
      const char quote = rest_[at++];
      const std::size_t close = std::min(rest_.find(quote, at), rest_.size());
      value_ = rest_.substr(at, close - at);
      at = std::min(close + 1, rest_.size());
    } else {
      const std::size_t value = at;
      while (at < rest_.size() && !is_space(rest_[at])) ++at;
      value_ = rest_.substr(value, at - value);
    }
  }
  rest_.remove_prefix(at);
  return true;
}

}  // namespace feedmill
