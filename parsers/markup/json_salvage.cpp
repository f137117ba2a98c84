#include "parsers/markup/json_salvage.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

// Characters that a string cannot hold unescaped, or that may end it.
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
  // What may come next in the innermost object or array.
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

  // Prepares for a value after a key without a colon; false for a member without a key, which is dropped.
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
      ++skipped_;  // an object as a key: dropped with its content
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

  // A number, a literal, or a name without quotes.
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

  // RFC 8259 §6; readers reject a number that does not fit in a double.
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
    double value = 0;
    return at == word.size() && word.size() < 64 &&
           std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc();
  }

  std::string_view text_;
  std::size_t max_depth_, max_bytes_;
  std::size_t at_ = 0, skipped_ = 0;
  std::string out_, outer_key_, item_key_;
  std::vector<char> open_;
  Expect expect_ = Expect::value;
  bool more_ = false, done_ = false;
  bool in_scalar_ = false;  // the text ended within the last scalar
};

}  // namespace

SalvagedJson salvage_json(std::string_view text, std::size_t max_depth, std::size_t max_bytes) {
  return JsonSalvager(text, max_depth, max_bytes).run();
}

}  // namespace feedmill
