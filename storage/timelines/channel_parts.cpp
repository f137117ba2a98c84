#include "storage/timelines/channel_parts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "storage/timelines/notice_parts.hpp"

namespace feedmill {

namespace {

/// The channel's user, "" if it has none.
std::string_view user_of(std::string_view uid) {
  const std::size_t slash = uid.find('/');
  return slash == uid.npos ? std::string_view() : uid.substr(0, slash);
}

}  // namespace

unsigned home_of_channel(std::string_view uid, unsigned count) {
  return home_of_user(user_of(uid), count);
}

std::vector<ChannelRecord> channels_together(std::span<const std::vector<ChannelRecord>> parts) {
  const auto count = static_cast<unsigned>(parts.size());
  if (count == 1) return parts.front();
  std::map<std::string_view, ChannelRecord> by_name;
  for (unsigned partition = 0; partition < count; ++partition) {
    for (const ChannelRecord& part : parts[partition]) {
      const auto [row, is_new] = by_name.try_emplace(part.uid, part);
      if (is_new) continue;
      row->second.feeds += part.feeds;
      row->second.unread += part.unread;
      if (home_of_channel(part.uid, count) == partition) row->second.position = part.position;
    }
  }
  std::vector<ChannelRecord> all;
  all.reserve(by_name.size());
  for (auto& [name, channel] : by_name) all.push_back(std::move(channel));
  std::ranges::sort(all, [](const ChannelRecord& a, const ChannelRecord& b) {
    return std::tuple(user_of(a.uid), a.position, std::string_view(a.uid)) <
           std::tuple(user_of(b.uid), b.position, std::string_view(b.uid));
  });
  return all;
}

std::vector<std::string> names_together(std::span<const std::vector<std::string>> parts, std::size_t most) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.resize(std::min(all.size(), most));
  return all;
}

std::vector<EntryCursor> places_together(std::span<const std::vector<EntryCursor>> parts, std::size_t most) {
  std::vector<EntryCursor> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most));
  std::ranges::partial_sort(all, middle, [](const EntryCursor& a, const EntryCursor& b) {
    return std::tie(a.score, a.id) > std::tie(b.score, b.id);
  });
  all.erase(middle, all.end());
  return all;
}

}  // namespace feedmill
