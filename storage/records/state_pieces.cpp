#include "storage/records/state_pieces.hpp"

#include <algorithm>

namespace feedmill {
namespace {

constexpr std::size_t piece_bytes = 64;
constexpr std::size_t most_pieces = 10;  // longer values stay in one piece
constexpr std::string_view no_piece("\0", 1);

std::string piece_name(std::string_view name, std::size_t piece) {
  std::string text(name);
  if (piece > 0) (text += '.') += static_cast<char>('0' + piece);
  return text;
}

std::size_t pieces_of(const std::string& value) {
  if (value.empty() || value.size() > most_pieces * piece_bytes) return 1;
  return (value.size() + piece_bytes - 1) / piece_bytes;
}

std::string_view piece_of(std::string_view value, std::size_t pieces, std::size_t piece) {
  return pieces == 1 ? value : value.substr(piece * piece_bytes, piece_bytes);
}

}  // namespace

void add_pieces(Fields& changed, std::string_view name, const std::string& before, const std::string& value) {
  const std::size_t pieces = pieces_of(value);
  for (std::size_t i = 0; i < pieces; ++i) changed.emplace_back(piece_name(name, i), piece_of(value, pieces, i));
  if (value.empty()) {
    for (std::size_t i = 1; i < pieces_of(before); ++i) changed.emplace_back(piece_name(name, i), "");
  } else if (value.size() % piece_bytes == 0 && pieces < most_pieces) {
    // Removing the next piece would exclude the commit from its fast path.
    changed.emplace_back(piece_name(name, pieces), no_piece);
  }
}

bool has_more_pieces(const std::string& first) {
  return first.size() == piece_bytes;
}

std::string joined(const Fields& fields, const std::string& name, const std::string& first) {
  std::string value = first;
  for (std::size_t i = 1; i < most_pieces; ++i) {
    const std::string wanted = piece_name(name, i);
    const auto next = std::ranges::find(fields, wanted, &Fields::value_type::first);
    if (next == fields.end() || next->second == no_piece) break;
    value += next->second;
    if (next->second.size() != piece_bytes) break;
  }
  return value;
}

}  // namespace feedmill
