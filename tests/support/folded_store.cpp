#include "tests/support/folded_store.hpp"

#include <array>
#include <sstream>
#include <stdexcept>

#include <boost/json.hpp>

#include "storage/redis/redis.hpp"

namespace feedmill::test {
namespace {

namespace json = boost::json;
using Table = FoldedStore::Table;

constexpr std::array outside_of_posts{"bytes", "digest"};
constexpr std::array outside_of_feeds{"author", "format", "generator", "san_ver", "updated"};

std::string text(const json::value& value) {
  if (value.is_string()) return std::string(value.as_string());
  std::string bytes;  // {"hex": …}: the bytes are not UTF-8
  const std::string hex(value.at("hex").as_string());
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string text(const json::object& object, const char* name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? std::string() : text(*value);
}

/// The table in a list ["name", "value", …].
Table table(const json::value& list) {
  Table all;
  const json::array& words = list.as_array();
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) all[text(words[i])] = text(words[i + 1]);
  return all;
}

std::int64_t rev_of(const Table& post) {
  const auto rev = post.find("rev");
  return rev == post.end() ? 0 : std::stoll(rev->second);
}

Table as_post(Table fields) {
  for (const char* name : outside_of_posts) fields.erase(name);
  return fields;
}

Table as_record(Table fields) {
  for (const char* name : outside_of_feeds) fields.erase(name);
  return fields;
}

std::string shown(const Table& fields) {
  std::string all;
  for (const auto& [name, value] : fields) all += " " + name + "=" + value.substr(0, 60);
  return all;
}

class Looking {
 public:
  explicit Looking(const std::string& url) : redis_(*parse_redis_url(url), std::chrono::seconds(10)) {}
  Reply ask(const std::vector<std::string>& words) {
    auto reply = redis_.command(Words(words.begin(), words.end()));
    if (!reply) throw std::runtime_error("cannot look: " + reply.error().detail);
    return *reply;
  }
  Table hash(const std::string& key) {
    Table all;
    for (auto& [name, value] : ask({"HGETALL", key}).pairs()) all[name] = value;
    return all;
  }

 private:
  Redis redis_;
};

}  // namespace

FoldedStore::FoldedStore(const std::string& snapshot, Read read) : read_(std::move(read)) {
  std::istringstream lines(snapshot);
  bool complete = false;
  for (std::string line; std::getline(lines, line);) {
    const json::object object = json::parse(line).as_object();
    const std::string kind = text(object, "t");
    if (seq_.empty() && kind == "feedmill") seq_ = text(object, "seq");
    if (kind == "feed") load_feed(object);
    if (kind == "entry") load_entry(object);
    if (kind == "again") {  // the feed changed while it was exported: all of it follows again
      std::erase_if(posts_, [&](const auto& post) { return post.second.at("feed_url") == loading_; });
      feeds_.erase(loading_);
    }
    complete = kind == "total";
  }
  if (seq_.empty() || !complete) throw std::runtime_error("this is no snapshot: " + snapshot.substr(0, 300));
}

void FoldedStore::load_feed(const json::object& line) {
  loading_ = text(line, "url");
  const Table state = table(line.at("state"));
  const auto moved = state.find("fetch_url");
  feeds_[loading_] = {as_record(table(line.at("feed"))), moved == state.end() ? "" : moved->second};
}

void FoldedStore::load_entry(const json::object& line) {
  Table fields = as_post(table(line.at("fields")));
  fields["feed_url"] = loading_;
  posts_["Entry:" + text(line, "id")] = std::move(fields);
}

void FoldedStore::apply(const std::string& event) {
  const json::object object = json::parse(event).as_object();
  const std::string type = text(object, "type");
  if (type.starts_with("post_")) apply_post(type, object);
  if (type.starts_with("feed_")) apply_feed(type, object);
}

void FoldedStore::apply_post(const std::string& type, const json::object& event) {
  const std::string id = text(event, "entity_id");
  if (type == "post_deleted" || type == "post_trimmed") {
    posts_.erase(id);
    return;
  }
  const std::int64_t rev = event.at("rev").as_int64();
  if (const auto held = posts_.find(id); held != posts_.end() && rev_of(held->second) >= rev) return;
  Table fields;
  if (const json::value* const post = event.if_contains("post")) {
    for (const auto& [name, value] : post->as_object()) fields[name] = text(value);
    fields.erase("content_text");
    fields["feed_url"] = text(event, "feed_url");
    fields["guid"] = text(event, "guid");
    fields["rev"] = std::to_string(rev);
  } else {
    fields = as_post(read_(id));
    if (fields.empty()) return;  // the post is gone; its event follows
  }
  posts_[id] = std::move(fields);
}

void FoldedStore::apply_feed(const std::string& type, const json::object& event) {
  const std::string url = text(event, "entity_id");
  if (type == "feed_removed") feeds_.erase(url);
  if (type == "feed_rekeyed") apply_rekeyed(event.at("data").as_object());
  if (type == "feed_moved") {
    const std::string to = text(event.at("data").as_object(), "to");
    feeds_[url].fetch_url = to == url ? "" : to;
  }
  if (type != "feed_created" && type != "feed_modified" && type != "feed_mended") return;
  Table record;
  if (const json::value* const feed = event.if_contains("feed")) {
    for (const auto& [name, value] : feed->as_object()) record[name] = text(value);
  } else {
    record = read_("Feed:" + url);
  }
  feeds_[url].record = as_record(std::move(record));
}

void FoldedStore::apply_rekeyed(const json::object& data) {
  for (const json::value& row : data.at("posts").as_array()) {
    const json::object& one = row.as_object();
    const auto held = posts_.find(text(one, "id"));
    if (held == posts_.end() || rev_of(held->second) > one.at("rev").as_int64()) continue;
    held->second["guid"] = text(one, "to");
    if (const json::value* const set = one.if_contains("set")) {
      for (const auto& [name, value] : set->as_object()) held->second[name] = text(value);
    }
  }
}

std::string FoldedStore::differs_from(const std::string& redis_url) const {
  Looking store(redis_url);
  std::string wrong;
  const auto compare = [&](const std::string& what, const Table& mine, const Table& theirs) {
    if (mine != theirs) wrong += what + "\n  folded:" + shown(mine) + "\n  stored:" + shown(theirs) + "\n";
  };
  std::map<std::string, Table> posts;
  std::string cursor = "0";
  do {
    const Reply page = store.ask({"SCAN", cursor, "MATCH", "Entry:*", "COUNT", "1000"});
    cursor = page[0].text();
    for (const std::string& id : page[1].texts()) posts[id] = as_post(store.hash(id));
  } while (cursor != "0");
  for (const auto& [id, fields] : posts) {
    const auto mine = posts_.find(id);
    compare(id, mine == posts_.end() ? Table() : mine->second, fields);
  }
  for (const auto& [id, fields] : posts_) {
    if (!posts.contains(id)) compare(id, fields, {});
  }
  std::map<std::string, Table> orders, guids;
  for (const auto& [id, fields] : posts_) {
    orders[fields.at("feed_url")][id] = fields.at("timestamp");
    guids[fields.at("feed_url")][fields.at("guid")] = id;
  }
  std::map<std::string, bool> registered;
  for (const std::string& url : store.ask({"SMEMBERS", "feeds"}).texts()) {
    registered[url] = true;
    const Table record = store.hash("Feed:" + url);
    if (!record.contains("format")) continue;  // never read
    const auto mine = feeds_.find(url);
    compare(url, mine == feeds_.end() ? Table() : mine->second.record, as_record(record));
    const std::string moved(store.ask({"HGET", "state:feed:" + url, "fetch_url"}).text());
    if (mine != feeds_.end() && mine->second.fetch_url != moved) {
      wrong += url + " is fetched from " + moved + ", folded: " + mine->second.fetch_url + "\n";
    }
    Table order;
    for (auto& [id, score] : store.ask({"ZRANGE", url + ":sort", "0", "-1", "WITHSCORES"}).pairs()) order[id] = score;
    compare(url + ":sort", orders[url], order);
    compare(url + ":guidmap", guids[url], store.hash(url + ":guidmap"));
  }
  for (const auto& [url, feed] : feeds_) {
    if (!registered.contains(url)) wrong += url + " is no feed, but folded:" + shown(feed.record) + "\n";
  }
  return wrong;
}

}  // namespace feedmill::test
