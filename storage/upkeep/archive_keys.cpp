#include <algorithm>
#include <set>
#include <utility>

#include "storage/store/store_impl.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "storage/upkeep/archive_lines.hpp"

namespace feedmill {
namespace {

using boost::json::object;

Words with(std::string_view command, const std::string& key, const std::vector<std::string>& words) {
  Words all{command, key};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// The variable part of a key's name, such as "anna" in "state:watches:anna"; "" if the name does not match.
std::string between(const std::string& name, std::string_view start, std::string_view end = {}) {
  if (!name.starts_with(start) || !name.ends_with(end) || name.size() <= start.size() + end.size()) return "";
  return name.substr(start.size(), name.size() - start.size() - end.size());
}

StoreResult<void> tell(Store& store, const Words& command) {
  const auto done = store.impl().redis.command(command);
  if (!done) return done.error();
  return {};
}

}  // namespace

StoreResult<void> ArchiveKeys::take(const object& line, bool is_written) {
  const std::string name = text_of(line, "key"), type = text_of(line, "type");
  std::vector<std::string> words = words_of(line, "words", 100'000);
  const bool pairs = type == "hash" || type == "zset";
  if (words.empty() || (pairs && words.size() % 2 != 0) || (type == "string" && words.size() != 1))
    throw BadLine{"\"words\" do not fit a " + type};
  const Keys plain("");
  const auto of = [&](std::string_view wanted, const std::string& start, std::string_view end = {}) {
    return type == wanted ? between(name, start, end) : "";
  };
  // The channel or user is between a prefix and a suffix.
  const std::string read = plain.channel_read("\n");
  const std::size_t gap = read.find('\n');
  if (const auto uid = of("zset", read.substr(0, gap), read.substr(gap + 1)); !uid.empty()) {
    return marks(line, uid, words, is_written);
  }
  const std::string titles = plain.channel_titles("\n");
  if (const auto uid = of("hash", titles.substr(0, gap), titles.substr(gap + 1)); !uid.empty()) {
    for (std::size_t i = 0; i < words.size(); i += 2) {
      Store* const store = stores_.with_feed(words[i]);
      if (store == nullptr || !is_written) continue;
      const std::string key = store->impl().keys.channel_titles(uid);
      if (const auto done = tell(*store, {"HSET", key, words[i], words[i + 1]}); !done) return done.error();
    }
    return {};
  }
  if (const auto uid = of("string", plain.channel_order("")); !uid.empty()) {
    whole(words[0], "words");
    Store& store = stores_.home(home_of_channel(uid, stores_.partitions()));
    return is_written ? tell(store, {"SET", store.impl().keys.channel_order(uid), words[0]}) : StoreResult<void>();
  }
  if (const auto user = of("hash", plain.notices("")); !user.empty()) {
    Store& store = home_of(user);
    for (std::size_t i = 1; i < words.size(); i += 2) words[i] = with_entry_here(words[i]);
    return is_written ? tell(store, with("HSET", store.impl().keys.notices(user), words)) : StoreResult<void>();
  }
  if (const auto user = of("list", plain.notice_order("")); !user.empty()) {
    return is_written ? order(user, words) : StoreResult<void>();
  }
  if (const auto user = of("hash", plain.watches("")); !user.empty()) return rules(user, words, is_written);
  if (type == "hash" && name == plain.hosts()) {
    for (Store* const store : stores_.stores()) {
      if (!is_written) continue;
      if (const auto done = tell(*store, with("HSET", store->impl().keys.hosts(), words)); !done) return done.error();
    }
    return {};
  }
  // Written by older releases; derived from the other keys.
  if (name == plain.watchers() || name == plain.watch_version() || name == plain.channels_gone()) return {};
  throw BadLine{"\"key\" is none that an export holds"};
}

Store& ArchiveKeys::home_of(const std::string& user) const {
  return stores_.home(home_of_user(user, stores_.partitions()));
}

/// Read marks of a channel.
StoreResult<void> ArchiveKeys::marks(const object& line, const std::string& uid, const std::vector<std::string>& words,
                                     bool is_written) {
  Store* store = &stores_.front();
  if (line.contains("feed")) {
    store = stores_.with_feed(text_of(line, "feed"));
  } else if (stores_.stores().size() > 1) {
    throw BadLine{"does not name the feed of the read entries; export again with this feedmill"};
  }
  std::vector<std::string> scored;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto entry = archive_name(words[i]);
    if (!entry) throw BadLine{"\"words\" name something other than an entry"};
    whole(words[i + 1], "words");
    if (store != nullptr) scored.insert(scored.end(), {words[i + 1], store->prefix() + *entry});
  }
  if (store == nullptr || !is_written) return {};
  return tell(*store, with("ZADD", store->impl().keys.channel_read(uid), scored));
}

/// A notice with its entry's id in this store.
std::string ArchiveKeys::with_entry_here(const std::string& notice) const {
  if (stores_.front().prefix().empty()) return notice;
  return with_entry(notice, [this](const std::string& id, const std::string& feed_url) {
    const Store* const store = stores_.with_feed(feed_url);
    return archive_name(id) == id && store != nullptr ? store->prefix() + id : id;
  });
}

/// Merges the newest notices of a user from all lines; their values are already stored.
StoreResult<void> ArchiveKeys::order(const std::string& user, const std::vector<std::string>& ids) {
  Store& store = home_of(user);
  const std::string key = store.impl().keys.notice_order(user), values = store.impl().keys.notices(user);
  const auto there = store.impl().redis.command({"LRANGE", key, "0", "-1"});
  if (!there) return there.error();
  std::vector<std::vector<StoredNotice>> parts(1);
  std::set<std::string> known;
  for (std::string& id : there->texts()) {
    known.insert(id);
    parts[0].push_back({std::move(id), ""});
  }
  if (!parts[0].empty()) parts.emplace_back();
  for (const std::string& id : ids) {
    if (known.insert(id).second) parts.back().push_back({id, ""});
  }
  if (parts.back().empty()) return {};
  std::vector<std::string> newest;
  for (StoredNotice& notice : notices_together({}, parts)) {
    known.erase(notice.id);
    newest.push_back(std::move(notice.id));
  }
  std::ranges::reverse(newest);
  std::vector<Words> commands{{"DEL", key}, with("LPUSH", key, newest)};
  const std::vector<std::string> fallen(known.begin(), known.end());
  if (!fallen.empty()) commands.push_back(with("HDEL", values, fallen));
  const auto done = store.impl().pipeline(commands);
  if (!done) return done.error();
  return {};
}

/// Rules of a user, which keep their ids; copies in other partitions get ids of their own.
StoreResult<void> ArchiveKeys::rules(const std::string& user, const std::vector<std::string>& words, bool is_written) {
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < words.size(); i += 2) highest = std::max(highest, whole(words[i], "words"));
  if (!is_written) return {};
  Store& store = home_of(user);
  const auto version = Notifications(store).watch_version();
  if (!version) return version.error();
  const Keys& keys = store.impl().keys;
  const std::string rules = keys.watches(user), users = keys.watchers(), counter = keys.watch_version();
  const std::string next = std::to_string(std::max(highest, leading_number<std::int64_t>(*version)));
  const std::vector<Words> commands{with("HSET", rules, words), {"SADD", users, user}, {"SET", counter, next}};
  if (const auto done = store.impl().pipeline(commands); !done) return done.error();
  if (stores_.stores().size() == 1) return {};
  const auto all = Notifications(store).watches(user);
  if (!all) return all.error();
  for (const Watch& rule : *all) {
    for (const unsigned copy : copies_of_rule(rule, stores_.partitions())) {
      if (const auto copied = Notifications(*stores_.stores()[copy]).watch(rule); !copied) return copied.error();
    }
  }
  return {};
}

}  // namespace feedmill
