#include "storage/redis/byte_text.hpp"

#include <boost/json.hpp>

#include "storage/redis/utf8.hpp"

namespace feedmill {
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
