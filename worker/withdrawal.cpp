#include "worker/withdrawal.hpp"

#include <string_view>
#include <unordered_map>

#include "parsers/date.hpp"
#include "parsers/url.hpp"
#include "storage/identity.hpp"

namespace feedmill {

std::vector<Deletion> deletions(const Feed& feed, IdentifiedBy by) {
  std::vector<Deletion> all;
  if (by == IdentifiedBy::digest) return all;
  for (const DeletedEntry& deleted : feed.deleted) {
    if (!deleted.when.time) continue;
    if (by == IdentifiedBy::link && !is_http_url(deleted.guid)) continue;
    all.push_back({guid_by(by, {{"link", deleted.guid}}, deleted.guid), unix_seconds(*deleted.when.time)});
  }
  return all;
}

std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed) {
  std::vector<std::string> guids;
  if (deletions.empty()) return guids;
  std::unordered_map<std::string_view, const EntryRecord*> posts;
  for (const EntryRecord& record : listed) posts.emplace(record.guid, &record);
  for (std::size_t i = 0; i < deletions.size(); ++i) {
    const Deletion& deletion = deletions[i];
    const auto post = posts.find(deletion.guid);
    const bool is_listed = post != posts.end();
    if (is_listed && post->second->timestamp.value_or(0) > deletion.when) continue;
    const std::string_view date = i < dates.size() ? std::string_view(dates[i]) : std::string_view();
    if (date.empty() && !is_listed) continue;
    const auto stored = parse_date(date);
    if (date.size() > 1 && stored && unix_seconds(*stored) > deletion.when) continue;
    guids.push_back(deletion.guid);
  }
  return guids;
}

}  // namespace feedmill
