#include "parsers/markup/salvage.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <vector>

#include "parsers/markup/html_policy.hpp"
#include "parsers/markup/html_tokenizer.hpp"
#include "parsers/markup/well_formed.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr ByteSet references_and_tags("&<>");
using Kind = HtmlToken::Kind;

std::string_view local_name(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == npos ? name : name.substr(colon + 1);
}

bool is_feed_root(std::string_view name) {
  constexpr std::string_view roots[] = {"rss", "feed", "rdf", "channel"};
  return is_any_case_of(name, roots);
}

// Feed elements that contain other elements. Their end tags are trusted even if markup inside them is unclosed.
bool is_structure(std::string_view name) {
  constexpr std::string_view names[] = {"item", "entry", "channel",   "rss",   "feed",
                                        "rdf",  "image", "textinput", "source"};
  return is_any_case_of(local_name(name), names);
}

bool is_entry(std::string_view name) {
  constexpr std::string_view names[] = {"item", "entry"};
  return is_any_case_of(local_name(name), names);
}

// Elements that identify or sort entries.
bool is_name_or_date(std::string_view name) {
  constexpr std::string_view names[] = {"id",        "guid", "link",    "identifier", "pubdate", "updated",
                                        "published", "date", "created", "issued",     "modified"};
  return is_any_case_of(local_name(name), names);
}

std::string_view prefix_of(std::string_view name) {
  return name.substr(0, name.size() - local_name(name).size());
}

// Whether a direct child of an entry is the entry's definitive id, which no later element can replace.
bool names_for_good(std::string_view name, std::string_view entry) {
  return prefix_of(name) == prefix_of(entry) &&
         iequals(local_name(name), iequals(local_name(entry), "item") ? "guid" : "id");
}

// Elements that contain items.
bool is_container(std::string_view name) {
  constexpr std::string_view names[] = {"channel", "rss", "feed", "rdf", "items"};
  return is_any_case_of(local_name(name), names);
}

// Feed elements that hold text without markup …
bool is_leaf(std::string_view name) {
  constexpr std::string_view names[] = {"title",          "link",      "guid",      "id",       "pubdate",
                                        "lastbuilddate",  "updated",   "published", "language", "category",
                                        "managingeditor", "webmaster", "docs",      "comments", "creator",
                                        "date",           "copyright", "generator"};
  return is_any_case_of(local_name(name), names);
}

// … and the elements that end a leaf without an end tag.
bool ends_leaf(std::string_view name) {
  constexpr std::string_view names[] = {"item",    "entry",   "channel", "image",     "description",
                                        "summary", "content", "encoded", "enclosure", "author"};
  return is_leaf(name) || is_any_case_of(local_name(name), names);
}

// HTML elements without an end tag, except those with a name that a feed format uses.
bool is_void_html(std::string_view name) {
  constexpr std::string_view names[] = {"br", "hr", "img", "input", "wbr", "embed", "area", "col"};
  return is_any_case_of(name, names);
}

bool is_xml_name(std::string_view name) {
  if (name.empty() || (!is_alpha(name[0]) && name[0] != '_' && is_ascii(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_alnum(c) || c == '_' || c == ':' || c == '-' || c == '.' || !is_ascii(c);
  });
}

// Appends text, keeping references and escaping any other "&", "<" and ">". Stops once `out` exceeds `max_bytes`.
void append_text(std::string& out, std::string_view text, std::size_t max_bytes) {
  std::size_t start = 0;
  for (std::size_t at = references_and_tags.find_in(text); at != npos; at = references_and_tags.find_in(text, at + 1)) {
    if (out.size() > max_bytes) return;
    out.append(text.substr(start, at - start));
    start = at + 1;
    if (text[at] == '<') {
      out += "&lt;";
    } else if (text[at] == '>') {
      out += "&gt;";
    } else {
      const Reference reference = read_reference(text.substr(at));
      out += reference.length != 0 && reference.closed ? "&" : "&amp;";
      if (reference.closed && reference.name.starts_with("#X")) {  // XML allows only the small x
        out += "#x";
        start += 2;
      }
    }
  }
  out.append(text.substr(start));
}

class Salvager {
 public:
  Salvager(std::string_view text, std::size_t max_memory)
      : tokens_(text),
        max_bytes_(std::min(2 * text.size() + 65536, max_memory / 4)),
        max_memory_(max_memory),
        rewinds_left_(4 * text.size()) {
    out_.reserve(std::min(text.size() + text.size() / 16 + 4096, max_bytes_));
  }

  Salvaged run() {
    bool begun = false;
    for (HtmlToken token = tokens_.next(); token.kind != Kind::end; token = tokens_.next()) {
      switch (token.kind) {
        case Kind::text:
          ++nodes_;
          if (!open_.empty()) append_text(out_, token.text, max_bytes_);
          break;
        case Kind::cdata:
          ++nodes_;
          if (!open_.empty()) append_cdata(token.text);
          break;
        case Kind::start_tag:
          end_at_lost_quote(token);
          if (!open_.empty() || !begun) start_tag(token);
          begun = true;
          break;
        case Kind::end_tag:
          end_tag(token);
          break;
        case Kind::comment:
          if (!token.closed && !open_.empty()) append_text(out_, token.text, max_bytes_);
          break;
        default:
          break;
      }
      if (begun && open_.empty()) break;
      const std::size_t tree = node_bytes * nodes_ + attribute_bytes * attribute_count_;
      if (nodes_ > max_elements || out_.size() > max_bytes_ || 2 * out_.size() + tree > max_memory_) break;
    }
    Salvaged salvaged;
    salvaged.cut_short = !open_.empty();
    salvaged.in_entry = std::any_of(open_.begin(), open_.end(), is_entry);
    salvaged.in_name = salvaged.in_entry && (!named_ || std::any_of(open_.begin(), open_.end(), is_name_or_date));
    while (!open_.empty()) close_top();
    salvaged.text = std::move(out_);
    return salvaged;
  }

 private:
  void append_cdata(std::string_view text) { out_.append("<![CDATA[").append(text).append("]]>"); }

  // A value without its closing quote runs into the tags that follow. XML allows no "<" in values, so the tag ended at
  // the first ">", if that comes before any "<". Re-reading is budgeted, to stay linear.
  void end_at_lost_quote(HtmlToken& token) {
    const std::size_t next = token.attributes.find('<');
    if (next == npos || token.text.size() > rewinds_left_) return;
    const std::size_t end = token.attributes.substr(0, next).find('>');
    if (end == npos) return;
    rewinds_left_ -= token.text.size();
    const auto before = static_cast<std::size_t>(token.attributes.data() - token.text.data());
    token.attributes = token.attributes.substr(0, end);
    token.self_closing = false;  // a trailing "/" belongs to the value: the last value of a tag is usually a URL
    token.closed = true;
    tokens_.rewind(token.offset + before + end + 1);
  }

  void start_tag(const HtmlToken& token) {
    if (!token.closed && !token.attributes.empty()) return;
    if (!is_xml_name(token.name)) {
      append_text(out_, token.text, max_bytes_);
      return;
    }
    ++nodes_;
    close_unclosed(token.name);
    const bool empty = token.self_closing || is_void_html(token.name);
    if (!empty && open_.size() >= max_element_depth) {
      ++too_deep_;
      return;
    }
    out_.append("<").append(token.name);
    attributes(token);
    out_ += empty ? "/>" : ">";
    if (empty) return;
    if (is_entry(token.name)) {
      named_ = std::ranges::any_of(names_, [](std::string_view name) { return iequals(name, "rdf:about"); });
    }
    open_.push_back(token.name);
    ++count_[token.name];
  }

  void attributes(const HtmlToken& token) {
    names_.clear();
    HtmlAttributes source(token.attributes);
    while (source.next() && names_.size() < max_attributes) {
      std::string_view name = source.name();
      const auto at = std::lower_bound(names_.begin(), names_.end(), name);
      if (!is_xml_name(name) || (at != names_.end() && *at == name)) continue;
      names_.insert(at, name);
      ++attribute_count_;
      out_.append(" ").append(name).append("=\"");
      std::string value;
      append_text(value, source.value(), max_bytes_);
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
    // A feed element's end tag closes HTML that is open inside it; an HTML end tag does not close a feed element.
    for (std::size_t i = open_.size(); i > 0; --i) {
      if (open_[i - 1] == token.name) {
        while (open_.size() >= i) close_top();
        return;
      }
      if (!is_structure(token.name) && is_structure(open_[i - 1])) return;
    }
  }

  // Closes the elements that must have ended before `name`: a leaf before the next feed element, and before an item
  // everything inside its container.
  void close_unclosed(std::string_view name) {
    if (open_.empty()) return;
    if (is_leaf(open_.back()) && ends_leaf(name)) close_top();
    if (!iequals(name, "item") && !iequals(name, "entry")) return;
    std::size_t container = open_.size();
    while (container > 0 && !is_container(open_[container - 1])) --container;
    while (container > 0 && open_.size() > container) close_top();
  }

  void close_top() {
    out_.append("</").append(open_.back()).append(">");
    const std::string_view closed = open_.back();
    --count_[closed];
    open_.pop_back();
    if (is_entry(closed)) {
      named_ = false;  // unknown for the entry around it
    } else if (!open_.empty() && is_entry(open_.back()) && names_for_good(closed, open_.back())) {
      named_ = true;
    }
  }

  HtmlTokenizer tokens_;
  std::size_t max_bytes_, max_memory_, rewinds_left_;
  std::string out_;
  std::vector<std::string_view> open_;
  std::vector<std::string_view> names_;  // attribute names of the current element, sorted
  std::unordered_map<std::string_view, std::size_t> count_;
  std::size_t nodes_ = 0, attribute_count_ = 0, too_deep_ = 0;
  bool named_ = false;  // whether the most recent entry has its definitive id
};

}  // namespace

std::size_t find_feed_root(std::string_view text) {
  for (std::size_t at = text.find('<'); at != npos; at = text.find('<', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && end - at < 40 && (is_alnum(text[end]) || text[end] == ':' || text[end] == '_')) ++end;
    const std::string_view name = text.substr(at + 1, end - at - 1);
    if (end < text.size() && (is_space(text[end]) || text[end] == '>') && is_xml_name(name) &&
        is_feed_root(local_name(name))) {
      return at;
    }
  }
  return npos;
}

Salvaged salvage(std::string_view text, std::size_t max_memory) {
  const std::size_t root = find_feed_root(text);
  return root == npos ? Salvaged{} : Salvager(text.substr(root), max_memory).run();
}

namespace {

// Characters that a string cannot contain unescaped, or that may end it.
constexpr ByteSet string_stops(
    std::string_view("\x00\x01\x02\x03\x04\x05\x06\x07\b\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18"
                     "\x19\x1a\x1b\x1c\x1d\x1e\x1f\"'\\",
                     35));

class JsonSalvager {
 public:
  JsonSalvager(std::string_view text, std::size_t max_depth, std::size_t max_bytes)
      : text_(text), max_depth_(max_depth), max_bytes_(max_bytes) {
    out_.reserve(std::min(text.size() + text.size() / 16 + 64, max_bytes));
  }

  SalvagedJson run() {
    while (at_ < text_.size() && !done_ && out_.size() < max_bytes_) step();
    SalvagedJson salvaged;
    salvaged.cut_short = !open_.empty();
    salvaged.in_item = open_.size() > 2 && open_[0] == '{' && open_[1] == '[' && outer_key_ == "\"items\"";
    const bool name_or_date =
        item_key_ == "\"id\"" || item_key_ == "\"date_published\"" || item_key_ == "\"date_modified\"";
    salvaged.in_name = salvaged.in_item && open_.size() == 3 && name_or_date && in_scalar_;
    while (!open_.empty()) close(open_.back() == '{' ? '}' : ']');
    salvaged.text = std::move(out_);
    return salvaged;
  }

 private:
  // The token expected next in the innermost object or array.
  enum class Expect { value, key, colon };

  bool in_object() const { return !open_.empty() && open_.back() == '{'; }

  void step() {
    const char c = text_[at_];
    if (is_space(c) || c == ',') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && (text_[at_ + 1] == '/' || text_[at_ + 1] == '*')) {
      comment();
    } else if (c == ':') {
      ++at_;
      if (expect_ == Expect::colon) put_colon();
    } else if (c == '{' || c == '[') {
      ++at_;
      open(c);
    } else if (c == '}' || c == ']') {
      ++at_;
      if (skipped_ > 0) {
        --skipped_;
      } else if (!open_.empty()) {
        if ((c == '}') == (open_.back() == '{')) close(c);
      }
    } else if (c == '"' || c == '\'') {
      scalar(string(c));
    } else {
      scalar(bare());
    }
  }

  void comment() {
    const bool to_line_end = text_[at_ + 1] == '/';
    const std::size_t end = text_.find(to_line_end ? "\n" : "*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + (to_line_end ? 1 : 2);
  }

  void separate() {
    if (more_) out_ += ',';
    more_ = true;
  }

  void put_colon() {
    out_ += ':';
    expect_ = Expect::value;
  }

  // Prepares for a value, adding a missing colon after a key. False for a value without a key, which is dropped.
  bool ready_for_value() {
    if (expect_ == Expect::colon) put_colon();
    if (in_object()) return expect_ == Expect::value;
    separate();
    return true;
  }

  void open(char c) {
    if (skipped_ > 0 || open_.size() >= max_depth_) {
      if (skipped_ == 0 && ready_for_value()) {
        out_ += "null";
        if (in_object()) expect_ = Expect::key;
      }
      ++skipped_;
      return;
    }
    if (!ready_for_value()) {
      ++skipped_;  // an object in place of a key: dropped with its content
      return;
    }
    out_ += c;
    open_.push_back(c);
    more_ = false;
    expect_ = c == '{' ? Expect::key : Expect::value;
  }

  void close(char c) {
    if (in_object() && expect_ != Expect::key) out_ += expect_ == Expect::colon ? ":null" : "null";
    out_ += c;
    open_.pop_back();
    more_ = true;
    expect_ = in_object() ? Expect::key : Expect::value;
    done_ = open_.empty();
  }

  void scalar(const std::string& json) {
    if (skipped_ > 0) return;
    if (json.size() > max_bytes_ - std::min(out_.size(), max_bytes_)) {
      max_bytes_ = 0;  // stops the loop in run()
      return;
    }
    if (in_object() && expect_ == Expect::key) {
      separate();
      if (open_.size() == 1) outer_key_ = json;
      if (open_.size() == 3) item_key_ = json;
      if (json.front() == '"') {
        out_ += json;
      } else {
        out_.append("\"").append(json).append("\"");
      }
      expect_ = Expect::colon;
      return;
    }
    if (expect_ == Expect::colon) put_colon();
    if (!in_object()) separate();
    out_ += json;
    if (in_object()) expect_ = Expect::key;
    done_ = open_.empty();
  }

  std::string string(char quote) {
    std::string out = "\"";
    ++at_;
    while (at_ < text_.size()) {
      const std::size_t stop = std::min(string_stops.find_in(text_, at_), text_.size());
      out += text_.substr(at_, stop - at_);
      at_ = stop;
      if (at_ == text_.size() || text_[at_] == quote) break;
      const char c = text_[at_];
      if (c == '\\') {
        escape(out);
        continue;
      }
      if (c == '\n') {
        out += "\\n";
      } else if (c == '\t') {
        out += "\\t";
      } else if (c == '"') {
        out += "\\\"";
      } else if (c == '\'') {
        out += c;
      }  // other control characters are dropped
      ++at_;
    }
    in_scalar_ = at_ >= text_.size();
    ++at_;
    return out + '"';
  }

  int unicode_escape(std::size_t at) const {
    if (at + 6 > text_.size() || text_[at] != '\\' || text_[at + 1] != 'u') return -1;
    int code = 0;
    for (std::size_t i = at + 2; i < at + 6; ++i) {
      const int digit = hex_value(text_[i]);
      if (digit < 0) return -1;
      code = code * 16 + digit;
    }
    return code;
  }

  void escape(std::string& out) {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    const int code = unicode_escape(at_);
    if (code >= 0xD800 && code < 0xDC00) {
      const int low = unicode_escape(at_ + 6);
      const bool pair = low >= 0xDC00 && low < 0xE000;
      out += pair ? text_.substr(at_, 12) : std::string_view("\\ufffd");
      at_ += pair ? 12 : 6;
    } else if (code >= 0xDC00 && code < 0xE000) {
      out += "\\ufffd";
      at_ += 6;
    } else if (code >= 0) {
      out += text_.substr(at_, 6);
      at_ += 6;
    } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
      out += text_.substr(at_, 2);
      at_ += 2;
    } else {
      ++at_;  // a backslash that escapes nothing
      if (c != 'u' && c != '\'') out += "\\\\";
    }
  }

  // A number, a literal, or an unquoted word, as JSON.
  std::string bare() {
    const std::size_t start = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) &&
           std::string_view(",:{}[]\"'").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    in_scalar_ = at_ == text_.size();
    const std::string_view word = text_.substr(start, at_ - start);
    if (word == "true" || word == "false" || word == "null" || is_number(word)) return std::string(word);
    std::string out = "\"";
    for (const char c : word) {
      if (c == '\\') out += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
    return out + '"';
  }

  // RFC 8259 §6; readers reject an integer of more than 64 bits, and a number that does not fit in a double.
  static bool is_number(std::string_view word) {
    std::size_t at = word.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
      const std::size_t from = at;
      while (at < word.size() && is_digit(word[at])) ++at;
      return at - from;
    };
    const std::size_t first = at;
    const std::size_t whole = digits();
    if (whole == 0 || (whole > 1 && word[first] == '0')) return false;
    if (at < word.size() && word[at] == '.') {
      ++at;
      if (digits() == 0) return false;
    }
    if (at < word.size() && to_lower(word[at]) == 'e') {
      ++at;
      if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
      if (digits() == 0) return false;
    }
    if (at != word.size() || word.size() >= 64) return false;
    const auto fits = [&](auto value) {
      return std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc();
    };
    if (at == first + whole) return word[0] == '-' ? fits(std::int64_t()) : fits(std::uint64_t());
    return fits(double());
  }

  std::string_view text_;
  std::size_t max_depth_, max_bytes_;
  std::size_t at_ = 0, skipped_ = 0;
  std::string out_, outer_key_, item_key_;
  std::vector<char> open_;
  Expect expect_ = Expect::value;
  bool more_ = false, done_ = false;
  bool in_scalar_ = false;  // the text ends inside the last scalar
};

}  // namespace

SalvagedJson salvage_json(std::string_view text, std::size_t max_depth, std::size_t max_bytes) {
  return JsonSalvager(text, max_depth, max_bytes).run();
}

}  // namespace feedmill
