// Packs several values into one text.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "parsers/text/strings.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Writes words with one space between them, "-" for an empty word. A word must not contain a space.
class Packed {
 public:
  Packed& add(const std::string& word) { return append(word.empty() ? "-" : word); }
  Packed& add(Milliseconds time) { return append(std::to_string(time.count())); }
  Packed& add(std::integral auto number) { return append(std::to_string(number)); }
  Packed& add(double number) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 6).ptr;
    return append(std::string(digits, end));
  }
  std::string take() { return std::move(text_); }

 private:
  Packed& append(const std::string& word) {
    if (!text_.empty()) text_ += ' ';
    text_ += word;
    return *this;
  }
  std::string text_;
};

/// Reads what Packed has written. A missing or unreadable value leaves its variable unchanged.
class Unpacked {
 public:
  explicit Unpacked(std::string_view text) : rest_(text) {}
  Unpacked& take(std::string& word) {
    const std::string_view next_word = next();
    if (next_word != "-") word = next_word;
    return *this;
  }
  Unpacked& take(Milliseconds& time) {
    std::int64_t count = time.count();
    take_number(count);
    time = Milliseconds(count);
    return *this;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> Unpacked& take(Number& number) {
    take_number(number);
    return *this;
  }

 private:
  template <class Number>
  void take_number(Number& number) {
    read_number(next(), number);
  }
  std::string_view next() {
    const auto space = rest_.find(' ');
    const std::string_view word = rest_.substr(0, space);
    rest_ = space == std::string_view::npos ? std::string_view() : rest_.substr(space + 1);
    return word;
  }
  std::string_view rest_;
};

/// The remaining words, up to an empty one.
inline std::vector<std::string> read_words(Unpacked text) {
  std::vector<std::string> words;
  for (;;) {
    std::string word;
    text.take(word);
    if (word.empty()) return words;
    words.push_back(std::move(word));
  }
}

}  // namespace feedmill
