#include "parsers/markup/well_formed.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "parsers/text/entities.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

enum : unsigned char { name_start = 1, name_char = 2 };

constexpr std::array<unsigned char, 256> name_classes = [] {
  std::array<unsigned char, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || c >= 0x80;
    const bool more = (c >= '0' && c <= '9') || c == '-' || c == '.';
    classes[static_cast<std::size_t>(c)] =
        static_cast<unsigned char>((letter ? name_start | name_char : 0) | (more ? name_char : 0));
  }
  return classes;
}();

bool is_name_char(char c) {
  return (name_classes[static_cast<unsigned char>(c)] & name_char) != 0;
}
bool is_name_start(char c) {
  return (name_classes[static_cast<unsigned char>(c)] & name_start) != 0;
}

struct OpenElement {
  std::string_view name;
  std::size_t prefixes;  // number of prefixes bound outside the element
};

class Checker {
 public:
  Checker(std::string_view text, std::size_t max_tree_bytes)
      : text_(text), end_(text.data() + text.size()), at_(text.data()), max_tree_bytes_(max_tree_bytes) {}

  WellFormedness check() {
    if (prolog()) content();
    result_.tree_bytes = node_bytes * nodes_ + attribute_bytes * attribute_count_;
    return std::move(result_);
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  std::string_view rest() const { return {at_, left()}; }
  bool starts(std::string_view token) const { return rest().starts_with(token); }
  void skip_space() {
    while (at_ < end_ && is_space(*at_)) ++at_;
  }

  void report(Bozo bozo, std::string detail) {
    result_.bozo = bozo;
    result_.detail = std::move(detail);
    result_.offset = static_cast<std::size_t>(at_ - text_.data());
  }
  // Reports a nesting error and stops.
  bool fail(Bozo bozo, std::string detail) {
    report(bozo, std::move(detail));
    result_.nested = false;
    return false;
  }
  bool malformed(std::string detail) { return fail(Bozo::malformed_xml, std::move(detail)); }
  bool limit(std::string detail) {
    result_.limit = true;
    return fail(Bozo::truncated, std::move(detail));
  }
  // Reports an error that does not affect nesting; checking continues, and only the first is kept.
  void note(Bozo bozo, std::string detail) {
    if (result_.bozo == Bozo::none) report(bozo, std::move(detail));
  }

  bool another_node() {
    ++nodes_;
    if (nodes_ > max_elements) return limit("more than 1 000 000 elements and texts");
    if (node_bytes * nodes_ + attribute_bytes * attribute_count_ > max_tree_bytes_) {
      return limit("more elements and texts than its length allows");
    }
    return true;
  }

  bool skip_past(std::string_view token, const char* what) {
    const std::size_t found = rest().find(token);
    if (found == std::string_view::npos) return fail(Bozo::truncated, std::string(what) + " is not closed");
    at_ += found + token.size();
    return true;
  }

  std::string_view name() {
    const char* start = at_;
    if (at_ < end_ && is_name_start(*at_)) {
      while (at_ < end_ && is_name_char(*at_)) ++at_;
    }
    return {start, static_cast<std::size_t>(at_ - start)};
  }

  bool comment() {  // at "<!--"
    at_ += 4;
    const std::size_t found = rest().find("--");
    if (found == std::string_view::npos) return fail(Bozo::truncated, "a comment is not closed");
    at_ += found + 2;
    if (at_ == end_ || *at_ != '>') return malformed("\"--\" inside a comment");
    ++at_;
    return true;
  }

  bool instruction() {  // at "<?"
    at_ += 2;
    const std::string_view target = name();
    if (target.empty()) return malformed("a processing instruction has no name");
    if (iequals(target, "xml")) return malformed("an XML declaration that is not at the start");
    return skip_past("?>", "a processing instruction");
  }

  bool declaration() {  // at "<?xml"
    const std::size_t found = rest().find("?>");
    if (found == std::string_view::npos) return fail(Bozo::truncated, "the XML declaration is not closed");
    std::string_view inside = rest().substr(5, found - 5);
    at_ += found + 2;
    bool version = false;
    while (!trim(inside).empty()) {
      if (!is_space(inside.front())) return malformed("the XML declaration lacks a space");
      inside = trim(inside);
      const std::string_view key = trim(take_until(inside, '='));
      inside = trim(inside);
      if (inside.empty() || (inside.front() != '"' && inside.front() != '\'')) {
        return malformed("the XML declaration lacks a quote");
      }
      const char quote = inside.front();
      inside.remove_prefix(1);
      const std::size_t close = inside.find(quote);
      if (close == std::string_view::npos) return malformed("the XML declaration lacks a quote");
      const std::string_view value = inside.substr(0, close);
      inside.remove_prefix(close + 1);
      if (key == "version") {
        version = true;
      } else if (key == "standalone") {
        standalone_ = value == "yes";
      } else if (key != "encoding") {
        return malformed("the XML declaration holds something unknown");
      }
    }
    return version || malformed("the XML declaration has no version");
  }

  bool prolog() {
    if (starts("<?xml") && left() > 5 && is_space(at_[5]) && !declaration()) return false;
    for (;;) {
      skip_space();
      if (at_ == end_) return fail(Bozo::truncated, "the document has no element");
      if (*at_ != '<') return malformed("text before the first element");
      if (starts("<!--")) {
        if (!comment()) return false;
      } else if (starts("<?")) {
        if (!instruction()) return false;
      } else if (starts("<!DOCTYPE")) {
        if (!doctype()) return false;
      } else {
        return true;
      }
    }
  }

  bool doctype() {
    if (!result_.doctype.empty()) return malformed("a second document type declaration");
    at_ += 9;
    const char* start = at_;
    skip_space();
    if (at_ == start || name().empty()) return malformed("the document type has no name");
    bool subset = false;
    while (at_ < end_ && *at_ != '>') {
      if (*at_ == '"' || *at_ == '\'') {
        const char* close = find(*at_, at_ + 1, end_);
        if (close == end_) return fail(Bozo::truncated, "the document type is not closed");
        at_ = close + 1;
      } else if (*at_ == '[') {
        if (subset) return malformed("a second internal subset");
        subset = true;
        if (!internal_subset()) return false;
      } else {
        if (starts("SYSTEM") || starts("PUBLIC")) external_ = true;
        if (*at_ == '<') return malformed("\"<\" in the document type");
        ++at_;
      }
    }
    if (at_ == end_) return fail(Bozo::truncated, "the document type is not closed");
    result_.doctype = {start, static_cast<std::size_t>(at_ - start)};
    if (result_.doctype.empty()) result_.doctype = " ";
    ++at_;
    return true;
  }

  bool internal_subset() {  // at "["
    ++at_;
    while (at_ < end_ && *at_ != ']') {
      if (starts("<!--")) {
        if (!comment()) return false;
      } else if (starts("<?")) {
        if (!skip_past("?>", "a processing instruction")) return false;
      } else if (starts("<!")) {
        if (!markup_declaration()) return false;
      } else {
        if (*at_ == '%') external_ = true;  // a parameter entity may declare anything
        ++at_;
      }
    }
    if (at_ == end_) return fail(Bozo::truncated, "the internal subset is not closed");
    ++at_;
    return true;
  }

  bool markup_declaration() {
    const bool entity = starts("<!ENTITY");
    const char* start = at_;
    while (at_ < end_ && *at_ != '>') {
      if (*at_ == '"' || *at_ == '\'') {
        const char* close = find(*at_, at_ + 1, end_);
        if (close == end_) return fail(Bozo::truncated, "a declaration is not closed");
        at_ = close;
      }
      ++at_;
    }
    if (at_ >= end_) return fail(Bozo::truncated, "a declaration is not closed");
    if (entity) remember_entity({start + 8, static_cast<std::size_t>(at_ - start - 8)});
    ++at_;
    return true;
  }

  // Records every declared name, so that references to it are not errors; keeps only harmless texts for expansion.
  void remember_entity(std::string_view declaration) {
    const std::string_view entity_name = take_word(declaration);
    if (entity_name.empty() || entity_name == "%" || declared_.size() >= 1024) return;
    declared_.insert(entity_name);
    std::string_view value = trim(declaration);
    if (value.size() < 2 || (value.front() != '"' && value.front() != '\'') || value.back() != value.front()) return;
    value = value.substr(1, value.size() - 2);
    const std::size_t reference = value.find('&');
    const bool numeric = reference != std::string_view::npos &&
                         value.find('&', reference + 1) == std::string_view::npos &&
                         value.substr(reference).starts_with("&#");
    if (value.size() > 1024 || value.find('<') != std::string_view::npos) return;
    if (reference == std::string_view::npos || numeric) result_.entities.push_back({entity_name, value});
  }

  bool reference() {  // at "&"
    if (const char c = predefined_entity(rest()); c != '\0') {
      at_ += predefined_length(c);
      return true;
    }
    ++at_;
    if (at_ < end_ && *at_ == '#') {
      ++at_;
      const bool hex = at_ < end_ && *at_ == 'x';
      if (hex) ++at_;
      const char* digits = at_;
      std::uint32_t code = 0;
      while (at_ < end_ && (hex ? hex_value(*at_) >= 0 : is_digit(*at_))) {
        const auto digit = static_cast<std::uint32_t>(hex_value(*at_));
        code = std::min<std::uint32_t>(code * (hex ? 16 : 10) + digit, 0x110000);
        ++at_;
      }
      if (at_ == digits || at_ == end_ || *at_ != ';') return malformed("a numeric reference without end");
      const bool allowed =
          code >= 0x20 ? (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF && code <= 0x10FFFF
                       : code == '\t' || code == '\n' || code == '\r';
      ++at_;
      if (!allowed) note(Bozo::malformed_xml, "a reference to a character that XML forbids");
      return true;
    }
    const std::string_view entity_name = name();
    if (entity_name.empty() || at_ == end_ || *at_ != ';') return malformed("\"&\" that begins no reference");
    ++at_;
    if (declared_.contains(entity_name)) return true;
    if (!external_ || standalone_) note(Bozo::undefined_entity, std::string(utf8_prefix(entity_name, 64)));
    return true;
  }

  // The first `c` between `from` and `stop`, else `stop`.
  static const char* find(char c, const char* from, const char* stop) {
    const void* found = std::memchr(from, c, static_cast<std::size_t>(stop - from));
    return found == nullptr ? stop : static_cast<const char*>(found);
  }

  bool text() {
    const char* stop = find('<', at_, end_);
    const char* start = at_;
    skip_space();  // the tree leaves out white-space-only text
    if (at_ < stop && !another_node()) return false;
    at_ = start;
    for (at_ = find('&', at_, stop); at_ < stop;) {
      if (!reference()) return false;
      at_ = find_near(at_, stop, '&');  // the next one is usually near: escaped markup
    }
    if (at_ > stop) return malformed("\"&\" that begins no reference");
    at_ = start;
    if (next_bracket_ < start) next_bracket_ = find(']', start, end_);
    for (; next_bracket_ < stop; next_bracket_ = find(']', next_bracket_ + 1, end_)) {
      at_ = next_bracket_;
      if (starts("]]>")) return malformed("\"]]>\" outside a CDATA section");
    }
    at_ = stop;
    return true;
  }

  // Whether a comment or instruction without an end begins here.
  bool is_cut_remark() const {
    if (starts("<!--")) return rest().find("-->") == std::string_view::npos;
    return starts("<?") && rest().find("?>") == std::string_view::npos;
  }

  bool content() {
    bool seen_root = false;
    while (at_ < end_) {
      if (*at_ != '<') {
        if (!open_.empty()) {
          if (!text()) return false;
          continue;
        }
        skip_space();
        if (at_ < end_ && *at_ != '<') return malformed("text after the last element");
        continue;
      }
      const char next = left() > 1 ? at_[1] : '\0';
      if (open_.empty() && seen_root && is_cut_remark()) {
        note(Bozo::malformed_xml, "what follows the document is not closed");
        at_ = end_;
        break;
      }
      if (next == '/') {
        if (!end_tag()) return false;
      } else if (next == '!') {
        if (starts("<!--")) {
          if (!comment()) return false;
        } else if (!open_.empty() && starts("<![CDATA[")) {
          at_ += 9;
          if (!another_node() || !skip_past("]]>", "a CDATA section")) return false;
        } else {
          return malformed("a declaration inside the document");
        }
      } else if (next == '?') {
        if (!instruction()) return false;
      } else {
        if (open_.empty() && seen_root) return malformed("a second root element");
        seen_root = true;
        if (!start_tag()) return false;
      }
    }
    if (!open_.empty()) return fail(Bozo::truncated, "\"" + std::string(open_.back().name) + "\" is not closed");
    return true;
  }

  bool end_tag() {
    at_ += 2;
    const std::string_view closing = name();
    if (open_.empty() || open_.back().name.size() != closing.size() ||
        std::memcmp(open_.back().name.data(), closing.data(), closing.size()) != 0) {
      at_ -= 2 + closing.size();
      return malformed("</" + std::string(utf8_prefix(closing, 64)) + "> closes no open element");
    }
    skip_space();
    if (at_ == end_) return fail(Bozo::truncated, "an end tag is not closed");
    if (*at_ != '>') return malformed("something inside an end tag");
    ++at_;
    unbind(open_.back().prefixes);
    open_.pop_back();
    return true;
  }

  bool known_prefix(std::string_view prefix) {
    if (prefix == "xml") return true;
    // The same few prefixes recur: try the last one found first.
    if (last_found_ < prefixes_.size() && prefixes_[last_found_] == prefix) return true;
    if (prefixes_.size() > 32) {
      return bound_.contains(prefix);
    }
    for (std::size_t i = prefixes_.size(); i > 0; --i) {
      if (prefixes_[i - 1].size() == prefix.size() && prefixes_[i - 1] == prefix) {
        last_found_ = i - 1;
        return true;
      }
    }
    return false;
  }

  void unbind(std::size_t left) {
    for (; prefixes_.size() > left; prefixes_.pop_back()) {
      const auto bound = bound_.find(prefixes_.back());
      if (--bound->second == 0) bound_.erase(bound);
    }
  }

  void check_prefix(std::string_view qualified) {
    std::size_t colon = 0;
    while (colon < qualified.size() && qualified[colon] != ':') ++colon;
    if (colon == qualified.size()) return;
    const std::string_view prefix = qualified.substr(0, colon);
    if (prefix.empty() || colon + 1 == qualified.size() || qualified.find(':', colon + 1) != std::string_view::npos) {
      note(Bozo::undeclared_namespace, std::string(utf8_prefix(qualified, 64)) + " is not a qualified name");
    } else if (!known_prefix(prefix)) {
      note(Bozo::undeclared_namespace, std::string(utf8_prefix(prefix, 64)));
    }
  }

  bool start_tag() {
    ++at_;
    const std::string_view element = name();
    if (element.empty()) return malformed("\"<\" that begins no tag");
    if (!another_node()) return false;
    const std::size_t bound = prefixes_.size();
    attributes_.clear();
    for (;;) {
      const char* before = at_;
      skip_space();
      if (at_ == end_) return fail(Bozo::truncated, "a tag is not closed");
      if (*at_ == '>' || *at_ == '/') break;
      if (at_ == before) return malformed("attributes without space between them");
      if (!attribute()) return false;
    }
    if (prefixes_.size() - bound > max_prefixes) return limit("an element with more than 64 prefixes");
    check_prefix(element);
    if (!attributes_.empty()) {
      for (const std::string_view attribute : attributes_) {
        if (!attribute.starts_with("xmlns:")) check_prefix(attribute);
      }
      if (!unique_attributes()) return malformed("an attribute given twice");
    }
    if (*at_ == '/') {
      ++at_;
      if (at_ == end_) return fail(Bozo::truncated, "a tag is not closed");
      if (*at_ != '>') return malformed("\"/\" inside a tag");
      unbind(bound);
    } else {
      if (open_.size() >= max_element_depth) return limit("elements nested deeper than 256");
      open_.push_back({element, bound});
    }
    ++at_;
    return true;
  }

  bool attribute() {
    const std::string_view attribute_name = name();
    if (attribute_name.empty()) return malformed("an attribute without name");
    skip_space();
    if (at_ == end_) return fail(Bozo::truncated, "a tag is not closed");
    if (*at_ != '=') return malformed("an attribute without value");
    ++at_;
    skip_space();
    if (at_ == end_) return fail(Bozo::truncated, "a tag is not closed");
    const char quote = *at_;
    if (quote != '"' && quote != '\'') return malformed("an attribute value without quotes");
    ++at_;
    const char* close = find(quote, at_, end_);
    if (close == end_) return fail(Bozo::truncated, "an attribute value is not closed");
    const std::string_view value(at_, static_cast<std::size_t>(close - at_));
    if (value.find('<') != std::string_view::npos) return malformed("\"<\" in an attribute value");
    for (at_ = find('&', at_, close); at_ < close; at_ = find('&', at_, close)) {
      if (!reference()) return false;
      if (at_ > close) return malformed("\"&\" that begins no reference");
    }
    at_ = close + 1;
    if (attributes_.size() >= max_attributes) return limit("an element with more than 256 attributes");
    attributes_.push_back(attribute_name);
    ++attribute_count_;
    if (attribute_name.size() < 5 || attribute_name[0] != 'x' || attribute_name[1] != 'm') return true;
    if (attribute_name == "xmlns") {
      remember_namespace({}, value);
    } else if (attribute_name.starts_with("xmlns:")) {
      remember_namespace(attribute_name.substr(6), value);
      prefixes_.push_back(attribute_name.substr(6));
      ++bound_[prefixes_.back()];
      if (value.empty()) note(Bozo::undeclared_namespace, std::string(attribute_name) + " is bound to nothing");
      if (value.find_first_of(" \n\t") != std::string_view::npos) {
        note(Bozo::undeclared_namespace, std::string(attribute_name) + " is bound to no URI");
      }
    }
    return true;
  }

  void remember_namespace(std::string_view prefix, std::string_view uri) {
    auto& known = result_.namespaces;
    if (known.size() < 256 && seen_prefixes_.insert(prefix).second) known.push_back({prefix, uri});
  }

  bool unique_attributes() {
    if (attributes_.size() < 2) return true;
    if (attributes_.size() <= 8) {
      for (std::size_t i = 1; i < attributes_.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (attributes_[i] == attributes_[j]) return false;
        }
      }
      return true;
    }
    std::sort(attributes_.begin(), attributes_.end());
    return std::adjacent_find(attributes_.begin(), attributes_.end()) == attributes_.end();
  }

  std::string_view text_;
  const char* end_;
  const char* at_;
  const char* next_bracket_ = text_.data();  // there is no "]" between the last checked text and here
  WellFormedness result_;
  bool external_ = false, standalone_ = false;
  std::size_t nodes_ = 0, attribute_count_ = 0, max_tree_bytes_;
  std::size_t last_found_ = 0;
  std::vector<OpenElement> open_;
  std::vector<std::string_view> prefixes_, attributes_;
  std::unordered_map<std::string_view, std::size_t> bound_;  // how often each prefix is in prefixes_
  std::unordered_set<std::string_view> declared_, seen_prefixes_;
};

}  // namespace

WellFormedness check_well_formed(std::string_view text, std::size_t max_tree_bytes) {
  return Checker(text, max_tree_bytes).check();
}

}  // namespace feedmill
