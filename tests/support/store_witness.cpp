#include "tests/support/store_witness.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include <boost/json.hpp>

#include "storage/redis/placement.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/partition.hpp"
#include "tests/support/packed_digests.hpp"

namespace feedmill::test {
namespace {

namespace json = boost::json;

using Table = std::map<std::string, std::string>;

class Connection {
 public:
  /// Waits while a restarted server is still loading.
  explicit Connection(const std::string& url) : redis_(address_of(url), std::chrono::seconds(10)) {
    if (url.find("+cluster://") != std::string::npos) prefix_ = "{" + tag_of(Partition()) + "}:";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      const auto pong = redis_.command({"PING"});
      if (pong || pong.error().code != StoreError::Code::loading) return;
      if (std::chrono::steady_clock::now() > deadline) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  /// Runs a command with its key named as on a single server, or with the cluster's prefix.
  Reply ask(std::vector<std::string> words) {
    const bool names_key = words.size() > 1 && words[0] != "SCAN" && !words[1].starts_with(prefix_);
    if (names_key) words[1].insert(0, prefix_);
    auto reply = redis_.command(Words(words.begin(), words.end()));
    if (!reply) throw std::runtime_error("the witness cannot look: " + reply.error().detail);
    return *reply;
  }
  std::string bare(const std::string& key) const { return key.starts_with(prefix_) ? key.substr(prefix_.size()) : key; }
  std::vector<std::string> list(const std::vector<std::string>& words) { return ask(words).texts(); }
  Table table(const std::vector<std::string>& words) {
    Table table;
    for (auto& [name, value] : ask(words).pairs()) table.emplace(name, value);
    return table;
  }

 private:
  static RedisAddress address_of(const std::string& url) {
    RedisAddress address = *parse_redis_url(url);
    address.slot = slot_of_tag(tag_of(Partition()));
    return address;
  }

  Redis redis_;
  std::string prefix_;  // the prefix of all keys in a cluster
};

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "1763690000000-3" as a pair of numbers, for comparison.
std::pair<std::int64_t, std::int64_t> stream_id(const std::string& id) {
  const auto dash = std::min(id.find('-'), id.size());
  return {number(id.substr(0, dash)), dash < id.size() ? number(id.substr(dash + 1)) : 0};
}

std::vector<std::string> all_keys(Connection& redis) {
  std::set<std::string> keys;
  std::string cursor = "0";
  do {
    const Reply page = redis.ask({"SCAN", cursor, "COUNT", "1000"});
    cursor = page[0].text();
    for (const std::string& key : page[1].texts()) keys.insert(redis.bare(key));
  } while (cursor != "0");
  return {keys.begin(), keys.end()};
}

/// The stream's events about one post.
struct Told {
  std::size_t created = 0, trimmed = 0;
  std::vector<std::int64_t> revisions;
  std::string id;
};

class Witness {
 public:
  Witness(const std::string& url, const GroundTruth& truth, Stage stage, std::string timeline)
      : redis_(url), truth_(truth), stage_(stage), timeline_(std::move(timeline)) {}

  std::vector<std::string> look() {
    now_ = number(redis_.list({"TIME"})[0]) * 1000;
    keys_ = all_keys(redis_);
    for (std::string& url : redis_.list({"SMEMBERS", "feeds"})) feeds_.insert(std::move(url));
    look_at_stream();
    for (std::size_t feed = 0; feed < truth_.feeds(); ++feed) look_at_feed(feed);
    look_at_schedule();
    look_at_keys();
    if (!timeline_.empty()) look_at_timeline();
    return std::move(wrongs_);
  }

 private:
  void wrong(const std::string& what) { wrongs_.push_back(what); }

  /// RELIABILITY I5, and that each record refers to the one before it.
  void look_at_stream() {
    std::string last, from = "-";
    for (;;) {
      const Reply page = redis_.ask({"XRANGE", "stream:signals", from, "+", "COUNT", "2000"});
      for (std::size_t i = 0; i < page.size(); ++i) {
        const std::string id(page[i][0].text());
        const Fields fields = page[i][1].pairs();
        const auto record = json::parse(fields.at(1).second).as_object();
        const auto text = [&](const char* name) {
          const auto* value = record.if_contains(name);
          return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
        };
        if (text("seq") != id) wrong("I5: record " + id + " says it is " + text("seq"));
        if (!last.empty() && text("prev") != last)
          wrong("I5: record " + id + " stands after " + last + ", not " + text("prev"));
        last = id;
        from = "(" + id;
        if (text("entity_type") != "post") continue;
        Told& told = told_[text("feed_url") + " " + text("guid")];
        if (text("type") == "post_created") ++told.created;
        if (text("type") == "post_trimmed") ++told.trimmed;
        if (text("type") == "post_created" || text("type") == "post_modified") {
          told.revisions.push_back(record.at("rev").as_int64());
          if (!told.id.empty() && told.id != text("entity_id")) wrong("I2: " + text("guid") + " had two ids");
          told.id = text("entity_id");
        }
      }
      if (page.size() < 2000) break;
    }
    const std::string newest = last.empty() ? "0-0" : last;
    const Reply written = redis_.ask({"HGET", "meta:store", "last_signal"});
    if (!last.empty() && stream_id(std::string(written.text())) < stream_id(newest))
      wrong("I5: meta:store knows of " + std::string(written.text()) + ", the stream of " + newest);
  }

  void look_at_feed(std::size_t feed) {
    if (truth_.withdrawn(feed)) return;
    const std::string url = truth_.url(feed);
    if (!feeds_.contains(url)) return wrong(url + " is no feed");
    const Table state = redis_.table({"HGETALL", "state:feed:" + url});
    const Table map = redis_.table({"HGETALL", url + ":guidmap"});
    const Table digests = packed_digests(std::string(redis_.ask({"GET", "state:items:" + url}).text()));
    const Table sort = redis_.table({"ZRANGE", url + ":sort", "0", "-1", "WITHSCORES"});
    const Table tombs = redis_.table({"ZRANGE", url + ":tombs", "0", "-1", "WITHSCORES"});
    posts_ += map.size();
    if (sort.size() != map.size() || digests.size() != map.size()) {
      wrong("I4: " + url + " has " + std::to_string(map.size()) + " mapped posts, " + std::to_string(sort.size()) +
            " in order, " + std::to_string(digests.size()) + " digests");
    }
    std::map<std::string, Table> entries;  // by guid
    for (const auto& [guid, id] : map) {
      if (!mapped_.insert(redis_.bare(id)).second) wrong("I3: " + id + " is in two maps, or twice");
      const Table& entry = entries.emplace(guid, redis_.table({"HGETALL", id})).first->second;
      look_at_entry(url, guid, id, entry, sort, digests);
      if (tombs.contains(guid)) wrong("I15: " + guid + " is stored and has a tombstone");
    }

    const auto etag = state.find("etag");
    const std::size_t stored = etag == state.end() ? 0 : GroundTruth::version_of(etag->second);
    if (stage_ != Stage::any && stored != truth_.version(feed)) {
      wrong(url + " stands at document " + std::to_string(stored) + " of " + std::to_string(truth_.version(feed)));
    }
    if (stage_ != Stage::any && state.contains("claim")) wrong(url + " is still claimed");
    const std::size_t count = truth_.posts_at(feed, stored);
    for (std::size_t post = 0; post < count; ++post) {
      const std::string guid = GroundTruth::guid(feed, post);
      const auto entry = entries.find(guid);
      if (entry == entries.end()) {
        const bool was_trimmed = told_[url + " " + guid].trimmed > 0 || tombs.contains(guid);
        const bool is_out_of_reach = stage_ == Stage::restored && post + truth_.listed() < count;
        if (!was_trimmed && !is_out_of_reach)
          wrong("I1: " + guid + " is lost; the validators are of document " + std::to_string(stored));
        continue;
      }
      const auto is = [&](std::size_t edits) {
        return entry->second["title"] == GroundTruth::title(feed, post, edits);
      };
      const std::size_t least = truth_.edits_at(feed, post, stored);
      const std::size_t most = truth_.edits_at(feed, post, truth_.version(feed));
      bool known = false;
      for (std::size_t edits = least; edits <= most; ++edits) known = known || is(edits);
      if (!known)
        wrong("I1: " + guid + " is \"" + entry->second["title"] + "\", the document has it edited " +
              std::to_string(least) + " times");
      if (stage_ != Stage::any && !is(most)) wrong("I11: " + guid + " is not as last published");
    }
  }

  void look_at_entry(const std::string& url, const std::string& guid, const std::string& id, const Table& entry,
                     const Table& sort, const Table& digests) {
    const auto field = [&](const char* name) {
      const auto found = entry.find(name);
      return found == entry.end() ? std::string() : found->second;
    };
    if (field("feed_url") != url || field("guid") != guid) wrong("I3: " + id + " is not the " + guid + " of " + url);
    const auto place = sort.find(id);
    if (place == sort.end() || place->second != field("timestamp"))
      wrong("I4: " + id + " stands at " + (place == sort.end() ? "no place" : place->second) + ", its time is " +
            field("timestamp"));
    if (number(field("timestamp")) > now_ / 1000 + 1) wrong("I4: " + id + " is of the future");
    const auto digest = digests.find(redis_.bare(id));
    if (digest == digests.end() || digest->second != packed_mark(field("digest")))
      wrong("I4: the digest of " + id + " differs");
    const std::string text = field("summary").empty() ? field("content") : field("summary");
    if (text.find(field("title") + ":") == std::string::npos)
      wrong("I4: title and text of " + id + " are of two versions");

    const Told& told = told_[url + " " + guid];
    if (told.created != 1) wrong("I5: " + guid + " was created " + std::to_string(told.created) + " times");
    if (told.id != id) wrong("I5: " + guid + " is " + id + ", and was " + told.id + " in the stream");
    std::vector<std::int64_t> revisions(static_cast<std::size_t>(number(field("rev"))));
    for (std::size_t i = 0; i < revisions.size(); ++i) revisions[i] = static_cast<std::int64_t>(i) + 1;
    if (told.revisions != revisions) {
      std::string all;
      for (const std::int64_t revision : told.revisions) all += " " + std::to_string(revision);
      wrong("I5: " + guid + " is revision " + field("rev") + ", the stream tells of" + all);
    }
  }

  /// RELIABILITY I6.
  void look_at_schedule() {
    Table schedule = redis_.table({"ZRANGE", "schedule", "0", "-1", "WITHSCORES"});
    const Table lines = redis_.table({"ZRANGE", "lines", "0", "-1", "WITHSCORES"});
    for (const std::string& key : keys_) {
      if (!key.starts_with("line:")) continue;
      if (!lines.contains(key.substr(5))) wrong("I6: nobody comes to " + key);
      for (const auto& [url, due] : redis_.table({"ZRANGE", key, "0", "-1", "WITHSCORES"})) {
        if (!schedule.emplace(url, due).second) wrong("I6: " + url + " is in " + key + " and elsewhere");
      }
    }
    for (const std::string& url : feeds_) {
      const auto due = schedule.find(url);
      if (due == schedule.end()) {
        wrong("I6: " + url + " is not in the schedule");
      } else if (due->second == "inf" || number(due->second) > now_ + std::int64_t{30} * 24 * 3'600'000) {
        wrong("I6: " + url + " is due at " + due->second);
      }
    }
    for (const auto& [url, due] : schedule) {
      if (!feeds_.contains(url)) wrong("I6: " + url + " is in the schedule and no feed");
    }
    std::int64_t counted = 0;
    for (const auto& [state, count] : redis_.table({"HGETALL", "stats:feeds:states"})) {
      counted += number(count);
      if (number(count) < 0) wrong("I6: there are " + count + " feeds " + state);
    }
    if (counted != static_cast<std::int64_t>(feeds_.size()))
      wrong("I6: the states count " + std::to_string(counted) + " feeds of " + std::to_string(feeds_.size()));
  }

  /// RELIABILITY I2, I3, I13: every key belongs to something, every number is used once.
  void look_at_keys() {
    static const std::set<std::string> single{"ids:Entry",
                                              "feeds",
                                              "state:feeds",
                                              "schedule",
                                              "lines",
                                              "lock:fleet",
                                              "lock:push_out",
                                              "quarantine",
                                              "stream:signals",
                                              "meta:store",
                                              "meta:embedded",
                                              "state:workers",
                                              "state:workers:other",
                                              "stats:feeds:states",
                                              "conf:hosts",
                                              "channels",
                                              "state:watches",
                                              "state:watchers",
                                              "state:channels_gone",
                                              "state:watch_version",
                                              "state:hosts:closed",
                                              "state:wake",
                                              "state:signals_places",
                                              "channel_floors"};
    static const std::vector<std::string> named{"line:",
                                                "state:worker:",
                                                "state:host:",
                                                "state:trial:",
                                                "lock:delivery:",
                                                "deliver:",
                                                "channel:",
                                                "zchannel:",
                                                "channel_sortorder_",
                                                "state:channels:",
                                                "state:watches:",
                                                "list:notification:",
                                                "hash:notification:",
                                                "stats:feeds:in:",
                                                "push_out:",
                                                "stats:push_out:",
                                                "secret:"};
    std::size_t entries = 0;
    for (const std::string& key : keys_) {
      const auto begins = [&](const std::string& start) { return key.starts_with(start); };
      if (begins("Entry:")) {
        ++entries;
        if (!mapped_.contains(key)) wrong("I3: " + key + " is in no map");
        continue;
      }
      if (single.contains(key) || std::ranges::any_of(named, begins)) continue;
      if (begins("state:feed:") && feeds_.contains(key.substr(11))) continue;
      if (begins("state:items:") && feeds_.contains(key.substr(12))) continue;
      if (begins("state:volatile:") && feeds_.contains(key.substr(15))) continue;
      if (begins("Feed:") && feeds_.contains(key.substr(5))) continue;
      const auto colon = key.rfind(':');
      static const std::set<std::string> endings{":sort", ":guidmap", ":tombs"};
      if (colon != std::string::npos && endings.contains(key.substr(colon)) && feeds_.contains(key.substr(0, colon)))
        continue;
      wrong("I13: the key " + key + " belongs to nothing");
    }
    if (entries != posts_) wrong("I3: " + std::to_string(entries) + " entries, " + std::to_string(posts_) + " mapped");
    std::size_t created = 0;
    for (const auto& [post, told] : told_) created += told.created;
    const Reply counter = redis_.ask({"GET", "ids:Entry"});
    if (static_cast<std::size_t>(counter.integer()) < created)  // RELIABILITY L8 skips numbers after a loss
      wrong("I2: " + std::to_string(counter.integer()) + " numbers given out for " + std::to_string(created) +
            " posts");
  }

  /// The second half of RELIABILITY I4.
  void look_at_timeline() {
    const Table timeline = redis_.table({"ZRANGE", "zchannel:" + timeline_ + ":posts", "0", "-1", "WITHSCORES"});
    std::size_t missing = 0;
    for (std::size_t feed = 0; feed < truth_.feeds(); ++feed) {
      for (const auto& [id, score] : redis_.table({"ZRANGE", truth_.url(feed) + ":sort", "0", "-1", "WITHSCORES"})) {
        const auto found = timeline.find(id);
        missing += found == timeline.end() || found->second != score ? 1 : 0;
      }
    }
    if (missing > 0) wrong("I4: " + std::to_string(missing) + " posts are missing from the timeline");
    if (timeline.size() > posts_) wrong("I4: the timeline has posts that are gone");
  }

  Connection redis_;
  const GroundTruth& truth_;
  const Stage stage_;
  const std::string timeline_;
  std::int64_t now_ = 0;
  std::vector<std::string> keys_;
  std::set<std::string> feeds_, mapped_;
  std::size_t posts_ = 0;
  std::map<std::string, Told> told_;  // by feed and guid
  std::vector<std::string> wrongs_;
};

}  // namespace

std::vector<std::string> wrongs(const std::string& redis_url, const GroundTruth& truth, Stage stage,
                                const std::string& timeline) {
  return Witness(redis_url, truth, stage, timeline).look();
}

std::string wrongs_text(const std::string& redis_url, const GroundTruth& truth, Stage stage,
                        const std::string& timeline) {
  const std::vector<std::string> all = wrongs(redis_url, truth, stage, timeline);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 20); ++i) text += all[i] + "\n";
  if (all.size() > 20) text += "and " + std::to_string(all.size() - 20) + " more\n";
  return text;
}

namespace {

/// The store's own record, without the figures that the fleet's leader updates now and then.
std::string about_store(Connection& redis) {
  const std::vector<std::string> fields = redis.list({"HGETALL", "meta:store"});
  std::set<std::string> kept;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i] != "claimed" && fields[i] != "differing" && fields[i] != "oldest_success")
      kept.insert(fields[i] + "=" + fields[i + 1]);
  }
  std::string text;
  for (const std::string& field : kept) text += field + "\n";
  return text;
}

}  // namespace

std::map<std::string, std::string> fingerprint(const std::string& url) {
  Connection redis(url);
  std::map<std::string, std::string> digests;
  for (const std::string& key : all_keys(redis)) {
    const bool of_workers =
        key.starts_with("state:worker") || key.starts_with("lock:") || key.starts_with("state:host:");
    if (of_workers) continue;
    digests[key] = key == "meta:store" ? about_store(redis) : redis.list({"DEBUG", "DIGEST-VALUE", key})[0];
  }
  return digests;
}

}  // namespace feedmill::test
