#include "parsers/salvage.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "parsers/entities.hpp"
#include "parsers/html_policy.hpp"
#include "parsers/html_tokenizer.hpp"
#include "parsers/strings.hpp"
#include "parsers/well_formed.hpp"

namespace feedmill {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr ByteSet special("&<>");
using Kind = HtmlToken::Kind;

std::string_view local_name(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == npos ? name : name.substr(colon + 1);
}

bool is_feed_root(std::string_view name) {
  constexpr std::string_view roots[] = {"rss", "feed", "rdf", "channel"};
  return std::any_of(std::begin(roots), std::end(roots), [&](std::string_view root) { return iequals(name, root); });
}

// Elements of feeds: their end tags are believed even when markup inside of them is left open.
bool is_structure(std::string_view qualified) {
  constexpr std::string_view names[] = {"item", "entry", "channel",   "rss",   "feed",
                                        "rdf",  "image", "textinput", "source"};
  const std::string_view name = local_name(qualified);
  return std::any_of(std::begin(names), std::end(names), [&](std::string_view known) { return iequals(name, known); });
}

// HTML elements without end tag that have no namesake in a feed.
bool is_void_html(std::string_view name) {
  constexpr std::string_view names[] = {"br", "hr", "img", "input", "wbr", "embed", "area", "col"};
  return std::any_of(std::begin(names), std::end(names), [&](std::string_view known) { return iequals(name, known); });
}

bool is_xml_name(std::string_view name) {
  if (name.empty() || (!is_alpha(name[0]) && name[0] != '_' && is_ascii(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_alnum(c) || c == '_' || c == ':' || c == '-' || c == '.' || !is_ascii(c);
  });
}

// Text whose references stay and whose other "&" and "<" are escaped.
void append_text(std::string& out, std::string_view text) {
  std::size_t start = 0;
  for (std::size_t at = special.find_in(text); at != npos; at = special.find_in(text, at + 1)) {
    out.append(text.substr(start, at - start));
    start = at + 1;
    if (text[at] == '<') {
      out += "&lt;";
    } else if (text[at] == '>') {
      out += "&gt;";
    } else {
      const Reference reference = read_reference(text.substr(at));
      out += reference.length != 0 && reference.closed ? "&" : "&amp;";
      if (reference.closed && reference.name.starts_with("#X")) {  // XML knows the small x only
        out += "#x";
        start += 2;
      }
    }
  }
  out.append(text.substr(start));
}

class Salvager {
 public:
  explicit Salvager(std::string_view text) : tokens_(text) { out_.reserve(text.size() + text.size() / 8); }

  std::string run() {
    bool begun = false;
    for (HtmlToken token = tokens_.next(); token.kind != Kind::end; token = tokens_.next()) {
      switch (token.kind) {
        case Kind::text:
          if (!open_.empty()) append_text(out_, token.text);
          break;
        case Kind::cdata:
          if (!open_.empty()) append_cdata(token.text);
          break;
        case Kind::start_tag:
          if (!open_.empty() || !begun) start_tag(token);
          begun = true;
          break;
        case Kind::end_tag:
          end_tag(token);
          break;
        case Kind::comment:
          if (!token.closed && !open_.empty()) append_text(out_, token.text);
          break;
        default:
          break;
      }
      if (begun && open_.empty()) break;
      if (elements_ > max_elements) break;
    }
    while (!open_.empty()) close_top();
    return std::move(out_);
  }

 private:
  void append_cdata(std::string_view text) { out_.append("<![CDATA[").append(text).append("]]>"); }

  void start_tag(const HtmlToken& token) {
    if (!token.closed && !token.attributes.empty()) return;
    if (!is_xml_name(token.name)) {
      append_text(out_, token.text);
      return;
    }
    ++elements_;
    // An item inside an item: the first was not closed.
    if (iequals(token.name, "item") || iequals(token.name, "entry")) close_open(token.name);
    const bool empty = token.self_closing || is_void_html(token.name);
    if (!empty && open_.size() >= max_element_depth) {
      ++too_deep_;
      return;
    }
    out_.append("<").append(token.name);
    attributes(token);
    out_ += empty ? "/>" : ">";
    if (empty) return;
    open_.push_back(token.name);
    ++count_[token.name];
  }

  void attributes(const HtmlToken& token) {
    names_.clear();
    HtmlAttributes source(token.attributes);
    while (source.next() && names_.size() < max_attributes) {
      std::string_view name = source.name();
      if (!is_xml_name(name) || std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      names_.push_back(name);
      out_.append(" ").append(name).append("=\"");
      std::string value;
      append_text(value, source.value());
      for (const char c : value) {
        if (c == '"') {
          out_ += "&quot;";
        } else {
          out_ += c;
        }
      }
      out_ += '"';
    }
  }

  void end_tag(const HtmlToken& token) {
    const auto found = count_.find(token.name);
    if (found == count_.end() || found->second == 0) return;
    if (open_.back() == token.name) return close_top();
    // HTML left open inside of a feed's element is closed with it; an HTML end tag does not close a feed's element.
    for (std::size_t i = open_.size(); i > 0; --i) {
      if (open_[i - 1] == token.name) {
        while (open_.size() >= i) close_top();
        return;
      }
      if (!is_structure(token.name) && is_structure(open_[i - 1])) return;
    }
  }

  // Closes the innermost open element of that name with all inside of it, if it has siblings of its kind only.
  void close_open(std::string_view name) {
    const auto found = count_.find(name);
    if (found == count_.end() || found->second == 0) return;
    for (std::size_t i = open_.size(); i > 0; --i) {
      if (open_[i - 1] != name) continue;
      while (open_.size() >= i) close_top();
      return;
    }
  }

  void close_top() {
    out_.append("</").append(open_.back()).append(">");
    --count_[open_.back()];
    open_.pop_back();
  }

  HtmlTokenizer tokens_;
  std::string out_;
  std::vector<std::string_view> open_, names_;
  std::unordered_map<std::string_view, std::size_t> count_;
  std::size_t elements_ = 0, too_deep_ = 0;
};

}  // namespace

std::size_t find_feed_root(std::string_view text) {
  for (std::size_t at = text.find('<'); at != npos; at = text.find('<', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && end - at < 40 && (is_alnum(text[end]) || text[end] == ':' || text[end] == '_')) ++end;
    if (end > at + 1 && end < text.size() && (is_space(text[end]) || text[end] == '>') &&
        is_feed_root(local_name(text.substr(at + 1, end - at - 1)))) {
      return at;
    }
  }
  return npos;
}

std::string salvage(std::string_view text) {
  const std::size_t root = find_feed_root(text);
  return root == npos ? std::string{} : Salvager(text.substr(root)).run();
}

}  // namespace feedmill
