#include "parsers/markup/sanitise.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "parsers/markup/html_policy.hpp"
#include "parsers/markup/html_tokenizer.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_depth = 128;
constexpr std::size_t max_tag_attributes = 64;
constexpr std::size_t max_attribute_bytes = std::size_t{8} << 10;
constexpr std::size_t longest_entity = 40;

constexpr ByteSet special_in_text("&<>");
constexpr ByteSet opener("&<");
constexpr ByteSet special_in_value("&<>\"'`");

using Kind = HtmlToken::Kind;

// Appends a decoded character or entity with the three characters of SECURITY S7 escaped.
void append_escaped(std::string& out, std::string_view plain) {
  for (const char c : plain) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
}

// Appends one reference as its character and returns the number of bytes read; a lone "&" is literal.
std::size_t append_reference(std::string& out, std::string_view text) {
  if (const char c = predefined_entity(text); c != '\0') {
    append_escaped(out, {&c, 1});
    return predefined_length(c);
  }
  const Reference reference = read_reference(text);
  const bool known =
      reference.numeric || (!reference.value.empty() && (reference.closed || is_legacy_entity(reference.name)));
  if (reference.length == 0 || !known) {
    out += "&amp;";
    return 1;
  }
  if (!reference.numeric) {
    append_escaped(out, reference.value);
  } else if (reference.code != 0) {
    std::string character;
    append_utf8(character, reference.code);
    append_escaped(out, character);
  }
  return reference.length;
}

// Appends text with references decoded and the three characters of SECURITY S7 escaped.
void append_text(std::string& out, std::string_view text) {
  std::size_t start = 0;
  for (std::size_t at = special_in_text.find_in(text); at != npos; at = special_in_text.find_in(text, at)) {
    out.append(text.substr(start, at - start));
    if (text[at] == '&') {
      at += append_reference(out, text.substr(at));
    } else {
      out += text[at] == '<' ? "&lt;" : "&gt;";
      ++at;
    }
    start = at;
  }
  out.append(text.substr(start));
}

// Appends a reference as policy classic keeps it: as written, unless windows-1252 repairs it.
void append_kept_reference(std::string& out, std::string_view written, const Reference& reference) {
  if (!reference.numeric) {
    out += written;
  } else if (written == "&#39;" || written == "&#34;") {
    out += written == "&#39;" ? '\'' : '"';
  } else if (reference.repaired) {
    constexpr char digits[] = "0123456789abcdef";
    if (reference.code == 0) return;
    std::string hex;
    for (std::uint32_t code = reference.code; code != 0; code >>= 4) hex.insert(hex.begin(), digits[code & 15]);
    out.append("&#x").append(hex).append(";");
  } else {
    out += lower(written);
  }
}

// append_text() for policy classic: references stay as written, as users of feedparser's output expect.
void append_classic_text(std::string& out, std::string_view text) {
  std::size_t start = 0;
  for (std::size_t at = opener.find_in(text); at != npos; at = opener.find_in(text, at)) {
    out.append(text.substr(start, at - start));
    std::size_t length = 1;
    const Reference reference = text[at] == '&' ? read_reference(text.substr(at)) : Reference{};
    if (text[at] == '<') {
      out += "&lt;";
    } else if (reference.length == 0 || !reference.closed || (!reference.numeric && reference.value.empty())) {
      out += "&amp;";
    } else {
      length = reference.length;
      append_kept_reference(out, text.substr(at, length), reference);
    }
    at += length;
    start = at;
  }
  out.append(text.substr(start));
}

// Appends a decoded attribute value, escaped as in SECURITY S7.
void append_attribute_value(std::string& out, std::string_view value, bool classic) {
  std::size_t start = 0;
  for (std::size_t at = special_in_value.find_in(value); at != npos; at = special_in_value.find_in(value, at + 1)) {
    out.append(value.substr(start, at - start));
    start = at + 1;
    out += classic && value[at] == '\'' ? "'" : html_reference(value[at]);
  }
  out.append(value.substr(start));
}

bool listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (take_until(list, ' ') == word) return true;
  }
  return false;
}

// The longest prefix of `text` within `max` bytes that ends outside any character, and outside any reference of at most
// `longest` bytes.
std::string_view whole_prefix(std::string_view text, std::size_t max, std::size_t longest) {
  std::string_view kept = utf8_prefix(text, max);
  const std::size_t reference = kept.size() == text.size() ? npos : kept.rfind('&');
  if (reference != npos && kept.size() - reference < longest && kept.find(';', reference) == npos) {
    kept = kept.substr(0, reference);
  }
  return kept;
}

class Sanitiser {
 public:
  Sanitiser(std::string_view markup, const SanitiseOptions& options)
      : options_(options),
        classic_(options.policy == HtmlPolicy::classic),
        keep_(classic_ ? HtmlElement::classic : HtmlElement::strict),
        drop_(classic_ ? HtmlElement::drop_classic : HtmlElement::drop),
        limit_(std::min(options.max_bytes, 8 * markup.size() + 4096)),
        tokens_(markup) {
    result_.html.reserve(markup.size() + markup.size() / 16);
  }

  Sanitised run() {
    for (HtmlToken token = tokens_.next(); token.kind != Kind::end; token = tokens_.next()) {
      ++result_.steps;
      switch (token.kind) {
        case Kind::text:
          text(token.text);
          break;
        case Kind::cdata:
          cdata(token);
          break;
        case Kind::start_tag:
          if (token.closed) start_tag(token);
          break;
        case Kind::end_tag:
          if (token.closed) end_tag(token);
          break;
        case Kind::declaration:
          if (!token.closed) text(token.text);
          break;
        case Kind::comment:
          if (classic_ && token.closed) comment(token.text);
          break;
        default:
          break;
      }
      if (result_.truncated) break;
    }
    while (!open_.empty()) close_top();
    trim_in_place(result_.html);
    return std::move(result_);
  }

 private:
  std::string& out() { return result_.html; }

  // Bytes left for output, after reserving the end tags of all open elements.
  std::size_t room() const {
    const std::size_t taken = result_.html.size() + end_tags_;
    return taken < limit_ ? limit_ - taken : 0;
  }

  void text(std::string_view text) {
    if (text.size() > room()) {
      text = whole_prefix(text, room(), longest_entity);
      result_.truncated = true;
    }
    const std::size_t before = out().size();
    if (classic_ && !options_.xhtml) {
      append_classic_text(out(), text);
    } else {
      append_text(out(), text);
    }
    cut_text(before);
  }

  // Removes the part of the text that does not fit; the text begins at `before`.
  void cut_text(std::size_t before) {
    if (out().size() + end_tags_ <= limit_) return;
    const std::size_t most = limit_ - std::min(limit_, before + end_tags_);
    out().resize(before + whole_prefix(std::string_view(out()).substr(before), most, npos).size());
    result_.truncated = true;
  }

  void cdata(const HtmlToken& token) {
    if (!options_.xhtml) {
      // For HTML this is a comment, but publishers that wrap twice mean its content.
      if (!classic_) return text(token.text);
      constexpr std::string_view open = "&lt;![CDATA[", end = "]]>";
      if (open.size() + end.size() > room()) {
        result_.truncated = true;
        return;
      }
      out() += open;
      end_tags_ += end.size();
      text(token.text);
      end_tags_ -= end.size();
      out() += end;
      return;
    }
    plain_text(token.text);
  }

  // Policy classic keeps comments, as feedparser does, if every reader ends them at the same place and no old browser
  // takes them for a conditional comment. Elements that cannot contain comments are excluded: browsers show the comment
  // as text there, and an end tag inside it ends the element.
  void comment(std::string_view whole) {
    if (in_text_only_ > 0) return;
    const std::string_view inside = whole.substr(4, whole.size() < 7 ? 0 : whole.size() - 7);
    const bool odd = whole.size() < 7 || inside.starts_with('>') || inside.starts_with("->") ||
                     inside.find("--") != npos || inside.ends_with('-') || inside.find("[if") != npos ||
                     inside.find("[endif") != npos;
    if (!odd && whole.size() <= room()) out() += whole;
  }

  void plain_text(std::string_view plain) {
    if (plain.size() > room()) {
      plain = utf8_prefix(plain, room());
      result_.truncated = true;
    }
    const std::size_t before = out().size();
    append_escaped(out(), plain);
    cut_text(before);
  }

  std::string_view local_name(std::string_view name) const {
    const std::size_t colon = options_.xhtml ? name.rfind(':') : npos;
    return colon == npos ? name : name.substr(colon + 1);
  }

  void start_tag(const HtmlToken& token) {
    const HtmlElement* element = find_html_element(local_name(token.name));
    if (element == nullptr) return;
    if (element->is(drop_)) return drop(*element, token);
    if (!element->is(keep_)) return;
    if (element->is(HtmlElement::text_only) && in_text_only_ > 0) return;
    if (element->is(HtmlElement::block)) end_implied(*element);
    if (open_.size() >= max_depth && !element->is(HtmlElement::empty)) {
      ++too_deep_[html_element_index(*element)];
      return;
    }
    const std::size_t before = out().size();
    const bool opens = !element->is(HtmlElement::empty) && !(options_.xhtml && token.self_closing);
    if (options_.xhtml) enter_base(token);
    out() += '<';
    out() += element->name;
    attributes(*element, token);
    out() += element->is(HtmlElement::empty) ? " />" : ">";
    if (!opens) {
      leave_base();
      if (!element->is(HtmlElement::empty)) out().append("</").append(element->name).append(">");
    }
    const std::size_t end_tag = opens ? element->name.size() + 3 : 0;  // </name>
    if (out().size() + end_tags_ + end_tag > limit_) {
      out().resize(before);
      result_.truncated = true;
    } else if (opens) {
      if (open_.empty()) open_.reserve(8);
      open_.push_back(element);
      end_tags_ += end_tag;
      ++open_count_[html_element_index(*element)];
      if (element->is(HtmlElement::text_only)) ++in_text_only_;
    }
  }

  // Enters the xml:base of inline markup (XML Base §3), which applies to the element and its content.
  void enter_base(const HtmlToken& token) {
    if (token.attributes.find("xml:base") == npos) return;
    HtmlAttributes source(token.attributes);
    for (std::size_t count = 0; source.next() && count < max_tag_attributes; ++count) {
      if (source.name() != "xml:base") continue;
      std::string value;
      append_decoded(value, utf8_prefix(source.value(), max_attribute_bytes), true);
      std::string base = this->base().resolve_safe(value);
      if (!url_scheme(base).empty() && base.size() <= limits::url) {
        bases_.emplace_back(open_.size(), UrlBase(std::move(base)));
      }
      return;
    }
  }

  // Drops the bases of elements that are no longer open.
  void leave_base() {
    while (!bases_.empty() && bases_.back().first >= open_.size()) bases_.pop_back();
  }

  const UrlBase& base() {
    if (!bases_.empty()) return bases_.back().second;
    if (!base_) base_.emplace(std::string(options_.base));
    return *base_;
  }

  // Closes elements with optional end tags (HTML §13.1.2.4): a block closes an open paragraph, an item the item before
  // it, and a table row or section the cells and rows before it.
  void end_implied(const HtmlElement& element) {
    if (classic_) return;
    const int level = table_level(element);
    std::size_t ended = open_.size();
    for (std::size_t i = open_.size(); i > 0; --i) {
      ++result_.steps;
      const HtmlElement& outer = *open_[i - 1];
      if (level > 0) {
        if (outer.name == "table") break;
        const int outer_level = table_level(outer);
        if (outer_level > 0 && outer_level <= level) ended = i - 1;
        continue;
      }
      if (outer.is(HtmlElement::cell)) break;
      const bool sibling = element.is(HtmlElement::item) && ends(element, outer);
      if (outer.name == "p" || sibling) ended = i - 1;
      if (sibling || (outer.name == "p" && !element.is(HtmlElement::item))) break;
      if (element.is(HtmlElement::item) && (outer.name == "ul" || outer.name == "ol" || outer.name == "dl")) break;
    }
    while (open_.size() > ended) close_top();
  }

  static int table_level(const HtmlElement& element) {
    if (element.name == "td" || element.name == "th") return 1;
    if (element.name == "tr") return 2;
    return element.name == "tbody" || element.name == "thead" || element.name == "tfoot" ? 3 : 0;
  }

  static bool ends(const HtmlElement& element, const HtmlElement& outer) {
    if (element.name == "dt" || element.name == "dd") return outer.name == "dt" || outer.name == "dd";
    return element.name == outer.name;
  }

  void end_tag(const HtmlToken& token) {
    const HtmlElement* element = find_html_element(local_name(token.name));
    if (classic_ && element != nullptr && element->is(drop_) && element->is(HtmlElement::raw_text))
      stray_end_ = out().size();
    if (element == nullptr || !element->is(keep_) || element->is(HtmlElement::empty)) return;
    const std::size_t index = html_element_index(*element);
    if (too_deep_[index] > 0) {
      --too_deep_[index];
      return;
    }
    if (open_count_[index] == 0) return;
    for (std::size_t i = open_.size(); i > 0; --i) {
      ++result_.steps;
      if (open_[i - 1] == element) {
        while (open_.size() >= i) close_top();
        return;
      }
      // An end tag inside a cell does not close elements opened outside the table.
      if (open_[i - 1]->is(HtmlElement::cell) && !element->is(HtmlElement::cell) && !element->is(HtmlElement::item)) {
        return;
      }
    }
  }

  void close_top() {
    out().append("</").append(open_.back()->name).append(">");
    end_tags_ -= open_.back()->name.size() + 3;
    --open_count_[html_element_index(*open_.back())];
    if (open_.back()->is(HtmlElement::text_only)) --in_text_only_;
    open_.pop_back();
    leave_base();
  }

  void attributes(const HtmlElement& element, const HtmlToken& token) {
    if (token.attributes.empty()) return;
    kept_.clear();
    kept_.reserve(4);
    HtmlAttributes source(token.attributes);
    for (std::size_t count = 0; source.next() && count < max_tag_attributes; ++count) {
      std::string name = lower(source.name().substr(0, 64));
      const bool known = classic_ ? is_classic_attribute(name)
                                  : name == "title" || name == "lang" || name == "dir" ||
                                        listed(element.attributes, name) || (name == "class" && options_.keep_class);
      if (!known) continue;
      const bool twice = std::any_of(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.first == name; });
      if (twice) continue;
      std::string value;
      append_decoded(value, utf8_prefix(source.value(), max_attribute_bytes), true);
      if (!clean_html_attribute(options_.policy, element, name, value, source.has_value(), base())) continue;
      kept_.emplace_back(std::move(name), std::move(value));
    }
    if (classic_) std::sort(kept_.begin(), kept_.end());
    for (const auto& [name, value] : kept_) {
      out().append(" ").append(name).append("=\"");
      append_attribute_value(out(), value, classic_);
      out() += '"';
    }
  }

  // Skips an element with its content, leaving a link to an embedded resource (SECURITY S1).
  void drop(const HtmlElement& element, const HtmlToken& token) {
    if (stray_end_ && element.is(HtmlElement::raw_text)) {
      // feedparser counts tags: after a surplus end tag it lets the content of the next such element through, as text.
      if (trim(std::string_view(out()).substr(*stray_end_)).empty()) out().resize(*stray_end_);
      stray_end_.reset();
      return;
    }
    bool linked = embed_link(element, token);
    if (element.is(HtmlElement::empty) ||
        (token.self_closing && (options_.xhtml || !element.is(HtmlElement::raw_text)))) {
      return;
    }
    if (element.is(HtmlElement::raw_text)) {
      if (element.name == "plaintext") return;
      tokens_.skip_raw_text(element.name);
      tokens_.next();  // its end tag
      return;
    }
    std::size_t depth = 1;
    for (HtmlToken inner = tokens_.next(); inner.kind != Kind::end; inner = tokens_.next()) {
      if (inner.kind != Kind::start_tag && inner.kind != Kind::end_tag) continue;
      const HtmlElement* found = find_html_element(local_name(inner.name));
      if (found == nullptr) continue;
      if (found == &element) {
        if (inner.kind == Kind::end_tag) {
          if (--depth == 0) return;
        } else if (!inner.self_closing) {
          ++depth;
        }
      }
      if (inner.kind != Kind::start_tag) continue;
      if (!linked && element.name == "object") linked = embed_link(*found, inner);
      if (found->is(HtmlElement::raw_text) && !inner.self_closing) tokens_.skip_raw_text(found->name);
    }
  }

  bool embed_link(const HtmlElement& element, const HtmlToken& token) {
    if (classic_ || !element.is(HtmlElement::embeds)) return false;
    HtmlAttributes source(token.attributes);
    const std::string_view wanted = element.name == "object" ? "data" : "src";
    for (std::size_t count = 0; source.next() && count < max_tag_attributes; ++count) {
      if (!iequals(source.name(), wanted)) continue;
      std::string value;
      append_decoded(value, utf8_prefix(source.value(), max_attribute_bytes), true);
      const std::string url = clean_html_url(options_.policy, value, base(), false);
      if (url.empty() || 12 * url.size() + 15 > room()) return false;  // <a href="…">…</a>
      out() += "<a href=\"";
      append_attribute_value(out(), url, false);
      out() += "\">";
      plain_text(url);
      out() += "</a>";
      return true;
    }
    return false;
  }

  const SanitiseOptions& options_;
  const bool classic_;
  const HtmlElement::Flag keep_, drop_;
  const std::size_t limit_;
  HtmlTokenizer tokens_;
  Sanitised result_;
  std::optional<std::size_t> stray_end_;  // classic: where a script or style end tag without a start tag was
  std::vector<const HtmlElement*> open_;
  std::vector<std::pair<std::string, std::string>> kept_;
  std::vector<std::pair<std::size_t, UrlBase>> bases_;  // the number of elements open around it, and the base
  std::optional<UrlBase> base_;                         // the base from the options, parsed when needed
  std::size_t end_tags_ = 0;                            // bytes of the end tags of all open elements
  std::size_t in_text_only_ = 0;                        // number of open text_only elements
  std::array<std::uint32_t, max_html_elements> open_count_{}, too_deep_{};
};

}  // namespace

Sanitised sanitise(std::string_view markup, const SanitiseOptions& options) {
  if (special_in_text.find_in(markup) == npos) {
    Sanitised plain;
    const std::string_view text = trim(markup);
    plain.html = utf8_prefix(text, options.max_bytes);
    plain.truncated = plain.html.size() < text.size();
    return plain;
  }
  return Sanitiser(markup, options).run();
}

bool looks_like_html(std::string_view text) {
  bool evidence = false;
  for (std::size_t at = opener.find_in(text); at != npos; at = opener.find_in(text, at + 1)) {
    if (text[at] == '&') {
      const Reference reference = read_reference(text.substr(at));
      if (reference.length == 0 || !reference.closed) continue;
      if (!reference.numeric && reference.value.empty()) return false;
      evidence = true;
      continue;
    }
    std::size_t name = at + 1;
    const bool closing = name < text.size() && text[name] == '/';
    if (closing) ++name;
    std::size_t end = name;
    while (end < text.size() && (is_alnum(text[end]) || text[end] == '_')) ++end;
    if (end == name) continue;
    const HtmlElement* element = find_html_element(text.substr(name, end - name));
    if (element == nullptr || !(element->is(HtmlElement::strict) || element->is(HtmlElement::classic))) return false;
    if (closing && end < text.size() && text[end] == '>') evidence = true;
  }
  return evidence;
}

}  // namespace feedmill
