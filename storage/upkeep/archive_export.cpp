// Exports a store as JSON lines.
#include <algorithm>
#include <array>
#include <map>

#include <boost/json.hpp>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/store/key_value.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "storage/upkeep/archive.hpp"
#include "storage/upkeep/archive_lines.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t entries_per_step = 50;  // of 2 MiB at most
constexpr int most_tries = 100;               // for a feed that changes during its export
constexpr std::size_t words_per_line = 2000;

/// Fields of a feed's state that are transient or specific to this store.
constexpr std::array of_the_moment{"alone", "alone_deaths", "claim",    "claim_due", "claim_hosts", "claim_part",
                                   "held",  "leaving",      "removing", "strikes",   "wake"};

json::array words_json(ReplyView words) {
  json::array array;
  for (std::size_t i = 0; i < words.size(); ++i) array.push_back(byte_text(words[i].text()));
  return array;
}

json::array words_json(const std::vector<std::string>& words) {
  json::array array;
  for (const std::string& word : words) array.push_back(byte_text(word));
  return array;
}

/// Sorted, so that equal feeds give equal lines.
json::array fields_json(Fields fields) {
  std::sort(fields.begin(), fields.end());
  json::array array;
  for (const auto& [name, value] : fields) {
    array.push_back(byte_text(name));
    array.push_back(byte_text(value));
  }
  return array;
}

bool is_of_the_moment(std::string_view name) {
  return std::find(of_the_moment.begin(), of_the_moment.end(), name) != of_the_moment.end() || name.starts_with("push");
}

json::array state_json(ReplyView reply) {
  Fields fields = reply.pairs();
  std::erase_if(fields, [](const auto& field) { return is_of_the_moment(field.first); });
  return fields_json(std::move(fields));
}

/// A stored notice with the archive name of its entry.
std::string with_archive_name(const std::string& notice) {
  return with_entry(notice, [](const std::string& id, const std::string&) { return archive_name(id).value_or(id); });
}

}  // namespace

class Archive::Writer {
 public:
  Writer(const Deployment& stores, const ExportOptions& options, const std::function<void(std::string_view)>& line)
      : stores_(stores), options_(options), line_(line) {}

  StoreResult<ArchiveFigures> write() {
    if (const auto done = head(); !done) return done.error();
    if (options_.feed_urls.empty()) {
      for (Store* const store : stores_.stores()) {
        FeedWalk walk(*store);
        for (;;) {
          const auto page = walk.next();
          if (!page) return page.error();
          if (page->empty()) break;
          if (const auto done = all_of(*page); !done) return done.error();
        }
      }
      if (const auto done = derived(); !done) return done.error();
    } else if (const auto done = all_of(options_.feed_urls); !done) {
      return done.error();
    }
    tell({{"t", "total"}, {"feeds", figures_.feeds}, {"entries", figures_.entries}, {"channels", figures_.channels}});
    return figures_;
  }

 private:
  void tell(const json::object& object) { line_(json::serialize(object) + "\n"); }

  /// Writes the first line. Runs before everything else, so that `seq` precedes all data in the file.
  StoreResult<void> head() {
    const bool is_whole = options_.feed_urls.empty();
    json::array seqs, ids;
    std::int64_t counter = 0;
    feeds_ = options_.feed_urls.size();
    for (Store* const store : stores_.stores()) {
      Store::Impl& impl = store->impl();
      const auto seq = EventStream(*store).last_seq();
      if (!seq) return seq.error();
      const auto id = store->id();
      if (!id) return id.error();
      const auto given_out = impl.redis.command({"GET", impl.keys.entry_counter()});
      if (!given_out) return given_out.error();
      seqs.emplace_back(*seq);
      ids.emplace_back(*id);
      counter = std::max(counter, given_out->integer());
      if (!is_whole) continue;
      if (const auto allowed = impl.check_scan_rights(); !allowed) return allowed.error();
      const auto its_feeds = Feeds(*store).count();
      if (!its_feeds) return its_feeds.error();
      feeds_ += *its_feeds;
    }
    const auto now = stores_.front().now();
    if (!now) return now.error();
    json::object line{{"t", "feedmill"},
                      {"v", 1},
                      {"schema", 1},
                      {"version", FEEDMILL_VERSION},
                      {"created", now->count()},
                      {"id", std::to_string(now->count()) + "-" + std::to_string(feeds_)},
                      {"whole", is_whole},
                      {"feeds", feeds_}};
    const bool are_one = std::ranges::count(ids, ids.front()) == std::ssize(ids);  // filled from one store
    const bool is_one = stores_.stores().size() == 1;
    line[is_one ? "seq" : "seqs"] = is_one ? seqs.front() : json::value(seqs);
    line[are_one ? "store" : "stores"] = are_one ? ids.front() : json::value(ids);
    line["counter"] = counter;
    tell(line);
    return {};
  }

  StoreResult<void> all_of(const std::vector<std::string>& urls) {
    for (const std::string& url : urls) {
      if (options_.progress) options_.progress(figures_.feeds, feeds_);
      Store* const store = stores_.with_feed(url);
      if (store == nullptr) continue;
      if (const auto done = feed(store->impl(), url); !done) return done.error();
    }
    return {};
  }

  StoreResult<void> feed(Store::Impl& impl, const std::string& url) {
    for (int attempt = 0; attempt < most_tries; ++attempt) {
      const auto whole = attempt_feed(impl, url);
      if (!whole) return whole.error();
      if (*whole) return {};
      tell({{"t", "again"}, {"url", byte_text(url)}});
    }
    return StoreError{StoreError::Code::loading, "a feed changed each time it was written down: " + url};
  }

  /// False if the feed changed during its export.
  StoreResult<bool> attempt_feed(Store::Impl& impl, const std::string& url) {
    std::string stamp;
    std::uint64_t entries = 0;
    for (std::size_t first = 0;; first += entries_per_step) {
      Args args;
      args.add(std::string_view(url));
      args.add(first);
      args.add(entries_per_step);
      const auto reply = impl.run(Script::export_feed, args);
      if (!reply) return reply.error();
      const std::string_view now = (*reply)[0].text();
      if (first == 0 && now.empty()) return true;  // removed since it was listed
      if (first == 0) {
        stamp = now;
        tell({{"t", "feed"},
              {"url", byte_text(url)},
              {"due", score_text((*reply)[1].text())},
              {"quarantined", score_text((*reply)[2].text())},
              {"state", state_json((*reply)[3])},
              {"feed", fields_json((*reply)[4].pairs())},
              {"tombs", words_json((*reply)[5])}});
      } else if (now != stamp) {
        return false;
      }
      const std::size_t before = first == 0 ? 6 : 1;
      for (std::size_t i = before; i < reply->size(); ++i, ++entries) {
        const ReplyView row = (*reply)[i];
        tell({{"t", "entry"},
              {"id", row[0].text().substr(impl.keys.entries().size())},
              {"score", score_text(row[1].text())},
              {"fields", fields_json(row[2].pairs())}});
      }
      if (reply->size() - before < entries_per_step) break;
    }
    tell({{"t", "end"}, {"url", byte_text(url)}, {"entries", entries}});
    ++figures_.feeds;
    figures_.entries += entries;
    return true;
  }

  /// Exports a key that only an empty store imports; nothing if it does not exist.
  StoreResult<void> key(Store::Impl& impl, const std::string& name) {
    auto value = read_key(impl.redis, name);
    if (!value) return value.error();
    if (name.starts_with(impl.keys.notices("")) && !impl.keys.prefix().empty()) {
      for (std::size_t i = 1; i < value->words.size(); i += 2) value->words[i] = with_archive_name(value->words[i]);
    }
    if (value->type != "none") tell_key(name.substr(impl.keys.prefix().size()), value->type, value->words, {});
    return {};
  }

  /// `feed_url`: feed of the entries named in `words`, "" if there are none.
  void tell_key(const std::string& name, const std::string& type, const std::vector<std::string>& words,
                const std::string& feed_url) {
    for (std::size_t at = 0; at < words.size(); at += words_per_line) {
      const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(at + words_per_line, words.size()));
      json::object line{{"t", "key"}, {"key", byte_text(name)}, {"type", type}};
      if (!feed_url.empty()) line["feed"] = byte_text(feed_url);
      line["words"] = words_json({begin, end});
      tell(line);
    }
  }

  StoreResult<void> derived() {
    std::map<std::string, std::vector<Store*>> channels;  // partitions of each
    for (Store* const store : stores_.stores()) {
      const auto its = Channels(*store).list();
      if (!its) return its.error();
      for (const ChannelRecord& channel : *its) channels[channel.uid].push_back(store);
    }
    for (auto& [uid, parts] : channels) {
      if (const auto done = channel(uid, parts); !done) return done.error();
    }
    Store::Impl& first = stores_.front().impl();
    if (const auto done = key(first, first.keys.hosts()); !done) return done.error();  // equal in all stores
    for (Store* const store : stores_.stores()) {
      if (const auto done = users(*store); !done) return done.error();
    }
    return {};
  }

  StoreResult<void> channel(const std::string& uid, std::vector<Store*>& parts) {
    for (auto part = parts.begin(); part != parts.end();) {
      const auto known = Channels(**part).is_known(uid);
      if (!known) return known.error();
      part = *known ? part + 1 : parts.erase(part);
    }
    if (parts.empty()) return {};
    for (Store* const part : parts) {
      if (const auto done = marks(part->impl(), uid); !done) return done.error();
    }
    for (Store* const part : parts) {
      if (const auto done = feeds_of(*part, uid); !done) return done.error();
      if (const auto done = key(part->impl(), part->impl().keys.channel_titles(uid)); !done) return done.error();
    }
    Store* const home = stores_.at(home_of_channel(uid, stores_.partitions()));
    Store::Impl& impl = (std::ranges::find(parts, home) != parts.end() ? home : parts.front())->impl();
    if (const auto done = key(impl, impl.keys.channel_order(uid)); !done) return done.error();
    ++figures_.channels;
    return {};
  }

  /// Exports read marks by feed, which determines the partition. Skips marks of removed posts.
  StoreResult<void> marks(Store::Impl& impl, const std::string& uid) {
    const std::string name = impl.keys.channel_read(uid);
    const auto marked = read_key(impl.redis, name);
    if (!marked) return marked.error();
    constexpr std::size_t per_trip = 1000;
    std::map<std::string, std::vector<std::string>> by_feed;
    for (std::size_t at = 0; at < marked->words.size(); at += per_trip) {
      std::vector<Words> commands;
      const std::size_t end = std::min(at + per_trip, marked->words.size());
      for (std::size_t i = at; i < end; i += 2) commands.push_back({"HGET", marked->words[i], "feed_url"});
      const auto feeds = impl.pipeline(commands);
      if (!feeds) return feeds.error();
      for (std::size_t i = at; i < end; i += 2) {
        const Reply& feed = (*feeds)[(i - at) / 2];
        const auto entry = archive_name(marked->words[i]);
        if (feed.is_nil() || !entry) continue;
        std::vector<std::string>& words = by_feed[std::string(feed.text())];
        words.insert(words.end(), {*entry, marked->words[i + 1]});
      }
    }
    for (const auto& [url, words] : by_feed) tell_key(name.substr(impl.keys.prefix().size()), "zset", words, url);
    return {};
  }

  /// At least one line; several for a large channel.
  StoreResult<void> feeds_of(Store& store, const std::string& uid) {
    constexpr std::size_t stretch = 50'000;  // each call scans all feeds of the channel
    std::string after;
    for (std::size_t found = stretch; found == stretch;) {
      const auto urls = Channels(store).feeds_after(uid, after, stretch);
      if (!urls) return urls.error();
      found = urls->size();
      std::size_t at = 0;
      do {
        const std::size_t end = std::min(at + words_per_line, found);
        const auto place = [&](std::size_t index) { return urls->begin() + static_cast<std::ptrdiff_t>(index); };
        tell({{"t", "channel"}, {"uid", byte_text(uid)}, {"feeds", words_json({place(at), place(end)})}});
        at = end;
      } while (at < found);
      if (found > 0) after = urls->back();
    }
    return {};
  }

  /// Exports notices and rules; scans for them, because there is no list of users.
  StoreResult<void> users(Store& store) {
    Store::Impl& impl = store.impl();
    const std::string order = impl.keys.notice_order(""), values = impl.keys.notices(""), rules = impl.keys.watches("");
    for (std::string cursor = "0";;) {
      const auto page = impl.redis.command({"SCAN", cursor, "MATCH", impl.keys.prefix() + "*", "COUNT", "1000"});
      if (!page) return page.error();
      for (const std::string& name : (*page)[1].texts()) {
        StoreResult<void> done;
        if (name.starts_with(order)) {
          done = key(impl, values + name.substr(order.size()));
          if (done) done = key(impl, name);
        } else if (name.starts_with(rules)) {
          const unsigned home = home_of_user(std::string_view(name).substr(rules.size()), stores_.partitions());
          if (stores_.stores().size() == 1 || stores_.at(home) == &store) done = key(impl, name);  // copies elsewhere
        }
        if (!done) return done.error();
      }
      cursor = (*page)[0].text();
      if (cursor == "0") return {};
    }
  }

  const Deployment& stores_;
  const ExportOptions& options_;
  const std::function<void(std::string_view)>& line_;
  std::uint64_t feeds_ = 0;  // total feeds to write
  ArchiveFigures figures_;
};

StoreResult<ArchiveFigures> Archive::write(const ExportOptions& options,
                                           const std::function<void(std::string_view)>& line) {
  return Writer(stores_, options, line).write();
}

}  // namespace feedmill
