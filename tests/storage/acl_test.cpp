// The Redis users of the published ACL file: what each may do, and that the product needs no further permissions
// (SECURITY §10).
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>
#include <sstream>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/feeds/logins.hpp"
#include "storage/queues/requests.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/queues/topics.hpp"
#include "storage/redis/redis.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::acl_test {
namespace {

namespace fs = std::filesystem;
using test::feed_url;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string lower(std::string_view text) {
  std::string low;
  for (const char c : text) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// The commands that users.acl grants to a user.
std::set<std::string> granted(const std::string& user) {
  std::istringstream lines(content_of(fs::path(FEEDMILL_SOURCE) / "deploy/redis/users.acl"));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("user " + user + " ")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word.starts_with('+')) names.insert(word.substr(1));
    }
  }
  return names;
}

/// Adds the upper-case words that are quoted in the text after `before` to `words`.
void find_words(const std::string& text, std::string_view before, char quote, std::set<std::string>& words) {
  for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    const auto from = at + before.size();
    const auto to = text.find(quote, from);
    const std::string word = text.substr(from, to - from);
    if (word.size() > 1 && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      words.insert(lower(word));
    }
  }
}

/// Whether a source belongs to verify or the archives, which need the administrator's user.
bool is_for_admin(const fs::path& source) {
  const std::string name = source.filename().string();
  return name.starts_with("verify") || name.starts_with("archive") || name == "repair.lua" ||
         name == "export_feed.lua" || name == "import_feed.lua";
}

/// The commands that the sources of storage/ use, inside scripts and outside.
std::set<std::string> used(bool for_admin = false) {
  std::set<std::string> words;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(FEEDMILL_SOURCE) / "storage")) {
    if (is_for_admin(entry.path()) != for_admin) continue;
    const std::string text = content_of(entry.path());
    const auto extension = entry.path().extension();
    if (extension == ".lua") {
      for (const char* const before : {"redis.call('", "redis.pcall('"}) find_words(text, before, '\'', words);
    } else if (extension == ".cpp" && entry.path().filename() != "reply_shape.cpp") {
      find_words(text, "command({\"", '"', words);
      find_words(text, "wait({\"", '"', words);
      find_words(text, "append({\"", '"', words);
      find_words(text, "push_back({\"", '"', words);
      find_words(text, "Words words{\"", '"', words);
      find_words(text, " {\"", '"', words);
      find_words(text, "{{\"", '"', words);
    }
  }
  return words;
}

class Users : public test::StoreTest {
 protected:
  /// Result of open() while the worker's user lacks one permission.
  StoreResult<std::string> without(const std::string& command) {
    EXPECT_EQ(redis({"ACL", "SETUSER", "feedmill", "-" + command}), "OK") << command;
    auto opened = Store(StoreOptions{.url = server.url()}).open();
    EXPECT_EQ(redis({"ACL", "SETUSER", "feedmill", "+" + command}), "OK") << command;
    return opened;
  }
  std::string as(const std::string& user, const std::vector<std::string>& words) {
    Redis connection(*parse_redis_url(server.url_of(user)), Milliseconds(5000));
    const auto reply = connection.command(Words(words.begin(), words.end()));
    return reply ? "ok" : reply.error().detail.substr(0, 6);
  }
};

TEST_F(Users, ACommandThatIsMissingIsNamedAtTheStart) {
  std::set<std::string> named;
  for (const std::string& command : granted("feedmill")) {
    const auto opened = without(command);
    if (opened) continue;
    EXPECT_EQ(opened.error().code, StoreError::Code::auth) << command << ": " << opened.error().detail;
    EXPECT_NE(opened.error().detail.find(command), std::string::npos) << command << ": " << opened.error().detail;
    named.insert(command);
  }
  // Every command that storage/ uses is checked. AUTH cannot be withheld; SELECT, WAIT and WAITAOF are sent only when
  // needed; SENTINEL goes to sentinels; CLUSTER goes to cluster nodes, and its error names it.
  std::set<std::string> needed = used();
  EXPECT_GT(needed.size(), 45U);
  for (const char* const other : {"auth", "select", "wait", "waitaof", "config", "sentinel", "cluster"})
    needed.erase(other);
  for (const char* const option : {"block", "streams"}) needed.erase(option);
  for (const std::string& command : needed) {
    const auto same = [&](const std::string& name) { return name == command || name.starts_with(command + "|"); };
    EXPECT_TRUE(std::any_of(named.begin(), named.end(), same))
        << command << " is used, and nobody looks whether it may be";
  }
}

TEST_F(Users, KeysAndChannelsThatAreMissingAreNoticedAtTheStart) {
  redis({"ACL", "SETUSER", "feedmill", "resetkeys", "~other:*"});
  EXPECT_EQ(Store(StoreOptions{.url = server.url()}).open().error().code, StoreError::Code::auth);
  redis({"ACL", "SETUSER", "feedmill", "allkeys", "resetchannels"});
  const auto mute = Store(StoreOptions{.url = server.url()}).open();
  ASSERT_FALSE(mute);
  EXPECT_NE(mute.error().detail.find("publish"), std::string::npos) << mute.error().detail;
  // The permissions of the file from before requests existed.
  redis({"ACL", "SETUSER", "feedmill", "&post_*", "&feed_*", "-xdel", "-memory|usage"});
  const auto older = Store(StoreOptions{.url = server.url()}).open();
  ASSERT_FALSE(older);
  EXPECT_NE(older.error().detail.find("+xdel +memory|usage &request_*"), std::string::npos) << older.error().detail;
}

TEST_F(Users, ChannelsOfNoticesThatAreMissingAreNamedAtTheStart) {
  // The permissions of an earlier file, without channels of notices.
  redis({"ACL", "SETUSER", "feedmill", "resetchannels", "&post_*", "&feed_*", "&request_*"});
  redis({"FLUSHALL"});
  const auto mute = Store(StoreOptions{.url = server.url()}).open();
  ASSERT_FALSE(mute);
  EXPECT_EQ(mute.error().code, StoreError::Code::auth);
  EXPECT_NE(mute.error().detail.find("grant &notifications:* "), std::string::npos) << mute.error().detail;
  EXPECT_EQ(redis({"DBSIZE"}), "0") << "it wrote before it looked";
  const auto prefixed = Store(StoreOptions{.url = server.url(), .key_prefix = "mine:"}).open();
  ASSERT_FALSE(prefixed);
  EXPECT_NE(prefixed.error().detail.find("publish"), std::string::npos) << prefixed.error().detail;
  redis({"ACL", "SETUSER", "feedmill", "&notifications:*"});
  EXPECT_TRUE(Store(StoreOptions{.url = server.url()}).open());
}

/// SECURITY K7.
TEST_F(Users, KeysOfLoginsThatAreMissingAreNamedAtTheStart) {
  redis({"ACL", "SETUSER", "feedmill", "resetkeys", "~[^s]*", "~s[^e]*", "~"});
  const auto opened = Store(StoreOptions{.url = server.url_of("feedmill")}).open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, StoreError::Code::auth);
  EXPECT_NE(opened.error().detail.find("grant ~secret:* (ACL SETUSER"), std::string::npos) << opened.error().detail;
}

TEST_F(Users, OnlyWorkersSeeLogins) {
  redis({"ACL", "LOG", "RESET"});
  Logins logins(store);
  ASSERT_TRUE(logins.put({.name = "reader/paper", .origin = "https://paper.example", .header_line = "X-Key: s3cret"}));
  EXPECT_TRUE(logins.find("reader/paper"));
  EXPECT_TRUE(logins.list("", "", 10));
  RequestStream stream(store);
  const Asked asked{
      .id = "1-1", .app = "reader", .ref = "r-1", .op = "set", .feed_url = "", .members = "", .hash = "h"};
  ASSERT_TRUE(stream.vouch(asked, Milliseconds(60'000)));
  EXPECT_TRUE(stream.is_vouched(asked));
  EXPECT_EQ(redis({"ACL", "LOG"}), "") << "nothing was refused to the worker";
  EXPECT_EQ(as("feedmill_admin", {"HGETALL", "secret:logins:reader"}), "ok");
  for (const char* const user : {"feedmill_viewer", "feedmill_reader", "feedmill_consumer", "feedmill_app"}) {
    for (const std::string key : {"secret:logins:reader", "secret:owners", "secret:asked:reader:r-1"}) {
      for (const char* const command : {"HGETALL", "SMEMBERS", "GET", "TYPE", "EXISTS", "DEL"})
        EXPECT_EQ(as(user, {command, key}), "NOPERM") << user << " " << command << " " << key;
    }
    EXPECT_EQ(as(user, {"SET", "secret:asked:reader:r-2", "h"}), "NOPERM") << user << " cannot vouch for itself";
    EXPECT_EQ(as(user, {"HGETALL", "{p000.x}:secret:logins:reader"}), "NOPERM") << user << " of a partition";
  }
}

TEST_F(Users, TheWorkerNeedsNothingElse) {
  add();
  refresh({post("a", 1), post("b", 2)});
  refresh({post("a", 1, "changed")});
  ASSERT_TRUE(Channels(store).add(std::vector<std::string>{"news"}));
  ASSERT_TRUE(Channels(store).follow(std::vector<Membership>{{"news", feed_url}}));
  ASSERT_TRUE(Fleet(store).figures());
  ASSERT_TRUE(EventStream(store).trim());
  ASSERT_TRUE(Feeds(store).remove(feed_url));
  EXPECT_EQ(redis({"ACL", "LOG"}), "") << "nothing was refused";
}

/// Secrets of webhooks and of the hub's subscribers, and tokens of topics (SECURITY §10).
TEST_F(Users, OnlyWorkersSeeSubscribersAndTheirSecrets) {
  Subscribers subscribers(store);
  Subscriber webhook;
  webhook.url = "https://receiver.example/hook";
  webhook.secret = "whsec_c2VjcmV0";
  const auto id = subscribers.add(webhook);
  ASSERT_TRUE(id) << id.error().detail;
  webhook.id = *id;
  const Topic topic{TopicKind::feed, feed_url};
  Topics topics(store);
  const auto address = topics.share(topic);
  ASSERT_TRUE(address) << address.error().detail;
  Subscriber at_hub;
  at_hub.url = "https://reader.example/callback";
  at_hub.topic = topic;
  at_hub.topic_url = "https://me.example/t/x.atom";
  at_hub.intent = {"subscribe", "s3cret", Milliseconds(1000), "", 0};
  ASSERT_TRUE(subscribers.ask(at_hub));

  std::istringstream names(redis({"KEYS", "push_out:*"}));
  std::set<std::string> keys;
  for (std::string key; names >> key;) keys.insert(key);
  EXPECT_TRUE(keys.contains("push_out:subscriber:" + *id));
  EXPECT_GE(keys.size(), 5U);
  for (const char* const user : {"feedmill_viewer", "feedmill_reader", "feedmill_consumer", "feedmill_app"}) {
    for (const std::string& key : keys) {
      for (const char* const command : {"HGETALL", "GET", "TYPE", "EXISTS"}) {
        EXPECT_EQ(as(user, {command, key}), "NOPERM") << user << " " << command << " " << key;
      }
      EXPECT_EQ(as(user, {"ZRANGE", key, "0", "-1"}), "NOPERM") << user << " " << key;
      EXPECT_EQ(as(user, {"DEL", key}), "NOPERM") << user << " " << key;
    }
  }

  // The worker needs no other permission for any of these operations.
  redis({"ACL", "LOG", "RESET"});
  EXPECT_TRUE(subscribers.edit(webhook, webhook));
  EXPECT_TRUE(subscribers.rotate(*id, "whsec_bmV3", Milliseconds(1000)));
  EXPECT_TRUE(subscribers.resume(*id));
  EXPECT_TRUE(subscribers.get(*id));
  EXPECT_TRUE(subscribers.list(Subscriber::Kind::hub, "", 10));
  EXPECT_TRUE(subscribers.counts());
  EXPECT_TRUE(subscribers.lead("worker", Milliseconds(30'000)));
  EXPECT_TRUE(subscribers.is_led());
  EXPECT_TRUE(subscribers.begin_leading());
  EXPECT_TRUE(subscribers.changes(0, 10));
  const Subscribers::Concerned concerned{*id, "9-0"};
  EXPECT_TRUE(subscribers.wake("worker", std::span(&concerned, 1), "10-0"));
  const auto taken = subscribers.take(10, Milliseconds(60'000), "worker");
  ASSERT_TRUE(taken) << taken.error().detail;
  EXPECT_EQ(taken->subscribers.size(), 2U);
  for (const Subscriber& one : taken->subscribers) {
    SubscriberSettlement settled{one.id, taken->claim, one.cursor, SubscriberSettlement::Then::later, {}, {}};
    settled.delay = Milliseconds(1000);
    EXPECT_TRUE(subscribers.settle(std::span(&settled, 1), Milliseconds(60'000)));
  }
  EXPECT_TRUE(subscribers.expire(10));
  EXPECT_TRUE(subscribers.deny(topic, "", 10));
  EXPECT_TRUE(topics.find(topic));
  EXPECT_TRUE(topics.find(address->token));
  EXPECT_TRUE(topics.list("", 10));
  EXPECT_TRUE(topics.unshare(topic));
  EXPECT_TRUE(subscribers.lead("worker", Milliseconds(0)));
  EXPECT_TRUE(subscribers.remove(*id));
  EXPECT_EQ(redis({"ACL", "LOG"}), "") << "nothing was refused";
}

TEST_F(Users, ReadersReadOnlyPublicKeys) {
  add();
  refresh({post("a", 1)});
  const std::string reader = "feedmill_reader";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"HGETALL", "Entry:1"},
           {"HGETALL", "Feed:" + feed_url},
           {"ZREVRANGE", feed_url + ":sort", "0", "19"},
           {"HGET", feed_url + ":guidmap", "a"},
           {"SMEMBERS", "feeds"},
           {"XRANGE", "stream:signals", "-", "+"},
           {"XREAD", "COUNT", "1", "STREAMS", "stream:signals", "0"},
           {"SUBSCRIBE", "post_created"},
           {"PSUBSCRIBE", "feed_*"},
           {"PSUBSCRIBE", "notifications:*"},
           {"SUBSCRIBE", "notifications:anna"},
           {"SMEMBERS", "channels"},
           {"ZRANGE", "zchannel:news:posts", "0", "-1"},
           {"LRANGE", "list:notification:user_id:anna", "0", "-1"},
           {"HGETALL", "meta:store"},
       }) {
    EXPECT_EQ(as(reader, words), "ok") << words[0] << " " << words[1];
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"HGETALL", "state:feed:" + feed_url},
           {"HGETALL", "state:host:example.org"},
           {"HGETALL", "conf:hosts"},
           {"HGETALL", "websub:callback:0"},
           {"GET", "ids:Entry"},
           {"ZRANGE", "schedule", "0", "-1"},
           {"HSET", "Entry:1", "title", "x"},
           {"DEL", "Entry:1"},
           {"PUBLISH", "post_created", "x"},
           {"PUBLISH", "notifications:anna", "x"},
           {"SUBSCRIBE", "other"},
           {"KEYS", "*"},
           {"SCAN", "0"},
           {"DUMP", "Entry:1"},
           {"EVAL", "return 1", "0"},
           {"CONFIG", "GET", "*"},
           {"FLUSHALL"},
           {"SORT_RO", "feeds"},
           {"XREADGROUP", "GROUP", "delivery", "thief", "STREAMS", "stream:signals", ">"},
           {"XACK", "stream:signals", "delivery", "1-0"},
           {"XGROUP", "CREATE", "stream:signals", "mine", "0"},
           {"XGROUP", "CREATE", "Entry:999", "mine", "0", "MKSTREAM"},
       }) {
    EXPECT_EQ(as(reader, words), "NOPERM") << words[0];
  }
}

/// A server that loads the published ACL file, with each user's name as the password, as OPERATIONS.md describes.
class UsersFile : public testing::Test {
 protected:
  explicit UsersFile(const std::string& key_prefix = "")
      : directory(make_directory(key_prefix)),
        server({"--aclfile", (directory / "users.acl").string(), "--appendonly", "yes", "--appendfsync", "always"}) {}
  ~UsersFile() override { fs::remove_all(directory); }

  static fs::path make_directory(const std::string& key_prefix) {
    std::string path = (fs::temp_directory_path() / "feedmill-acl-XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    std::ifstream published(fs::path(FEEDMILL_SOURCE) / "deploy/redis/users.acl");
    std::ofstream file(fs::path(path) / "users.acl");
    for (std::string line; std::getline(published, line);) {
      const std::string user = line.substr(5, line.find(' ', 5) - 5);
      const auto at = line.find("resetpass");
      file << (user == "default" ? line : line.substr(0, at) + ">" + user + line.substr(at + 9)) << '\n';
    }
    file.close();
    if (key_prefix.empty()) return path;
    const std::string page = content_of(fs::path(FEEDMILL_SOURCE) / "docs/OPERATIONS.md");
    const std::size_t at = page.find("`sed '"), end = page.find('`', at + 1);
    std::string recipe = page.substr(at + 1, end - at - 1);
    for (std::size_t found; (found = recipe.find("PREFIX")) != recipe.npos;) recipe.replace(found, 6, key_prefix);
    EXPECT_EQ(std::system((recipe + " -i " + path + "/users.acl").c_str()), 0);
    return path;
  }
  std::string as(const std::string& url, const std::vector<std::string>& words) {
    Redis connection(*parse_redis_url(url), Milliseconds(5000));
    const auto reply = connection.command(Words(words.begin(), words.end()));
    return reply ? "ok" : reply.error().detail.substr(0, 6);
  }

  const fs::path directory;
  test::RedisServer server;
};

class UsersFileWithAPrefix : public UsersFile {
 protected:
  UsersFileWithAPrefix() : UsersFile("mine:") {}
};

/// Keys of the whole deployment start with a brace, so no pattern that begins with the prefix matches them.
TEST_F(UsersFileWithAPrefix, LetsWorkersHaveTheOneStreamOfAllPartitions) {
  StoreOptions options{.url = server.url_of("feedmill"), .key_prefix = "mine:", .partition = {0, 4}};
  const auto opened = Store(options).open();
  EXPECT_TRUE(opened) << opened.error().detail;
  options.of_all = true;
  Store of_all(options);
  const auto all = of_all.open();
  ASSERT_TRUE(all) << all.error().detail;
  EXPECT_TRUE(Subscribers(of_all).add({}));
  options.key_prefix = "others:";
  const auto others = Store(options).open();
  ASSERT_FALSE(others);
  EXPECT_NE(others.error().detail.find("grant ~{others:stream:signals}:* (ACL"), std::string::npos)
      << others.error().detail;
}

TEST_F(UsersFile, RejectsLoginsWithoutAPassword) {
  EXPECT_EQ(as(server.admin_url(), {"SET", "x", "y"}), "NOAUTH");
  EXPECT_EQ(as(server.admin_url(), {"ACL", "WHOAMI"}), "NOAUTH");
  EXPECT_EQ(as("unix://default:default@" + server.socket().string(), {"PING"}), "WRONGP");
  const auto opened = Store(StoreOptions{.url = server.url_of("feedmill")}).open();
  EXPECT_TRUE(opened) << opened.error().detail;
}

/// Redis replays its append-only file as the user `default`, and skips what that user may not do in transactions and
/// scripts (https://github.com/redis/redis/issues/14541).
TEST_F(UsersFile, LosesNothingWhenRedisStartsAgain) {
  const auto store = [&] { return Store(StoreOptions{.url = server.url_of("feedmill")}); };
  {
    Store before = store();
    ASSERT_TRUE(before.open());
    ASSERT_TRUE(Feeds(before).add(std::vector{NewFeed{.feed_url = feed_url}}));
  }
  server.kill();
  server.start();
  Store after = store();
  auto opened = after.open();
  // The server asks for a password before it reports that it is loading, so start() may have returned early.
  while (!opened && opened.error().code == StoreError::Code::loading) opened = after.open();
  ASSERT_TRUE(opened) << opened.error().detail;
  const auto urls = Feeds(after).urls_after("", 10'000);
  ASSERT_TRUE(urls);
  EXPECT_EQ(*urls, std::vector<std::string>{feed_url});
}

TEST_F(UsersFile, LetsApplicationsAskAndWriteNothingElse) {
  const std::string application = server.url_of("feedmill_app");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"XADD", "stream:requests", "*", "op", "add"},
           {"MULTI"},
           {"XRANGE", "stream:signals", "-", "+"},
           {"HGETALL", "Entry:1"},
           {"SUBSCRIBE", "request_done", "request_failed"},
       }) {
    EXPECT_EQ(as(application, words), "ok") << words[0];
  }
  Redis connection(*parse_redis_url(application), Milliseconds(5000));
  ASSERT_TRUE(connection.command({"MULTI"}));
  ASSERT_TRUE(connection.command({"XADD", "stream:requests", "*", "op", "add"}));
  EXPECT_TRUE(connection.command({"EXEC"}));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"XADD", "stream:signals", "*", "type", "x"},
           {"XADD", "other", "*", "op", "add"},
           {"XDEL", "stream:requests", "1-1"},
           {"XTRIM", "stream:requests", "MAXLEN", "0"},
           {"DEL", "stream:requests"},
           {"XRANGE", "stream:requests", "-", "+"},
           {"HSET", "Entry:1", "title", "x"},
           {"HGETALL", "state:requests"},
           {"GET", "state:request:default:1"},
           {"PUBLISH", "request_done", "x"},
           {"EVAL", "return 1", "0"},
       }) {
    EXPECT_EQ(as(application, words), "NOPERM") << words[0];
  }
}

TEST_F(UsersFile, LetsConsumersHaveTheStreamAndNothingElse) {
  const std::string consumer = server.url_of("feedmill_consumer"), sorted = feed_url + ":sort";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"XGROUP", "CREATE", "stream:signals", "mine", "0", "MKSTREAM"},
           {"XREADGROUP", "GROUP", "mine", "one", "STREAMS", "stream:signals", ">"},
           {"XACK", "stream:signals", "mine", "1-0"},
           {"XAUTOCLAIM", "stream:signals", "mine", "one", "60000", "0"},
           {"XPENDING", "stream:signals", "mine"},
           {"HGETALL", "Entry:1"},
           {"ZREVRANGE", sorted, "0", "19"},
           {"SUBSCRIBE", "post_created"},
       }) {
    EXPECT_EQ(as(consumer, words), "ok") << words[0];
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"XGROUP", "CREATE", sorted, "mine", "0", "MKSTREAM"},
           {"XGROUP", "CREATE", "Entry:999", "mine", "0", "MKSTREAM"},
           {"XREADGROUP", "GROUP", "mine", "one", "STREAMS", "Entry:999", ">"},
           {"XGROUP", "DESTROY", "stream:signals", "delivery"},
           {"XGROUP", "SETID", "stream:signals", "delivery", "$"},
           {"XADD", "stream:signals", "*", "type", "x"},
           {"XTRIM", "stream:signals", "MAXLEN", "0"},
           {"XDEL", "stream:signals", "1-0"},
           {"DEL", "stream:signals"},
           {"HSET", "Entry:1", "title", "x"},
           {"HGETALL", "state:feed:" + feed_url},
           {"PUBLISH", "post_created", "x"},
           {"EVAL", "return 1", "0"},
       }) {
    EXPECT_EQ(as(consumer, words), "NOPERM") << words[0];
  }
}

TEST_F(Users, ViewersReadWorkerStateButNoSecretsAndNeverWrite) {
  add();
  refresh({post("a", 1)});
  const std::string viewer = "feedmill_viewer";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"HGETALL", "Entry:1"},
                                             {"HGETALL", "state:feed:" + feed_url},
                                             {"HGETALL", "state:host:example.org"},
                                             {"ZRANGE", "schedule", "0", "-1"},
                                             {"XINFO", "GROUPS", "stream:signals"},
                                             {"INFO", "server"},
                                             {"TIME"}}) {
    EXPECT_EQ(as(viewer, words), "ok") << words[0];
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"HGETALL", "websub:callback:0"},
                                             {"HGETALL", "conf:hosts"},
                                             {"HSET", "Entry:1", "title", "x"},
                                             {"DEL", "Entry:1"},
                                             {"XACK", "stream:signals", "g", "1"},
                                             {"PUBLISH", "post_created", "x"},
                                             {"EVAL", "return 1", "0"},
                                             {"SCRIPT", "LOAD", "return 1"},
                                             {"SCAN", "0"},
                                             {"CONFIG", "GET", "*"}}) {
    EXPECT_EQ(as(viewer, words), "NOPERM") << words[0];
  }
}

TEST_F(Users, ReadOnlyClientsNeedNoOtherRight) {
  add();
  refresh({post("a", 1)});
  Store reading(StoreOptions{.url = server.url_of("feedmill_viewer"), .reads_only = true});
  ASSERT_TRUE(reading.open());
  EXPECT_EQ(Feeds(reading).urls_after("", 10'000)->size(), 1U);
  EXPECT_TRUE(*Feeds(reading).is_registered(feed_url));
  EXPECT_FALSE(*Feeds(reading).is_registered("https://example.org/none"));
  EXPECT_TRUE(Feeds(reading).records(std::vector{feed_url})->front());
  EXPECT_TRUE(Fleet(reading).figures());
  EXPECT_EQ(EventStream(reading).figures()->records, EventStream(store).figures()->records);
  EXPECT_EQ(Feeds(reading).pause(std::vector{feed_url}).error().code, StoreError::Code::bug) << "it runs a script";
  EXPECT_EQ(redis({"ACL", "LOG"}), "");
}

TEST_F(Users, TheAdministratorMayLookAtEverythingAndChangeNoSetting) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"SCAN", "0"},
                                                                                     {"DBSIZE"},
                                                                                     {"MEMORY", "USAGE", "k"},
                                                                                     {"CONFIG", "GET", "appendfsync"},
                                                                                     {"HSET", "k", "f", "v"}}) {
    EXPECT_EQ(as("feedmill_admin", words), "ok") << words[0];
  }
  EXPECT_EQ(as("feedmill_admin", {"CONFIG", "SET", "appendfsync", "no"}), "NOPERM");
  EXPECT_EQ(as("feedmill_admin", {"FLUSHALL"}), "NOPERM");
  std::set<std::string> worker = granted("feedmill"), admin = granted("feedmill_admin");
  EXPECT_TRUE(std::includes(admin.begin(), admin.end(), worker.begin(), worker.end()));
  const std::set<std::string> needed = used(true);
  EXPECT_GT(needed.size(), 10U);
  for (const std::string& command : needed) {
    const auto same = [&](const std::string& name) { return name == command || name.starts_with(command + "|"); };
    EXPECT_TRUE(std::any_of(admin.begin(), admin.end(), same)) << command;
  }
}

/// SECURITY A2.
TEST(Commands, ThatAreNeverUsedStandNowhere) {
  std::set<std::string> words = used();
  for (const char* const never :
       {"keys", "flushall", "flushdb", "debug", "monitor", "eval", "sort", "scan", "randomkey"}) {
    EXPECT_FALSE(words.contains(never)) << never;
  }
  for (const char* const directory : {"storage", "worker"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(FEEDMILL_SOURCE) / directory)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = content_of(entry.path());
      for (const char* const never : {"\"KEYS\"", "'KEYS'", "FLUSHALL", "FLUSHDB", "\"DEBUG\"", "\"MONITOR\"",
                                      "\"EVAL\"", "'SORT'", "\"SORT\"", "\"FLUSH\"", "\"CONFIG\", \"SET\""}) {
        EXPECT_EQ(text.find(never), std::string::npos) << entry.path() << ": " << never;
      }
    }
  }
}

}  // namespace
}  // namespace feedmill::acl_test
