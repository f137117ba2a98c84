#include "parsers/lists/opml.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>

#include "parsers/text/allowance.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_broken_places = 100;
constexpr std::size_t max_uri = 256;                          // of a namespace; stored with each feed that uses it
constexpr std::size_t max_value = limits::description;        // per attribute
constexpr std::size_t max_attribute_bytes = limits::summary;  // per outline

/// OPML's own attributes; exporters write them in any case.
constexpr std::array<std::string_view, 12> known_attributes = {"text",    "title",       "type",      "xmlUrl",
                                                               "htmlUrl", "description", "language",  "category",
                                                               "version", "created",     "isComment", "isBreakpoint"};

std::string spelled(std::string_view name) {
  for (const std::string_view known : known_attributes) {
    if (iequals(name, known)) return std::string(known);
  }
  return std::string(name);
}

constexpr bool ends_name(char c) {
  return is_space(c) || c == '>' || c == '/' || c == '=' || c == '<' || c == '"' || c == '\'';
}

/// Whether `text`, which begins with '<', is the next tag of a list rather than markup inside a value.
bool looks_like_tag(std::string_view text) {
  constexpr std::array<std::string_view, 5> tags = {"<outline", "</outline", "</body", "</opml", "<!--"};
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) { return istarts_with(text, tag); });
}

/// Whether the text after a quote allows that quote to close a value: the tag's end, or another attribute. Exporters
/// forget to escape quotes; this distinguishes quotes inside a description from closing ones. Examines 256 bytes.
bool may_follow_value(std::string_view text) {
  text = text.substr(0, 256);
  const auto skip_space = [&] {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  };
  skip_space();
  if (text.empty() || text.front() == '>') return true;
  if (text.front() == '/') {
    text.remove_prefix(1);
    skip_space();
    return text.starts_with('>');
  }
  const auto in_name = [](char c) {
    return is_alnum(c) || c == '_' || c == '-' || c == ':' || c == '.' || !is_ascii(c);
  };
  if (!in_name(text.front())) return false;
  while (!text.empty() && in_name(text.front())) text.remove_prefix(1);
  skip_space();
  return text.starts_with('=');
}

/// A name shortened for messages: hostile ones have megabytes.
std::string shortened(std::string_view name) {
  return std::string(utf8_prefix(name, 64));
}

std::size_t count_not_ascii(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_ascii(c); }));
}

/// Walks over the tags of a document, tracks open elements and collects rows and problems.
class OpmlScanner {
 public:
  OpmlScanner(std::string_view text, Allowance allowance) : text_(text), allowance_(allowance) {}

  Opml scan() {
    while (at_ < text_.size() && !full_) {
      if (allowance_.out_of_memory()) {
        broken(line(), "it has more elements than its length allows: the rest was not read");
        full_ = true;
        break;
      }
      const std::size_t open = text_.find('<', at_);
      if (open == std::string_view::npos) break;
      at_ = open;
      markup();
    }
    finish();
    return std::move(opml_);
  }

 private:
  struct Tag {
    std::string_view name;
    OpmlAttributes attributes;
    std::vector<std::size_t> by_name;  ///< indexes of the attributes, sorted by name
    std::size_t bytes = 0;             ///< total size of the names and values
    bool empty = false;                ///< <outline/>
  };

  struct Open {
    std::string_view name;
    std::size_t line;
    bool outline;  ///< it has an entry in folders_
  };
  static constexpr std::size_t open_bytes = 3 * sizeof(Open) + 80;  // per open element, while both lists grow

  bool at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  /// The line of `offset`. Offsets must not decrease, which makes this linear over the whole document.
  std::size_t line_of(std::size_t offset) {
    if (offset > counted_to_) {
      line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_to_),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
      counted_to_ = offset;
    }
    return line_;
  }

  void broken(std::size_t line, std::string detail) {
    if (++broken_ > max_broken_places) return;
    opml_.problems.push_back({line, OpmlProblem::Kind::broken, std::move(detail)});
  }

  std::size_t line() { return line_of(at_); }

  /// Moves past the next `end`. If it is missing, reports that and moves past the opening's `skip` characters. `last`
  /// caches the last position of `end`, searched only once, so that many openings stay linear.
  void skip_past(std::string_view end, std::size_t skip, std::optional<std::size_t>& last, const char* what) {
    if (!last) last = text_.rfind(end);
    if (*last == std::string_view::npos || *last < at_ + skip) {
      broken(line(), std::string(what) + " that does not end");
      at_ += skip;
    } else {
      at_ = text_.find(end, at_ + skip) + end.size();
    }
  }

  void markup() {
    if (at("<!--")) {
      skip_past("-->", 4, last_comment_, "a comment");
    } else if (at("<![CDATA[")) {
      skip_past("]]>", 9, last_cdata_, "a CDATA section");
    } else if (at("<?")) {
      skip_past("?>", 2, last_instruction_, "a processing instruction");
    } else if (at("<!")) {
      skip_doctype();
    } else if (at("</")) {
      close_tag();
    } else if (at_ + 1 < text_.size() &&
               (is_alpha(text_[at_ + 1]) || text_[at_ + 1] == '_' || !is_ascii(text_[at_ + 1]))) {
      open_tag();
    } else {
      broken(line(), "a \"<\" that begins no tag");
      ++at_;
    }
  }

  /// Skips the doctype; an internal subset is never read (SECURITY T13).
  void skip_doctype() {
    bool subset = false;
    for (std::size_t i = at_ + 2; i < text_.size() && !endless_doctype_; ++i) {
      if (text_[i] == '[') subset = true;
      if (text_[i] == ']') subset = false;
      if (text_[i] == '>' && !subset) {
        at_ = i + 1;
        return;
      }
    }
    endless_doctype_ = true;
    broken(line(), "a declaration that does not end");
    at_ += 2;
  }

  std::string_view name_at(std::size_t begin) const {
    std::size_t end = begin;
    while (end < text_.size() && !ends_name(text_[end])) ++end;
    return text_.substr(begin, end - begin);
  }

  void close_tag() {
    const std::size_t begin = line();
    const std::string_view name = name_at(at_ + 2);
    at_ += 2 + name.size();
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] == '>') {
      ++at_;
    } else {
      broken(begin, "a closing tag without \">\"");
    }
    const auto open = open_names_.find(name);
    if (open == open_names_.end() || open->second == 0) {
      broken(begin, "</" + shortened(name) + "> closes nothing");
      return;
    }
    if (open_.back().name != name) {
      broken(begin, "</" + shortened(name) + "> while <" + shortened(open_.back().name) + "> of line " +
                        std::to_string(open_.back().line) + " is open");
      while (open_.back().name != name) pop();
    }
    pop();
  }

  void pop() {
    const auto open = open_names_.find(open_.back().name);
    if (--open->second == 0) open_names_.erase(open);
    allowance_.give_back(open_bytes);
    if (open_.back().outline) {
      if (folders_.size() == outlines_) folders_.pop_back();
      --outlines_;
    }
    open_.pop_back();
  }

  void open_tag() {
    const std::size_t begin = line();
    const std::size_t problems_before = broken_;
    Tag tag = read_tag(begin);
    if (broken_ == problems_before) check_prefixes(begin, tag);
    const bool outline = iequals(tag.name, "outline");
    if (open_.empty() && !seen_root_) {
      seen_root_ = true;
      if (!iequals(tag.name, "opml")) {
        broken(begin, "the root element is <" + shortened(tag.name) + ">, not <opml>");
      }
    }
    if (iequals(tag.name, "body") || outline) seen_body_ = true;
    std::string name;
    if (outline) name = read_outline(begin, tag);
    if (tag.empty) return;
    allowance_.take(open_bytes);
    open_.push_back({tag.name, begin, outline});
    ++open_names_[tag.name];
    if (outline) {
      ++outlines_;
      // Names beyond the limit are not kept, because no row that deep is read.
      if (outlines_ <= max_opml_depth) folders_.push_back(std::move(name));
    }
  }

  /// Reads from "<name" past ">", or to where the tag breaks off. Keeps the complete attributes.
  Tag read_tag(std::size_t begin) {
    Tag tag;
    tag.name = name_at(at_ + 1);
    at_ += 1 + tag.name.size();
    for (;;) {
      const std::size_t before = at_;
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (at_ >= text_.size()) {
        broken(begin, "the file ends inside <" + shortened(tag.name) + ">");
        return tag;
      }
      if (text_[at_] == '>') {
        ++at_;
        return tag;
      }
      if (at("/>")) {
        at_ += 2;
        tag.empty = true;
        return tag;
      }
      if (text_[at_] == '<') {
        broken(begin, "<" + shortened(tag.name) + "> without \">\"");
        return tag;
      }
      if (before == at_) broken(line(), "no space between attributes");
      if (!read_attribute(tag)) return tag;
    }
  }

  /// False if the tag breaks off here.
  bool read_attribute(Tag& tag) {
    const std::size_t begin = line();
    const std::string_view name = name_at(at_);
    if (name.empty()) {
      broken(begin, std::string("a stray ") + text_[at_] + " in <" + shortened(tag.name) + ">");
      ++at_;
      return true;
    }
    at_ += name.size();
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ >= text_.size()) return true;
    if (text_[at_] != '=') {
      broken(begin, "attribute " + shortened(name) + " without a value");
      return true;
    }
    ++at_;
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ >= text_.size()) return true;
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') {
      broken(begin, "attribute " + shortened(name) + " without quotes");
      const std::size_t from = at_;
      while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '>' && text_[at_] != '<') ++at_;
      keep(tag, begin, name, decoded(begin, text_.substr(from, at_ - from)));
      return true;
    }
    const std::size_t from = ++at_;
    const Closing closing = closing_quote(from, quote);
    at_ = closing.at;
    if (!closing.found) {
      broken(begin, at_ >= text_.size() ? "the file ends inside attribute " + shortened(name)
                                        : "attribute " + shortened(name) + " without its closing quote");
      return false;
    }
    const std::string_view raw = text_.substr(from, at_ - from);
    if (raw.find('<') != std::string_view::npos) {
      broken(begin, "an unescaped \"<\" in attribute " + shortened(name));
    } else if (raw.find(quote) != std::string_view::npos) {
      broken(begin, "an unescaped quote in attribute " + shortened(name));
    }
    keep(tag, begin, name, decoded(begin, raw));
    ++at_;
    return true;
  }

  struct Closing {
    std::size_t at;  ///< position of the quote; if not found, the end of the search: the next tag or the end of text
    bool found;
  };

  /// The quote that closes the value beginning at `from`: the first one that may_follow_value() accepts, ignoring
  /// quotes in markup inside the value; if there is none, the first quote.
  Closing closing_quote(std::size_t from, char quote) {
    // An earlier search found no closing quote before this position; remembering it keeps all searches together linear.
    std::size_t& none_before = quote == '"' ? no_double_quote_before_ : no_single_quote_before_;
    std::optional<std::size_t> first;
    bool inside_markup = false;
    std::size_t i = from;
    for (; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '<') {
        if (looks_like_tag(text_.substr(i))) break;
        inside_markup = i + 1 < text_.size() && (is_alpha(text_[i + 1]) || text_[i + 1] == '/');
      } else if (c == '>') {
        inside_markup = false;
      } else if (c == quote) {
        if (!first) first = i;
        if (from < none_before) return {*first, true};
        if (!inside_markup && may_follow_value(text_.substr(i + 1))) return {i, true};
      }
    }
    none_before = std::max(none_before, i);
    return first ? Closing{*first, true} : Closing{i, false};
  }

  void keep(Tag& tag, std::size_t begin, std::string_view name, std::string value) {
    if (name.starts_with("xmlns:") && name.size() > 6) {
      const std::string prefix(name.substr(6));
      if (prefix.size() > limits::word || value.size() > max_uri) return;
      if (!prefixes_.emplace(prefix, value).second) return;
      allowance_.take(3 * (prefix.size() + value.size()) + 400);
      opml_.namespaces.emplace_back(prefix, std::move(value));
      return;
    }
    if (iequals(name, "xmlns")) return;
    std::string known = spelled(name);
    const auto before = [&](std::size_t index, const std::string& other) {
      return tag.attributes[index].first < other;
    };
    const auto same = std::lower_bound(tag.by_name.begin(), tag.by_name.end(), known, before);
    if (same != tag.by_name.end() && tag.attributes[*same].first == known) {
      broken(begin, "attribute " + shortened(known) + " twice");
      return;
    }
    // Nothing beyond SECURITY §3 is kept, because the kept attributes are read at each fetch.
    if (tag.attributes.size() >= 256 || known.size() > limits::word) return;
    if (value.size() > max_value) {
      value.resize(utf8_prefix(value, max_value).size());
      value.shrink_to_fit();
    }
    tag.bytes += known.size() + value.size();
    if (tag.bytes > max_attribute_bytes && known != "xmlUrl") return;
    tag.by_name.insert(same, tag.attributes.size());
    tag.attributes.emplace_back(std::move(known), std::move(value));
  }

  /// Decodes references; line breaks and tabs become spaces (XML 1.0 §3.3.3).
  std::string decoded(std::size_t begin, std::string_view raw) {
    std::string value;
    value.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size();) {
      const char c = raw[i];
      if (c != '&') {
        value += is_space(c) ? ' ' : c;
        ++i;
        continue;
      }
      const Reference reference = read_reference(raw.substr(i));
      const bool means_something =
          reference.length > 0 && reference.closed && (reference.numeric || !reference.value.empty());
      if (!means_something) {
        broken(begin, "an unescaped \"&\"");
        value += c;
        ++i;
        continue;
      }
      if (reference.numeric) {
        if (reference.code != 0) append_utf8(value, reference.code);
      } else {
        value += reference.value;
      }
      i += reference.length;
    }
    return value;
  }

  void check_prefixes(std::size_t begin, const Tag& tag) {
    for (const auto& [name, value] : tag.attributes) {
      const std::size_t colon = name.find(':');
      if (colon == std::string::npos || name.starts_with("xml:")) continue;
      if (!prefixes_.contains(name.substr(0, colon))) {
        broken(begin, "prefix " + shortened(name.substr(0, colon)) + " is not declared");
        return;
      }
    }
  }

  /// Adds a row if the outline is a feed. Returns the outline's name as a folder.
  std::string read_outline(std::size_t begin, Tag& tag) {
    const auto find = [&](std::string_view name) {
      return std::find_if(tag.attributes.begin(), tag.attributes.end(),
                          [&](const auto& attribute) { return iequals(attribute.first, name); });
    };
    const auto value = [&](std::string_view name) {
      const auto found = find(name);
      return found == tag.attributes.end() ? std::string() : found->second;
    };
    std::string name(trim(value("text")));
    if (name.empty()) name = trim(value("title"));
    name = utf8_prefix(name, limits::category);  // repeated in each row inside the outline
    const std::string type = lower(trim(value("type")));
    const bool is_feed = type == "rss" || type == "atom";
    auto address = find("xmlUrl");
    if (address == tag.attributes.end() && is_feed) address = find("url");
    const bool has_address = address != tag.attributes.end();
    if (!has_address && !is_feed) return name;
    if (++rows_ > max_opml_rows) {
      broken(begin, "more than " + std::to_string(max_opml_rows) + " feeds: the rest was not read");
      full_ = true;
      return name;
    }
    std::string url(has_address ? trim(address->second) : std::string_view{});
    if (!has_address) {
      refuse(begin, "type is \"" + type + "\" but xmlUrl is missing");
    } else if (url.empty()) {
      refuse(begin, "xmlUrl is empty");
    } else if (outlines_ >= max_opml_depth) {
      refuse(begin, "nested deeper than " + std::to_string(max_opml_depth) + " outlines");
    } else {
      tag.attributes.erase(address);
      std::vector<std::string> folders;
      std::copy_if(folders_.begin(), folders_.end(), std::back_inserter(folders),
                   [](const std::string& folder) { return !folder.empty(); });
      // Times three: a row is turned into a feed and deduplicated. Its URL is kept in two forms; one takes three
      // characters per non-ASCII byte.
      allowance_.take(3 * sizeof(OpmlRow) + url.size() + 2 * count_not_ascii(url));
      allowance_.take(url);
      for (const std::string& folder : folders) allowance_.take(2 * sizeof(std::string) + folder.size());
      for (const auto& [key, held] : tag.attributes) {
        allowance_.take_one_more<OpmlAttributes::value_type>();
        allowance_.take(key);
        allowance_.take(held);
      }
      opml_.rows.push_back({begin, std::move(url), std::move(folders), std::move(tag.attributes)});
    }
    return name;
  }

  void refuse(std::size_t line, std::string detail) {
    allowance_.take(4 * sizeof(OpmlProblem));  // the old and new lists coexist while growing, and the result
    allowance_.take(detail);
    opml_.problems.push_back({line, OpmlProblem::Kind::refused, std::move(detail)});
  }

  void finish() {
    if (full_) return;
    if (!seen_root_) {
      broken(line_of(text_.size()), "no element in it");
    } else if (!open_.empty()) {
      broken(line_of(text_.size()), "the file ends while <" + shortened(open_.back().name) + "> of line " +
                                        std::to_string(open_.back().line) + " is open");
    } else if (!seen_body_) {
      broken(line_of(text_.size()), "there is no <body>");
    }
  }

  std::string_view text_;
  Allowance allowance_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, counted_to_ = 0;
  std::vector<Open> open_;
  std::unordered_map<std::string_view, std::size_t> open_names_;  // open elements by name
  std::vector<std::string> folders_;                              // names of the open outlines, at most max_opml_depth
  std::size_t outlines_ = 0;                                      // number of open outlines
  std::size_t rows_ = 0, broken_ = 0;
  std::optional<std::size_t> last_comment_, last_cdata_, last_instruction_;
  std::size_t no_double_quote_before_ = 0, no_single_quote_before_ = 0;
  bool endless_doctype_ = false;
  bool seen_root_ = false, seen_body_ = false, full_ = false;
  std::map<std::string, std::string, std::less<>> prefixes_;
  Opml opml_;
};

}  // namespace

Opml read_opml(std::string_view bytes) {
  if (bytes.size() > max_opml_bytes) {
    Opml refused;
    refused.problems.push_back({1, OpmlProblem::Kind::broken, "larger than 64 MiB"});
    return refused;
  }
  const Decoded decoded = decode_document(bytes, "");
  Allowance allowance(bytes.size());
  allowance.take(decoded.text);
  return OpmlScanner(decoded.text, allowance).scan();
}

}  // namespace feedmill
