#include "storage/redis/utf8.hpp"

#include <algorithm>
#include <cstddef>

#include <boost/json.hpp>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

/// Length in bytes of the character at `at`, or 0 if it is not clean (is_clean_text).
std::size_t length_of_clean(std::string_view text, std::size_t at) {
  return forbidden_in_xml(text, at) > 0 ? 0 : first_character(text.substr(at)).bytes;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = first_character(text.substr(at)).bytes;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

bool is_clean_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_clean(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string cleaned_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_clean(text, at);
    if (length == 0) {
      clean += "\xef\xbf\xbd";
      at += std::max<std::size_t>(1, forbidden_in_xml(text, at));
    } else {
      clean.append(text, at, length);
      at += length;
    }
  }
  return clean;
}

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

boost::json::value byte_text(std::string_view bytes) {
  if (is_utf8(bytes)) return boost::json::string(bytes);
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += hex_digits[byte >> 4U];
    hex += hex_digits[byte & 15U];
  }
  return boost::json::object{{"hex", hex}};
}

std::optional<std::string> read_byte_text(const boost::json::value& value) {
  if (const auto* const text = value.if_string()) return std::string(*text);
  const auto* const object = value.if_object();
  const auto* const member = object == nullptr || object->size() != 1 ? nullptr : object->if_contains("hex");
  const auto* const hex = member == nullptr ? nullptr : member->if_string();
  if (hex == nullptr || hex->size() % 2 != 0) return {};
  std::string bytes;
  bytes.reserve(hex->size() / 2);
  for (std::size_t i = 0; i < hex->size(); i += 2) {
    const auto high = hex_digits.find((*hex)[i]), low = hex_digits.find((*hex)[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes += static_cast<char>(high << 4U | low);
  }
  return bytes;
}

}  // namespace feedmill
