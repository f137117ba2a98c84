// Writes JSON text into a string. The caller opens and closes objects and arrays; the writer adds commas and escapes.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/text/strings.hpp"

namespace feedmill {

/// Writer of one JSON value. Overloads with a key write a member of the open object, those without an array element.
class JsonWriter {
 public:
  using Sink = std::function<void(std::string_view)>;

  JsonWriter() = default;
  /// Passes the text to `sink` piece by piece; take() returns the last piece.
  explicit JsonWriter(const Sink& sink) : sink_(&sink) {}

  void begin_object() {
    comma();
    open('{');
  }
  void begin_object(std::string_view key) {
    put_key(key);
    open('{');
  }
  void end_object() { close('}'); }
  void begin_array() {
    comma();
    open('[');
  }
  void begin_array(std::string_view key) {
    put_key(key);
    open('[');
  }
  void end_array() { close(']'); }

  void string(std::string_view value) {
    comma();
    quoted(value);
  }
  void string(std::string_view key, std::string_view value) {
    put_key(key);
    quoted(value);
  }
  void boolean(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
  void null(std::string_view key) { raw(key, "null"); }
  template <class Number>
  void number(Number value) {
    comma();
    digits(value);
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    put_key(key);
    digits(value);
  }
  /// Writes a value that is JSON text already.
  void raw(std::string_view key, std::string_view json) {
    put_key(key);
    out_ += json;
  }

  /// Reserves room for about `bytes` of text.
  void reserve(std::size_t bytes) { out_.reserve(bytes); }

  /// Returns and removes the text written since the last call.
  std::string take() { return std::exchange(out_, {}); }

 private:
  // RFC 8259 §7: characters that must be escaped in strings.
  static constexpr ByteSet escaped{
      std::string_view("\"\\\x00\x01\x02\x03\x04\x05\x06\x07\b\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18"
                       "\x19\x1a\x1b\x1c\x1d\x1e\x1f",
                       34)};

  void comma() {
    if (more_) out_ += ',';
    more_ = true;
  }
  void put_key(std::string_view key) {
    comma();
    quoted(key);
    out_ += ':';
  }
  void open(char c) {
    out_ += c;
    more_ = false;
  }
  void close(char c) {
    out_ += c;
    more_ = true;
    constexpr std::size_t piece = std::size_t{64} << 10;
    if (sink_ == nullptr || out_.size() < piece) return;
    (*sink_)(out_);
    out_.clear();
  }

  template <class Number>
  void digits(Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) {
        out_ += "null";
        return;
      }
      if (value == std::floor(value) && std::abs(value) < 9e15) {
        digits(static_cast<long long>(value));
        return;
      }
    }
    std::array<char, 40> buffer{};
    const auto [end, _] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    out_.append(buffer.data(), end);
  }

  void quoted(std::string_view text) {
    out_ += '"';
    std::size_t start = 0;
    for (std::size_t i = escaped.find_in(text); i != std::string_view::npos; i = escaped.find_in(text, i + 1)) {
      const auto c = static_cast<unsigned char>(text[i]);
      out_.append(text.substr(start, i - start));
      start = i + 1;
      constexpr std::string_view hex = "0123456789abcdef", named = "\"\\\n\t\r\b\f", names = "\"\\ntrbf";
      if (const std::size_t name = named.find(text[i]); name != npos) {
        out_.append({'\\', names[name]});
      } else {
        out_.append({'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]});
      }
    }
    out_.append(text.substr(start));
    out_ += '"';
  }

  std::string out_;
  const Sink* sink_ = nullptr;
  bool more_ = false;
};

}  // namespace feedmill
