// Writes JSON text into a string: objects and arrays opened and closed by the caller, commas and escapes by this.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace feedmill {

class JsonWriter {
 public:
  void begin_object() {
    comma();
    open('{');
  }
  void begin_object(std::string_view key) {
    put_key(key);
    open('{');
  }
  void end_object() { close('}'); }
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
  /// `json` is JSON text already.
  void raw(std::string_view key, std::string_view json) {
    put_key(key);
    out_ += json;
  }

  std::string take() { return std::move(out_); }

 private:
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
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
      out_.append(text.substr(start, i - start));
      start = i + 1;
      switch (c) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\t':
          out_ += "\\t";
          break;
        case '\r':
          out_ += "\\r";
          break;
        default: {
          constexpr char hex[] = "0123456789abcdef";
          out_ += "\\u00";
          out_ += hex[static_cast<unsigned char>(c) >> 4];
          out_ += hex[static_cast<unsigned char>(c) & 15];
        }
      }
    }
    out_.append(text.substr(start));
    out_ += '"';
  }

  std::string out_;
  bool more_ = false;
};

}  // namespace feedmill
