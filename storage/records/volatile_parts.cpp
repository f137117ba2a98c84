#include "storage/records/volatile_parts.hpp"

#include <algorithm>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t row_overhead = 4;  // two digits, a space, a line end

}  // namespace

VolatileParts::VolatileParts(std::string_view text) {
  while (!text.empty() && rows_.size() < most_bytes / row_overhead) {
    const std::string_view line = take_until(text, '\n');
    if (line.size() < row_overhead || !is_digit(line[0]) || !is_digit(line[1]) || line[2] != ' ') continue;
    rows_.push_back(
        {std::string(line.substr(3)), static_cast<unsigned>(line[0] - '0'), static_cast<unsigned>(line[1] - '0')});
  }
}

bool VolatileParts::contains(const std::string& part) const {
  const auto row = std::ranges::find(rows_, part, &Row::part);
  return row != rows_.end() && row->changed >= documents_to_learn;
}

bool VolatileParts::contains_all(const std::set<std::string>& parts) const {
  return std::ranges::all_of(parts, [this](const std::string& part) { return contains(part); });
}

std::vector<std::string> VolatileParts::parts() const {
  std::vector<std::string> learned;
  for (const Row& row : rows_) {
    if (row.changed >= documents_to_learn) learned.push_back(row.part);
  }
  return learned;
}

void VolatileParts::count(const std::set<std::string>& on_most, const std::set<std::string>& on_any) {
  for (Row& row : rows_) row.still = on_any.contains(row.part) ? 0 : row.still + 1;
  std::erase_if(rows_, [](const Row& row) { return row.still >= documents_to_forget; });
  for (const std::string& part : on_most) {
    const auto row = std::ranges::find(rows_, part, &Row::part);
    if (row != rows_.end())
      row->changed = std::min(row->changed + 1, documents_to_learn);
    else if (text().size() + part.size() + row_overhead <= most_bytes && part.find('\n') == npos)
      rows_.push_back({part, 1, 0});
  }
}

std::string VolatileParts::text() const {
  std::string text;
  for (const Row& row : rows_) {
    text.append(std::to_string(row.changed)).append(std::to_string(row.still)).append(" ");
    text.append(row.part).append("\n");
  }
  return text;
}

}  // namespace feedmill
