// A store as JSON lines.
#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/byte_text.hpp"
#include "storage/store/key_value.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/upkeep/archive.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t entries_per_step = 50;  // of 2 MiB at most
constexpr int most_tries = 100;               // for a feed that changes while it is written
constexpr std::size_t words_per_line = 2000;

/// Fields of a feed's state that are of the moment, or of this store alone.
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

/// Sorted, so that equal feeds are equal lines.
json::array fields_json(ReplyView reply) {
  Fields fields = reply.pairs();
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
  std::sort(fields.begin(), fields.end());
  json::array array;
  for (const auto& [name, value] : fields) {
    array.push_back(byte_text(name));
    array.push_back(byte_text(value));
  }
  return array;
}

}  // namespace

class Archive::Writer {
 public:
  Writer(Store& store, Store::Impl& impl, const ExportOptions& options,
         const std::function<void(std::string_view)>& line)
      : store_(store), impl_(impl), options_(options), line_(line) {}

  StoreResult<ArchiveFigures> write() {
    // Before anything is read: what happens meanwhile is told behind it.
    const auto seq = EventStream(store_).last_seq();
    if (!seq) return seq.error();
    const bool is_whole = options_.feed_urls.empty();
    std::uint64_t feeds = options_.feed_urls.size();
    if (is_whole) {
      if (const auto allowed = impl_.check_scan_rights(); !allowed) return allowed.error();
      const auto all = Feeds(store_).count();
      if (!all) return all.error();
      feeds = *all;
    }
    const auto now = store_.now();
    if (!now) return now.error();
    const auto store_id = store_.id();
    if (!store_id) return store_id.error();
    const auto counter = impl_.redis.command({"GET", impl_.keys.entry_counter()});
    if (!counter) return counter.error();
    tell({{"t", "feedmill"},
          {"v", 1},
          {"schema", 1},
          {"version", FEEDMILL_VERSION},
          {"created", now->count()},
          {"id", std::to_string(now->count()) + "-" + std::to_string(feeds)},
          {"whole", is_whole},
          {"feeds", feeds},
          {"seq", *seq},
          {"store", *store_id},
          {"counter", counter->integer()}});
    if (is_whole) {
      FeedWalk walk(store_);
      for (;;) {
        const auto page = walk.next();
        if (!page) return page.error();
        if (page->empty()) break;
        if (const auto done = all_of(*page, feeds); !done) return done.error();
      }
      if (const auto done = derived(); !done) return done.error();
    } else if (const auto done = all_of(options_.feed_urls, feeds); !done) {
      return done.error();
    }
    tell({{"t", "total"}, {"feeds", figures_.feeds}, {"entries", figures_.entries}, {"channels", figures_.channels}});
    return figures_;
  }

 private:
  void tell(const json::object& object) { line_(json::serialize(object) + "\n"); }

  StoreResult<void> all_of(const std::vector<std::string>& urls, std::uint64_t feeds) {
    for (const std::string& url : urls) {
      if (options_.progress) options_.progress(figures_.feeds, feeds);
      if (const auto done = feed(url); !done) return done.error();
    }
    return {};
  }

  StoreResult<void> feed(const std::string& url) {
    for (int attempt = 0; attempt < most_tries; ++attempt) {
      const auto whole = attempt_feed(url);
      if (!whole) return whole.error();
      if (*whole) return {};
      tell({{"t", "again"}, {"url", byte_text(url)}});
    }
    return StoreError{StoreError::Code::loading, "a feed changed each time it was written down: " + url};
  }

  /// False when the feed changed meanwhile.
  StoreResult<bool> attempt_feed(const std::string& url) {
    std::string stamp;
    std::uint64_t entries = 0;
    for (std::size_t first = 0;; first += entries_per_step) {
      Args args;
      args.add(std::string_view(url));
      args.add(first);
      args.add(entries_per_step);
      const auto reply = impl_.run(Script::export_feed, args);
      if (!reply) return reply.error();
      const std::string_view now = (*reply)[0].text();
      if (first == 0 && now.empty()) return true;  // removed since the list was made
      if (first == 0) {
        stamp = now;
        tell({{"t", "feed"},
              {"url", byte_text(url)},
              {"due", score_text((*reply)[1].text())},
              {"quarantined", score_text((*reply)[2].text())},
              {"state", state_json((*reply)[3])},
              {"feed", fields_json((*reply)[4])},
              {"tombs", words_json((*reply)[5])}});
      } else if (now != stamp) {
        return false;
      }
      const std::size_t before = first == 0 ? 6 : 1;
      for (std::size_t i = before; i < reply->size(); ++i, ++entries) {
        const ReplyView row = (*reply)[i];
        tell({{"t", "entry"},
              {"id", row[0].text().substr(impl_.keys.entries().size())},
              {"score", score_text(row[1].text())},
              {"fields", fields_json(row[2])}});
      }
      if (reply->size() - before < entries_per_step) break;
    }
    tell({{"t", "end"}, {"url", byte_text(url)}, {"entries", entries}});
    ++figures_.feeds;
    figures_.entries += entries;
    return true;
  }

  /// A key of those that are kept only in an empty store; nothing when it does not exist.
  StoreResult<void> key(const std::string& name) {
    auto value = read_key(impl_.redis, name);
    if (!value) return value.error();
    if (value->type == "none") return {};
    const std::string shown = name.substr(impl_.keys.prefix().size());
    for (std::size_t at = 0; at < value->words.size(); at += words_per_line) {
      const auto begin = value->words.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          value->words.begin() + static_cast<std::ptrdiff_t>(std::min(at + words_per_line, value->words.size()));
      tell({{"t", "key"}, {"key", byte_text(shown)}, {"type", value->type}, {"words", words_json({begin, end})}});
    }
    return {};
  }

  StoreResult<void> derived() {
    Channels channels(store_);
    const auto all = channels.list();
    if (!all) return all.error();
    for (const ChannelRecord& channel : *all) {
      const auto known = channels.is_known(channel.uid);
      if (!known) return known.error();
      if (!*known) continue;
      if (const auto done = key(impl_.keys.channel_read(channel.uid)); !done) return done.error();
      if (const auto done = feeds_of(channel.uid); !done) return done.error();
      if (const auto done = key(impl_.keys.channel_order(channel.uid)); !done) return done.error();
      ++figures_.channels;
    }
    for (const std::string& name : impl_.keys.kept_by_archives()) {
      if (const auto done = key(name); !done) return done.error();
    }
    return users();
  }

  /// A line at least; of a large channel several.
  StoreResult<void> feeds_of(const std::string& uid) {
    constexpr std::size_t stretch = 50'000;  // each look goes over all feeds of the channel
    std::string after;
    for (std::size_t found = stretch; found == stretch;) {
      const auto urls = Channels(store_).feeds_after(uid, after, stretch);
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

  /// Notices and rules: found by a scan, because no list of users is kept.
  StoreResult<void> users() {
    const std::string order = impl_.keys.notice_order(""), values = impl_.keys.notices(""),
                      rules = impl_.keys.watches("");
    for (std::string cursor = "0";;) {
      const auto page = impl_.redis.command({"SCAN", cursor, "MATCH", impl_.keys.prefix() + "*", "COUNT", "1000"});
      if (!page) return page.error();
      for (const std::string& name : (*page)[1].texts()) {
        if (!name.starts_with(order) && !name.starts_with(values) && !name.starts_with(rules)) continue;
        if (const auto done = key(name); !done) return done.error();
      }
      cursor = (*page)[0].text();
      if (cursor == "0") return {};
    }
  }

  Store& store_;
  Store::Impl& impl_;
  const ExportOptions& options_;
  const std::function<void(std::string_view)>& line_;
  ArchiveFigures figures_;
};

StoreResult<ArchiveFigures> Archive::write(const ExportOptions& options,
                                           const std::function<void(std::string_view)>& line) {
  return Writer(store_, impl_, options, line).write();
}

}  // namespace feedmill
