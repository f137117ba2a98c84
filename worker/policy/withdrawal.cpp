#include "worker/policy/withdrawal.hpp"

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <xxhash.h>

#include "parsers/text/date.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_remembered = 100;

std::string mark_of(std::string_view guid) {
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(XXH3_64bits(guid.data(), guid.size())));
  return hex;
}

}  // namespace

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
    const auto stored = parse_moment(date);
    if (date.size() > 1 && stored && unix_seconds(*stored) > deletion.when) continue;
    guids.push_back(deletion.guid);
  }
  return guids;
}

void remember_withdrawn(std::vector<std::string>& marks, const std::vector<std::string>& deleted,
                        const std::vector<EntryWrite>& writes) {
  if (marks.empty() && deleted.empty()) return;
  std::unordered_set<std::string> settled;
  for (const EntryWrite& write : writes) {
    if (!marks.empty() && write.id.empty()) settled.insert(mark_of(write.guid));
  }
  std::vector<std::string> added;
  for (const std::string& guid : deleted) {
    std::string mark = mark_of(guid);
    if (settled.insert(mark).second) added.push_back(std::move(mark));
  }
  std::erase_if(marks, [&](const std::string& mark) { return settled.contains(mark); });
  marks.insert(marks.end(), added.begin(), added.end());
  if (marks.size() > most_remembered) {
    marks.erase(marks.begin(), marks.end() - static_cast<std::ptrdiff_t>(most_remembered));
  }
}

bool was_withdrawn(const std::vector<std::string>& marks, std::string_view guid) {
  return !marks.empty() && std::ranges::find(marks, mark_of(guid)) != marks.end();
}

}  // namespace feedmill
