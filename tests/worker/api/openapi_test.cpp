// docs/openapi.json matches the running server in both directions (OPERATIONS A5): every documented operation and error
// occurs, and no others do.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/http_server.hpp"
#include "tests/worker/api/openapi_file.hpp"
#include "tests/worker/api/served_api.hpp"

namespace feedmill::test::openapi_test {
namespace {

namespace json = boost::json;

const std::string feed = "https://example.org/feed.xml", other = "https://example.org/other.xml";
const std::string feed_query = "url=" + percent_encoded(feed);
constexpr std::string_view base = "/api/v1";
const std::string hook = "wh_" + std::string(26, 'a'), no_hook = "wh_" + std::string(26, 'b');

std::string unfit(const json::value& value, const json::object& schema, const json::object& all);

/// How members that `schema` does not list violate it; "" if they do not. Without additionalProperties, there are none.
std::string unlisted(const json::object& object, const json::object& schema, const json::object& all) {
  const json::value* const properties = schema.if_contains("properties");
  const json::value* const others = schema.if_contains("additionalProperties");
  for (const auto& [name, one] : object) {
    if (properties != nullptr && properties->as_object().contains(name)) continue;
    if (others == nullptr) return std::string(name) + " is not listed";
    const std::string wrong = others->is_object() ? unfit(one, others->as_object(), all) : "";
    if (!wrong.empty()) return std::string(name) + ": " + wrong;
  }
  return "";
}

/// How `value` violates `schema`; "" if it conforms. `all`: the whole description, for $ref.
std::string unfit(const json::value& value, const json::object& schema, const json::object& all) {
  if (const json::value* const reference = schema.if_contains("$ref")) {
    const std::string name(reference->as_string());
    const auto& schemas = all.at("components").at("schemas").as_object();
    return unfit(value, schemas.at(name.substr(name.rfind('/') + 1)).as_object(), all);
  }
  if (const json::value* const choices = schema.if_contains("oneOf")) {
    const auto fits = [&](const json::value& one) { return unfit(value, one.as_object(), all).empty(); };
    return std::ranges::count_if(choices->as_array(), fits) == 1 ? "" : json::serialize(value) + " does not fit one";
  }
  if (const json::value* const words = schema.if_contains("enum")) {
    for (const json::value& word : words->as_array()) {
      if (word == value) return "";
    }
    return json::serialize(value) + " is not in the enum";
  }
  if (const json::value* const type = schema.if_contains("type")) {
    const auto is = [&](const json::value& name) {
      const json::string& word = name.as_string();
      return (word == "string" && value.is_string()) || (word == "null" && value.is_null()) ||
             (word == "integer" && (value.is_int64() || value.is_uint64())) ||
             (word == "number" && value.is_number()) || (word == "boolean" && value.is_bool()) ||
             (word == "object" && value.is_object()) || (word == "array" && value.is_array());
    };
    bool fits = type->is_string() && is(*type);
    if (type->is_array()) {
      for (const json::value& one : type->as_array()) fits = fits || is(one);
    }
    if (!fits) return json::serialize(value).substr(0, 80) + " is no " + json::serialize(*type);
  }
  if (const json::object* const object = value.if_object()) {
    if (const json::value* const required = schema.if_contains("required")) {
      for (const json::value& name : required->as_array()) {
        if (!object->contains(name.as_string())) return std::string(name.as_string()) + " is missing";
      }
    }
    if (const json::value* const properties = schema.if_contains("properties")) {
      for (const auto& [name, one] : properties->as_object()) {
        const json::value* const member = object->if_contains(name);
        const std::string wrong = member == nullptr ? "" : unfit(*member, one.as_object(), all);
        if (!wrong.empty()) return std::string(name) + ": " + wrong;
      }
    }
  }
  if (const json::object* const object = value.if_object()) return unlisted(*object, schema, all);
  if (const json::array* const array = value.if_array(); array != nullptr && !array->empty()) {
    if (!schema.contains("items")) return "its elements are not described";
    for (const json::value& one : *array) {
      if (std::string wrong = unfit(one, schema.at("items").as_object(), all); !wrong.empty()) return wrong;
    }
  }
  return "";
}

/// A valid call of one operation.
struct Sample {
  std::string id, method, target, body;
};

const std::vector<Sample> samples{
    {"listFeeds", "GET", "/feeds", ""},
    {"addFeed", "POST", "/feeds", R"({"url":"https://example.org/feed.xml"})"},
    {"showFeed", "GET", "/feed?" + feed_query, ""},
    {"setFeed", "PATCH", "/feed?" + feed_query, R"({"settings":{"keep":20}})"},
    {"removeFeed", "DELETE", "/feed?" + feed_query, ""},
    {"explainFeed", "GET", "/feed/explain?" + feed_query, ""},
    {"pauseFeed", "POST", "/feed/pause?" + feed_query, ""},
    {"resumeFeed", "POST", "/feed/resume?" + feed_query, ""},
    {"refreshFeed", "POST", "/feed/refresh?" + feed_query, ""},
    {"moveFeed", "POST", "/feed/move?" + feed_query, R"({"to":"https://example.org/new.xml"})"},
    {"listFeedEntries", "GET", "/feed/entries?" + feed_query, ""},
    {"showEntryByGuid", "GET", "/feed/entry?guid=a&" + feed_query, ""},
    {"putEntry", "POST", "/entries", R"({"url":"https://example.org/feed.xml","guid":"a","entry":{"title":"One"}})"},
    {"showEntry", "GET", "/entries/1", ""},
    {"removeEntry", "DELETE", "/entries/1", ""},
    {"listChannels", "GET", "/channels", ""},
    {"addChannel", "POST", "/channels", R"({"channel":"anna/new"})"},
    {"orderChannels", "POST", "/channels/order", R"({"channels":["anna/news"]})"},
    {"removeChannel", "DELETE", "/channel?channel=anna/new", ""},
    {"listChannelFeeds", "GET", "/channel/feeds?channel=anna/news", ""},
    {"follow", "PUT", "/channel/feed?channel=anna/news&" + feed_query, ""},
    {"unfollow", "DELETE", "/channel/feed?channel=anna/news&" + feed_query, ""},
    {"listChannelEntries", "GET", "/channel/entries?channel=anna/news", ""},
    {"countUnread", "GET", "/unread", ""},
    {"mark", "POST", "/channel/marks?channel=anna/news", R"({"as":"read","entries":[1]})"},
    {"listNotices", "GET", "/notices?user=anna", ""},
    {"markNotices", "POST", "/notices/marks?user=anna", R"({"as":"read","notices":"all"})"},
    {"listRules", "GET", "/rules?user=anna", ""},
    {"addRule", "POST", "/rules?user=anna", R"({"words":"redis cluster"})"},
    {"removeRule", "DELETE", "/rules/1?user=anna", ""},
    {"listEvents", "GET", "/events", ""},
    {"readSnapshot", "GET", "/snapshot", ""},
    {"showRequest", "GET", "/requests/r-1", ""},
    {"importList", "POST", "/import", "https://example.org/feed.xml\nftp://x\n"},
    {"exportList", "GET", "/export", ""},
    {"discover", "POST", "/discover?url=http%3A%2F%2F127.0.0.1%3A65535%2F", ""},  // no listener there
    {"listLogins", "GET", "/logins", ""},
    {"setLogin", "PUT", "/logins/paper", R"({"origin":"https://paper.example","user":"anna","secret":"s3cret"})"},
    {"removeLogin", "DELETE", "/logins/paper", ""},
    {"listWebhooks", "GET", "/webhooks", ""},
    {"addWebhook", "POST", "/webhooks", R"({"url":"http://127.0.0.1:65535/hook"})"},  // nor here
    {"showWebhook", "GET", "/webhook?id=" + hook, ""},
    {"setWebhook", "PATCH", "/webhook?id=" + hook, R"({"name":"One"})"},
    {"removeWebhook", "DELETE", "/webhook?id=" + hook, ""},
    {"rotateWebhook", "POST", "/webhook/rotate?id=" + hook, R"({"old_for":"2h"})"},
    {"resumeWebhook", "POST", "/webhook/resume?id=" + hook, ""},
    {"testWebhook", "POST", "/webhook/test?id=" + hook, ""},
    {"listTopics", "GET", "/topics", ""},
    {"addTopic", "POST", "/topics", R"({"channel":"anna/news"})"},
    {"removeTopic", "DELETE", "/topic?channel=anna/news", ""},
    {"listTopicSubscribers", "GET", "/topics/subscribers", ""},
    {"describe", "GET", "/openapi.json", ""},
};

const Sample& sample(const std::string& id) {
  const auto found = std::ranges::find(samples, id, &Sample::id);
  return found == samples.end() ? samples.front() : *found;
}

bool is_read(const Sample& one) {
  return one.method == "GET";
}

/// Whether the call itself makes the change, without a request.
bool is_change(const Sample& one) {
  return !is_read(one) &&
         (one.target.starts_with("/webhook") || one.target.starts_with("/topic") || one.target.starts_with("/login"));
}

/// Whether the call becomes a request.
bool is_request(const Sample& one) {
  return !is_read(one) && !is_change(one) && one.id != "importList" && one.id != "discover";
}

std::string with_parameter(const std::string& target, const std::string& parameter) {
  return target + (target.find('?') == std::string::npos ? "?" : "&") + parameter;
}

class OpenApi : public testing::Test {
 protected:
  OpenApi() { start({}); }

  void start(Api::Options options) {
    served.reset();
    if (options.burst == Api::Options().burst) options.burst = 1e9;
    served = std::make_unique<ServedApi>(redis, options);
  }

  std::string command(const std::vector<std::string>& words) { return redis_command(redis, words); }

  const json::object& operation(const std::string& id) {
    for (const auto& [path, methods] : description.at("paths").as_object()) {
      for (const auto& [method, one] : methods.as_object()) {
        if (one.at("operationId").as_string() == id) return one.as_object();
      }
    }
    ADD_FAILURE() << id << " is not documented";
    return description;
  }

  /// Calls the API, checks the answer against the documentation of operation `id`, and returns its outcome.
  std::string talk(const std::string& id, ApiTalk said) {
    said.target = std::string(base) + said.target;
    last = served->call(said);
    const json::object& responses = operation(id).at("responses").as_object();
    const std::string status = std::to_string(last.status);
    if (!responses.contains(status)) {
      ADD_FAILURE() << id << ": " << status << " is not documented: " << last.body;
      return status;
    }
    const json::object& documented = responses.at(status).as_object();
    if (!documented.contains("content")) {
      EXPECT_EQ(last.body, "");
      seen[id][status].insert("");
      return status;
    }
    const auto& content = documented.at("content").as_object();
    const std::string type = last.header("Content-Type");
    EXPECT_TRUE(content.contains(type)) << id << " " << status << " is " << type;
    if (!content.contains(type)) return status;
    if (!type.starts_with("application/")) {
      seen[id][status].insert("");
      return status;
    }
    const json::object object = object_of(last);
    if (last.status < 300 && id != "describe") examples[id].try_emplace(status, object);
    EXPECT_EQ(unfit(object, content.at(type).at("schema").as_object(), description), "") << id << ": " << last.body;
    std::string reason;
    if (type == "application/problem+json" && object.contains("reason")) {
      EXPECT_NE(object.at("detail"), "") << last.body;
      reason = object.at("reason").as_string();
      const auto& reasons = documented.at("x-reasons").as_array();
      EXPECT_NE(std::ranges::find(reasons, json::value(reason)), reasons.end())
          << id << ": " << status << " " << reason;
      EXPECT_EQ(last.status == 429 || last.status == 503, !last.header("Retry-After").empty());
    }
    seen[id][status].insert(reason);
    return outcome(last);
  }
  std::string talk(const std::string& id) {
    const Sample& one = sample(id);
    return talk(id, {one.method, one.target, one.body});
  }
  std::string talk_with(const std::string& id, const std::string& body) {
    const Sample& one = sample(id);
    return talk(id, {one.method, one.target, body});
  }

  void what_is_done();
  void what_is_refused_of_each();
  void what_is_refused_of_some();
  void what_waits_and_dies();
  void what_is_too_much();
  void what_redis_refuses();

  RedisServer redis;
  std::unique_ptr<ServedApi> served;
  const json::object description = json::parse(api_description).as_object();
  std::map<std::string, std::map<std::string, std::set<std::string>>> seen;  // operation → status → reasons
  std::map<std::string, std::map<std::string, json::object>> examples;       // operation → status → first answer
  HttpAnswer last;
};

void OpenApi::what_is_done() {
  EXPECT_EQ(talk_with("addFeed", R"({"url":"HTTPS://Example.org/feed.xml","channel":"anna/news","title":"Notes",
                              "settings":{"keep":20,"interval_min":"2h"}})"),
            "201 added");
  EXPECT_EQ(last.header("Location"), "/api/v1/feed?" + feed_query);
  EXPECT_EQ(talk("addFeed"), "200 present");
  EXPECT_EQ(talk("listFeeds"), "200");
  EXPECT_EQ(object_of(last).at("feeds").as_array().size(), 1U);
  EXPECT_EQ(talk("showFeed"), "200");
  EXPECT_EQ(object_of(last).at("state"), "new");
  EXPECT_EQ(talk("explainFeed"), "200");
  EXPECT_EQ(talk("setFeed"), "200 set");
  EXPECT_EQ(talk_with("setFeed", R"({"settings":{"keep":null,"websub":"off"}})"), "200 set");
  EXPECT_EQ(talk("pauseFeed"), "200 paused");
  EXPECT_EQ(talk("pauseFeed"), "200 paused_already");
  EXPECT_EQ(talk("refreshFeed"), "409 paused");
  EXPECT_EQ(talk("resumeFeed"), "200 resumed");
  EXPECT_EQ(talk("refreshFeed"), "200 due");
  EXPECT_EQ(talk("moveFeed"), "200 moved");
  EXPECT_EQ(talk("moveFeed"), "200 same");
  EXPECT_EQ(talk_with("moveFeed", R"({"undo":true})"), "200 moved");
  EXPECT_EQ(talk_with("moveFeed", R"({"to":"https://example.org/new.xml","undo":false})"), "200 moved");
  EXPECT_EQ(talk_with("moveFeed", R"({"to":"","undo":true})"), "200 moved");
  EXPECT_EQ(talk("putEntry"), "201 created");
  EXPECT_EQ(last.header("Location"), "/api/v1/entries/Entry%3A1");
  EXPECT_EQ(talk("putEntry"), "200 unchanged");
  EXPECT_EQ(talk("listFeedEntries"), "200");
  EXPECT_EQ(object_of(last).at("entries").at(0).at("title"), "One");
  EXPECT_EQ(object_of(last).at("next"), nullptr);
  EXPECT_EQ(talk("showEntryByGuid"), "200");
  EXPECT_EQ(talk("showEntry"), "200");
  EXPECT_EQ(talk("showEntry", {"GET", "/entries/Entry%3A1"}), "200");
  EXPECT_EQ(talk("listChannels"), "200");
  EXPECT_EQ(object_of(last).at("channels").at(0).at("channel"), "anna/news");
  EXPECT_EQ(talk("addChannel"), "201 added");
  EXPECT_EQ(last.header("Location"), "/api/v1/channel/feeds?channel=anna%2Fnew");
  EXPECT_EQ(talk("addChannel"), "200 present");
  EXPECT_EQ(talk_with("orderChannels", R"({"channels":["anna/new","anna/news"]})"), "200 ordered");
  EXPECT_EQ(talk("listChannels", {"GET", "/channels?user=anna&limit=1"}), "200");
  EXPECT_EQ(object_of(last).at("channels").at(0).at("position"), 1);
  EXPECT_EQ(object_of(last).at("next"), "anna/new");
  EXPECT_EQ(talk("removeChannel"), "200 removed");
  EXPECT_EQ(talk("listChannelFeeds"), "200");
  EXPECT_EQ(object_of(last).at("next"), nullptr);
  EXPECT_EQ(talk("follow"), "200 followed_already");
  EXPECT_EQ(talk("listChannelEntries"), "200");
  EXPECT_EQ(object_of(last).at("entries").at(0).at("feed").at("custom_title"), "Notes");
  EXPECT_EQ(talk("countUnread"), "200");
  EXPECT_EQ(object_of(last).at("channels").at(0).at("feeds").at(0).at("unread"), 1);
  EXPECT_EQ(talk("mark"), "200 marked");
  EXPECT_EQ(talk("listChannelEntries", {"GET", "/channel/entries?channel=anna/news&all=true"}), "200");
  EXPECT_EQ(object_of(last).at("entries").at(0).at("read"), true);
  EXPECT_EQ(talk("listFeeds", {"GET", "/feeds?user=anna&state=new&text=FEED.xml"}), "200");
  EXPECT_EQ(object_of(last).at("feeds").at(0).at("custom_title"), "Notes");
  EXPECT_EQ(talk("listChannelEntries", {"GET", "/channel/entries?channel=anna/news&" + feed_query}), "200");
  EXPECT_EQ(object_of(last).at("entries"), json::array());
  EXPECT_EQ(talk_with("mark", R"({"as":"read","entries":"all","url":"https://example.org/feed.xml"})"), "200 marked");
  EXPECT_EQ(talk_with("mark", R"({"as":"read","entries":"all"})"), "200 marked");
  EXPECT_EQ(talk("unfollow"), "200 unfollowed");
  EXPECT_EQ(talk("follow"), "200 followed");
  command({"LPUSH", "list:notification:user_id:anna", "n1"});
  command({"HSET", "hash:notification:user_id:anna", "n1", R"({"read":false,"id":"n1"})"});
  EXPECT_EQ(talk("listNotices"), "200");
  EXPECT_EQ(object_of(last).at("notices").as_array().size(), 1U);
  EXPECT_EQ(talk("markNotices"), "200 marked");
  EXPECT_EQ(object_of(last).at("changed"), 1);
  EXPECT_EQ(talk_with("markNotices", R"({"as":"unread","notices":["n1"]})"), "200 marked");
  EXPECT_EQ(talk("addRule"), "200 watching");
  EXPECT_EQ(object_of(last).at("id"), 1);
  EXPECT_EQ(talk_with("addRule", R"({"url":"https://example.org/feed.xml"})"), "200 watching");
  EXPECT_EQ(talk_with("addRule", R"({"channel":"anna/news"})"), "200 watching");
  EXPECT_EQ(talk("listRules"), "200");
  EXPECT_EQ(object_of(last).at("rules").as_array().size(), 3U);
  EXPECT_EQ(object_of(last).at("rules").at(1).at("watched").as_string(), feed);
  EXPECT_EQ(talk("removeRule"), "200 removed");
  EXPECT_EQ(talk("listEvents"), "200");
  EXPECT_EQ(object_of(last).at("events").at(0).at("type"), "request_done");
  EXPECT_EQ(talk("readSnapshot"), "200");
  EXPECT_EQ(object_of(last).at("rows").at(0).at("entity_type"), "feed");
  EXPECT_EQ(talk("importList"), "200 imported");
  EXPECT_EQ(object_of(last).at("added"), 0);
  EXPECT_EQ(object_of(last).at("present"), 1);
  EXPECT_EQ(object_of(last).at("rows").at(0).at("line"), 2);
  EXPECT_EQ(talk("exportList"), "200");
  EXPECT_NE(last.body.find("xmlUrl=\"" + feed + "\""), std::string::npos);
  EXPECT_TRUE(last.body.ends_with("</opml>\n"));
  EXPECT_EQ(talk("exportList", {"GET", "/export?user=a%01"}), "400 bad_parameter");
  EXPECT_EQ(talk("exportList", {"GET", "/export?user="}), "400 bad_parameter");
  EXPECT_EQ(talk("listChannels", {"GET", "/channels?user="}), "400 bad_parameter");
  EXPECT_EQ(talk("countUnread", {"GET", "/unread?user="}), "400 bad_parameter");
  for (const char* const user : {"", "%20", "a/b", "a%0Ab"}) {
    EXPECT_EQ(talk("importList", {"POST", "/import?user=" + std::string(user), feed}), "400 bad_parameter") << user;
  }
  EXPECT_EQ(talk("discover"), "200");
  EXPECT_EQ(object_of(last).at("complete"), true);
  EXPECT_TRUE(object_of(last).at("trouble").is_string());
  EXPECT_EQ(talk("setLogin"), "200 set");
  EXPECT_EQ(object_of(last).at("name"), "app/paper");
  EXPECT_EQ(talk("listLogins"), "200");
  EXPECT_EQ(object_of(last).at("logins").as_array().size(), 1U);
  EXPECT_EQ(talk("removeLogin"), "200 removed");
  EXPECT_EQ(talk("setLogin"), "200 set");
  EXPECT_EQ(talk("addWebhook"), "201 added");
  const std::string id(object_of(last).at("id").as_string());
  EXPECT_EQ(last.header("Location"), "/api/v1/webhook?id=" + id);
  command({"RENAME", "push_out:subscriber:" + id, "push_out:subscriber:" + hook});  // use the id that the samples know
  command({"ZADD", "push_out:ids", "0", hook});
  command({"ZREM", "push_out:ids", id});
  EXPECT_EQ(talk("listWebhooks"), "200");
  EXPECT_EQ(object_of(last).at("webhooks").at(0).at("id").as_string(), hook);
  EXPECT_EQ(talk("setWebhook"), "200 set");
  EXPECT_EQ(talk("showWebhook"), "200 active");
  EXPECT_EQ(object_of(last).at("name").as_string(), "One");
  EXPECT_EQ(talk("rotateWebhook"), "200 rotated");
  EXPECT_EQ(talk("resumeWebhook"), "200 resumed");
  EXPECT_EQ(talk("testWebhook"), "200 not_taken");
  EXPECT_EQ(object_of(last).at("status"), nullptr);
  EXPECT_EQ(talk("addTopic"), "201 added");
  const std::string atom(object_of(last).at("atom").as_string());
  EXPECT_TRUE(atom.starts_with("/t/") && atom.ends_with(".atom")) << atom;
  EXPECT_EQ(talk("addTopic"), "200 present");
  EXPECT_EQ(object_of(last).at("atom").as_string(), atom);
  EXPECT_EQ(object_of(last).at("title"), nullptr);
  EXPECT_EQ(talk_with("addTopic", R"({"channel":"anna/news","title":"Harbour news"})"), "200 present");
  EXPECT_EQ(object_of(last).at("title"), "Harbour news");
  EXPECT_EQ(talk_with("addTopic", R"({"url":"https://example.org/feed.xml"})"), "409 not_republished");
  EXPECT_EQ(talk_with("setFeed", R"({"settings":{"republish":"yes"}})"), "200 set");
  EXPECT_EQ(talk_with("addTopic", R"({"url":"https://example.org/feed.xml"})"), "201 added");
  EXPECT_EQ(talk("listTopics"), "200");
  EXPECT_EQ(object_of(last).at("topics").as_array().size(), 2U);
  EXPECT_EQ(talk("listTopicSubscribers"), "200");
  EXPECT_EQ(talk("describe"), "200");
  EXPECT_EQ(json::parse(last.body), description);
  EXPECT_EQ(talk("addFeed", {"POST", "/feeds", R"({"url":")" + other + R"("})", {{"Idempotency-Key", "\"r-1\""}}}),
            "201 added");
  EXPECT_EQ(talk("showRequest"), "200 added");
  EXPECT_EQ(object_of(last).at("state"), "done");
}

void OpenApi::what_is_refused_of_each() {
  for (const Sample& one : samples) {
    SCOPED_TRACE(one.id);
    const ApiTalk good{one.method, one.target, one.body};
    ApiTalk said = good;
    for (const char* token : {"", "asking-token-012345678", "asking-token-01234567890", "x"}) {
      said.token = token;
      EXPECT_EQ(talk(one.id, said), "401 unauthorized");
    }
    EXPECT_NE(last.header("WWW-Authenticate"), "");
    said = good;
    said.target = with_parameter(one.target, "nonsense=1");
    EXPECT_EQ(talk(one.id, said), "400 unknown_parameter");
    said.target = with_parameter(one.target, "%zz");
    EXPECT_EQ(talk(one.id, said), "400 bad_parameter");
    if (one.target.find('?') != std::string::npos) {
      said.target = one.target.substr(0, one.target.find('?'));
      EXPECT_EQ(talk(one.id, said), "400 missing_parameter");
    }
    said = good;
    if (is_read(one)) {
      ASSERT_EQ(talk(one.id).substr(0, 3), "200");
      said.headers = {{"If-None-Match", last.header("ETag")}};
      if (one.id == "explainFeed") said.headers = {{"If-None-Match", "*"}};  // its answer contains the current time
      EXPECT_EQ(talk(one.id, said), one.id == "exportList" ? "200" : "304");
      said = good;
      said.method = "HEAD";
      said.target = std::string(base) + one.target;
      EXPECT_EQ(served->call(said).status, 200);
      continue;
    }
    said.token = reading_token;
    EXPECT_EQ(talk(one.id, said), "403 read_only");
    said = good;
    said.headers = {{"Content-Encoding", "gzip"}};
    EXPECT_EQ(talk(one.id, said), "415 unsupported_media_type");
    said = {one.method, one.target, "{\"a\":\"" + std::string(is_request(one) ? 600'000 : 2'100'000, 'a') + "\"}"};
    EXPECT_EQ(talk(one.id, said), "413 too_long");
    if (!is_request(one) && !is_change(one)) continue;
    for (const char* body : {"{", "[]", "\xff", "1", "{\"a\":1}{"}) {
      said = {one.method, one.target, body};
      EXPECT_EQ(talk(one.id, said), "400 bad_json");
    }
    said = {one.method, one.target, "{}", {{"Content-Type", "text/plain"}}};
    EXPECT_EQ(talk(one.id, said), "415 unsupported_media_type");
    for (const char* body : {R"({"nonsense":"1"})", R"({"op":"add"})", R"({"ref":"1"})", R"({"set.keep":"1"})"}) {
      EXPECT_EQ(talk_with(one.id, std::string(body)), "422 unknown_field");
    }
    if (!is_request(one)) continue;
    for (const std::string& key : {std::string("a b"), std::string(129, 'a'), std::string("\xc3\xa4")}) {
      said = good;
      said.headers = {{"Idempotency-Key", key}};
      EXPECT_EQ(talk(one.id, said), "400 bad_key");
    }
    said = good;
    said.headers = {{"Idempotency-Key", "r-1"}};
    if (one.id == "addFeed") said.body = R"({"url":"https://example.org/third.xml"})";
    EXPECT_EQ(talk(one.id, said), "422 ref_reused");
  }
}

void OpenApi::what_is_refused_of_some() {
  const std::string none = "url=" + percent_encoded("https://example.org/none.xml"), bad = "url=ftp%3A%2F%2Fx";
  for (const Sample& one : samples) {
    const std::size_t at = one.target.find(feed_query);
    if (at == std::string::npos) continue;
    SCOPED_TRACE(one.id);
    const auto about = [&](const std::string& query) {
      std::string target = one.target;
      return ApiTalk{one.method, target.replace(at, feed_query.size(), query), one.body};
    };
    if (one.id == "showEntryByGuid") {
      EXPECT_EQ(talk(one.id, about(none)), "404 no_such_entry");
    } else if (one.id == "unfollow") {
      EXPECT_EQ(talk(one.id, about(none)), "200 not_followed");
    } else {
      EXPECT_EQ(talk(one.id, about(none)), "404 no_such_feed");
    }
    EXPECT_EQ(talk(one.id, about(bad)), is_read(one) ? "400 bad_parameter" : "422 bad_value");
  }
  const std::string nobody = "channel=nobody";
  EXPECT_EQ(talk("listChannelFeeds", {"GET", "/channel/feeds?" + nobody}), "404 no_such_channel");
  EXPECT_EQ(talk("listChannelEntries", {"GET", "/channel/entries?" + nobody}), "404 no_such_channel");
  EXPECT_EQ(talk("listFeeds", {"GET", "/feeds?" + nobody}), "404 no_such_channel");
  command({"HSET", "channel_floors", "anna/news", "~"});
  const std::string all = "/channel/entries?all=true&channel=";
  EXPECT_EQ(talk("listChannelEntries", {"GET", all + "anna/news"}), "503 not_ready");
  EXPECT_EQ(talk("listChannelEntries", {"GET", all + "nobody"}), "404 no_such_channel");
  command({"HSET", "channel_floors", "anna/news", ""});
  EXPECT_EQ(talk("follow", {"PUT", "/channel/feed?" + nobody + "&" + feed_query}), "404 no_such_channel");
  EXPECT_EQ(talk("unfollow", {"DELETE", "/channel/feed?" + nobody + "&" + feed_query}), "404 no_such_channel");
  EXPECT_EQ(talk("mark", {"POST", "/channel/marks?" + nobody, sample("mark").body}), "404 no_such_channel");
  EXPECT_EQ(talk_with("putEntry", R"({"url":"https://example.org/none.xml","guid":"a","entry":{"title":"x"}})"),
            "404 no_such_feed");
  for (const char* id : {"99", "Feed:x", "..%2Ffeeds", "-1", "Entry:1x"}) {
    const std::string target = "/entries/" + std::string(id);
    if (std::string(id).find("%2F") == std::string::npos) {
      EXPECT_EQ(talk("showEntry", {"GET", target}), "404 no_such_entry") << id;
    }
  }
  EXPECT_EQ(talk("removeEntry", {"DELETE", "/entries/99"}), "404 no_such_entry");
  EXPECT_EQ(talk("removeEntry", {"DELETE", "/entries/Feed:x"}), "422 bad_value");
  EXPECT_EQ(talk("showRequest", {"GET", "/requests/none"}), "404 no_such_request");
  EXPECT_EQ(talk("showRequest", {"GET", "/requests/none?id=1-1"}), "404 no_such_request");
  EXPECT_EQ(talk("showRequest", {"GET", "/requests/r-1?id=x"}), "400 bad_parameter");
  ApiTalk stranger{"GET", "/requests/r-1"};
  stranger.token = reading_token;
  EXPECT_EQ(talk("showRequest", stranger), "404 no_such_request") << "it is another program's";

  for (const char* id : {"addFeed", "setFeed", "moveFeed", "putEntry", "mark", "addChannel", "orderChannels",
                         "markNotices", "addRule"}) {
    EXPECT_EQ(talk_with(id, std::string("{}")), "422 missing_field") << id;
    EXPECT_EQ(talk_with(id, std::string()), "422 missing_field") << id;
  }
  EXPECT_EQ(talk_with("setFeed", R"({"settings":{}})"), "422 missing_field");
  EXPECT_EQ(talk_with("moveFeed", R"({"to":"https://example.org/new.xml","undo":true})"), "422 missing_field");
  EXPECT_EQ(talk_with("addFeed", R"({"url":"ftp://x"})"), "422 bad_value");
  EXPECT_EQ(talk_with("addFeed", R"({"url":["https://x"]})"), "422 bad_value");
  EXPECT_EQ(talk_with("addFeed", R"({"url":"https://example.org/4","settings":{"nonsense":1}})"), "422 bad_value");
  EXPECT_EQ(talk_with("addFeed", R"({"url":"https://example.org/4","channel":"a\u0001"})"), "422 bad_value");
  EXPECT_EQ(talk_with("putEntry", R"({"url":"https://example.org/feed.xml","entry":{"nonsense":1}})"), "422 bad_value");
  EXPECT_EQ(talk_with("mark", R"({"as":"green","entries":[1]})"), "422 bad_value");
  EXPECT_EQ(talk_with("mark", R"({"as":"read","entries":[[]]})"), "422 bad_value");
  EXPECT_EQ(talk_with("addChannel", R"({"channel":"a\u0001"})"), "422 bad_value");
  EXPECT_EQ(talk_with("addChannel", R"({"channel":"/a"})"), "422 bad_value");
  for (const char* channels : {"[]", "[1]", R"(["a","a"])", R"("all")", R"({"a":1})"}) {
    EXPECT_EQ(talk_with("orderChannels", "{\"channels\":" + std::string(channels) + "}"), "422 bad_value");
  }
  EXPECT_EQ(talk_with("orderChannels", R"({"channels":["anna/news","nobody"]})"), "404 no_such_channel");
  EXPECT_EQ(talk("removeChannel", {"DELETE", "/channel?" + nobody}), "404 no_such_channel");
  EXPECT_EQ(talk("removeChannel", {"DELETE", "/channel?channel=a%01"}), "422 bad_value");
  EXPECT_EQ(talk_with("markNotices", R"({"as":"green","notices":"all"})"), "422 bad_value");
  EXPECT_EQ(talk_with("markNotices", R"({"as":"read","notices":["*"]})"), "422 bad_value");
  EXPECT_EQ(talk_with("addRule", R"({"words":"!!"})"), "422 bad_value");
  EXPECT_EQ(talk_with("addRule", R"({"words":"a","channel":"b"})"), "422 missing_field");
  EXPECT_EQ(talk("addRule", {"POST", "/rules?user=global", R"({"words":"a"})"}), "422 bad_value");
  command({"EVAL", "for i = 1, 200 do redis.call('HSET', 'state:watches:many', i, 'words ' .. i) end", "0"});
  EXPECT_EQ(talk("addRule", {"POST", "/rules?user=many", R"({"words":"a"})"}), "409 too_many");
  EXPECT_EQ(talk("removeRule"), "404 no_such_rule");
  EXPECT_EQ(talk("removeRule", {"DELETE", "/rules/x?user=anna"}), "422 bad_value");
  EXPECT_EQ(talk_with("addFeed", R"({"url":"http://127.0.0.1/"})"), "422 refused_address");
  HttpServer site;
  const std::string feed_link = R"(<!DOCTYPE html><link rel="alternate" type="application/rss+xml" href="/)";
  const std::string document = R"(<rss version="2.0"><channel><title>A</title></channel></rss>)";
  for (const std::string name : {"1", "2"}) site.serve("/" + name, {.body = document});
  site.serve("/two", {.body = feed_link + "1\">" + feed_link + "2\">"});
  site.serve("/none", {.body = "<!DOCTYPE html><title>A</title>"});
  const auto add_page = [&](const std::string& page) {
    return talk_with("addFeed", R"({"page":"yes","url":")" + page + R"("})");
  };
  EXPECT_EQ(add_page(site.url("/two")), "422 many_feeds");
  EXPECT_EQ(add_page(site.url("/none")), "422 no_feed");
  EXPECT_EQ(add_page("http://127.0.0.1:65535/"), "422 unreachable");
  EXPECT_EQ(talk_with("addFeed", R"({"page":"first","url":")" + site.url("/two") + R"("})"), "201 added");
  EXPECT_EQ(last.header("Location"), "/api/v1/feed?url=" + percent_encoded(site.url("/1")));
  EXPECT_EQ(talk_with("moveFeed", R"({"to":"http://169.254.169.254/"})"), "422 refused_address");
  EXPECT_EQ(talk_with("moveFeed", R"({"to":")" + other + R"("})"), "409 taken");
  EXPECT_EQ(talk("moveFeed", {"POST", "/feed/move?url=" + percent_encoded(other), R"({"undo":true})"}),
            "409 not_moved");
  const std::string now = command({"EVAL", "return redis.call('TIME')[1] .. '000'", "0"});
  command({"HSET", "state:feed:" + feed, "last_at", now});
  EXPECT_EQ(talk("refreshFeed"), "429 too_early");
  EXPECT_GT(std::stoi(last.header("Retry-After")), 1);
  const std::string detail(object_of(last).at("detail").as_string());
  EXPECT_TRUE(detail.starts_with("fetched on request at most every 5min (schedule.manual_floor)")) << detail;
  EXPECT_EQ(detail.substr(detail.find("at 20") + 3).size(), std::string("2026-03-01T13:07:12Z").size()) << detail;

  for (const char* limit : {"0", "201", "-1", "x", "99999999999999999999"}) {
    EXPECT_EQ(talk("listFeeds", {"GET", "/feeds?limit=" + std::string(limit)}), "400 bad_parameter");
  }
  EXPECT_EQ(talk("listFeedEntries", {"GET", "/feed/entries?before=x&" + feed_query}), "400 bad_parameter");
  EXPECT_EQ(talk("listEvents", {"GET", "/events?after=x"}), "400 bad_parameter");
  EXPECT_EQ(talk("readSnapshot", {"GET", "/snapshot?after=https://example.org/%20x"}), "400 bad_parameter");
  EXPECT_EQ(talk("listFeeds", {"GET", "/feeds?limit=1&limit=2"}), "400 bad_parameter");
  EXPECT_EQ(talk("discover", {"POST", "/discover?url=ftp%3A%2F%2Fx"}), "422 bad_value");
  EXPECT_EQ(talk("discover", {"POST", "/discover?url=http%3A%2F%2F169.254.169.254%2F"}), "422 refused_address");
  for (const Sample& one : samples) {
    const std::size_t at = one.target.find(hook);
    if (at == std::string::npos) continue;
    const auto about = [&](const std::string& id) {
      std::string target = one.target;
      return talk(one.id, {one.method, target.replace(at, hook.size(), id), one.body});
    };
    EXPECT_EQ(about(no_hook), "404 no_such_webhook");
    EXPECT_EQ(about("x"), "400 bad_parameter");
    EXPECT_EQ(about("hub_" + hook.substr(3)), "400 bad_parameter");
  }
  for (const char* id : {"addWebhook", "setWebhook"}) {
    for (const char* body :
         {R"({"url":"ftp://x"})", R"({"url":1})", R"({"url":"https://example.org/","types":["nonsense"]})",
          R"({"url":"https://example.org/","feeds":"all"})", R"({"url":"https://example.org/","feeds":["x"]})",
          R"({"url":"https://example.org/","channels":["a\u0001"]})", R"({"url":"https://example.org/","at_once":0})",
          R"({"url":"https://example.org/","private":"yes"})"}) {
      EXPECT_EQ(talk_with(id, std::string(body)), "422 bad_value") << body;
    }
    EXPECT_EQ(talk_with(id, R"({"url":"http://169.254.169.254/"})"), "422 refused_address");
    EXPECT_EQ(talk_with(id, R"({"url":"https://example.org/","feeds":["https://example.org/none.xml"]})"),
              "404 no_such_feed");
  }
  EXPECT_EQ(talk_with("addWebhook", std::string("{}")), "422 missing_field");
  EXPECT_EQ(talk_with("addWebhook", R"({"url":"https://example.org/","signature":"v2"})"), "422 bad_value");
  EXPECT_EQ(talk_with("rotateWebhook", R"({"old_for":"31d"})"), "422 bad_value");
  EXPECT_EQ(talk("listWebhooks", {"GET", "/webhooks?after=x"}), "400 bad_parameter");
  for (const char* body : {R"({"origin":"x","user":"a","secret":"b"})",
                           R"({"origin":"https://paper.example","header":"Host","secret":"b"})",
                           R"({"origin":"https://paper.example","user":"a","secret":"b\nc"})"}) {
    EXPECT_EQ(talk_with("setLogin", std::string(body)), "422 bad_value") << body;
  }
  EXPECT_EQ(talk_with("setLogin", std::string("{}")), "422 missing_field");
  EXPECT_EQ(talk("removeLogin", {"DELETE", "/logins/a%20b"}), "422 bad_value");
  EXPECT_EQ(talk("removeLogin", {"DELETE", "/logins/none"}), "404 no_such_login");
  EXPECT_EQ(talk("listLogins", {"GET", "/logins?limit=0"}), "400 bad_parameter");
  command({"EVAL", "for i = 1, 1000 do redis.call('HSET', 'secret:logins:app', i, 'x') end", "0"});
  EXPECT_EQ(talk("setLogin", {"PUT", "/logins/another", sample("setLogin").body}), "409 too_many");
  for (const char* body : {R"({"url":1})", R"({"url":"ftp://x"})", R"({"channel":"a\u0001"})"}) {
    EXPECT_EQ(talk_with("addTopic", std::string(body)), "422 bad_value") << body;
  }
  EXPECT_EQ(talk_with("addTopic", std::string("{}")), "422 missing_field");
  EXPECT_EQ(talk_with("addTopic", R"({"url":"https://example.org/feed.xml","title":"x"})"), "422 bad_value");
  EXPECT_EQ(talk_with("addTopic", R"({"url":"https://example.org/","channel":"a"})"), "422 bad_value");
  EXPECT_EQ(talk_with("addTopic", R"({"url":"https://example.org/none.xml"})"), "404 no_such_feed");
  EXPECT_EQ(talk_with("addTopic", R"({"channel":"nobody"})"), "404 no_such_channel");
  EXPECT_EQ(talk("removeTopic", {"DELETE", "/topic?channel=a%01"}), "400 bad_parameter");
  EXPECT_EQ(talk("removeTopic"), "200 removed");
  EXPECT_EQ(talk("removeTopic"), "404 no_such_topic");
  EXPECT_EQ(talk("listTopics", {"GET", "/topics?limit=0"}), "400 bad_parameter");
  EXPECT_EQ(talk("listTopicSubscribers", {"GET", "/topics/subscribers?limit=0"}), "400 bad_parameter");
  command({"EVAL", "for i = 1, 100000 do redis.call('ZADD', 'push_out:ids', 0, 'hub_' .. i) end", "0"});
  EXPECT_EQ(talk("addWebhook"), "409 too_many");
  EXPECT_EQ(talk("removeWebhook"), "200 removed");
  EXPECT_EQ(talk("removeEntry"), "200 removed");
  EXPECT_EQ(talk("removeFeed"), "200 removed");
}

void OpenApi::what_waits_and_dies() {
  served->resting = true;
  std::vector<std::pair<const Sample*, std::string>> asked;
  command({"XADD", "stream:requests", "*", "op", "x"});  // a waiting request, so that calls queue up after it
  for (const Sample& one : samples) {
    if (!is_request(one)) continue;
    SCOPED_TRACE(one.id);
    const std::string ref = "dies-" + one.id;
    ApiTalk said{one.method, one.target, one.body, {{"Idempotency-Key", ref}, {"Prefer", "respond-async"}}};
    EXPECT_EQ(talk(one.id, said), "202 waiting");
    const std::string where = last.header("Location");
    EXPECT_EQ(outcome(served->call({"GET", where})), "200 waiting");
    command({"HSET", "state:requests", std::string(object_of(last).at("id").as_string()), "somebody 3 "});
    asked.emplace_back(&one, ref);
  }
  ApiTalk hurried{"POST", "/feeds", R"({"url":"https://example.org/5"})", {{"Prefer", "wait=0"}}};
  EXPECT_EQ(talk("addFeed", hurried), "202 waiting");
  served->resting = false;
  for (const auto& [one, ref] : asked) {
    const std::string where = "/requests/" + ref;
    for (int i = 0; i < 1000 && served->get(where).status == 404; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(talk("showRequest", {"GET", where}), "200 poison");
    ApiTalk again{one->method, one->target, one->body, {{"Idempotency-Key", ref}}};
    EXPECT_EQ(talk(one->id, again), "500 poison");
    EXPECT_EQ(object_of(last).at("repeated"), true);
  }
}

void OpenApi::what_is_too_much() {
  served->resting = true;
  command({"EVAL", "for i = 1, 100000 do redis.call('XADD', 'stream:requests', '*', 'op', 'x') end", "0"});
  for (const Sample& one : samples) {
    if (!is_request(one)) continue;
    EXPECT_EQ(talk(one.id), "429 queue_full") << one.id;
  }
  command({"DEL", "stream:requests"});
  Api::Options options;
  options.burst = 0;
  start(options);
  for (const Sample& one : samples) EXPECT_EQ(talk(one.id), "429 too_fast") << one.id;
  options.burst = 1e9;
  options.at_once = 0;
  start(options);
  for (const Sample& one : samples) EXPECT_EQ(talk(one.id), "429 busy") << one.id;
  start({});
  const std::string seq(object_of(served->get("/events")).at("events").at(1).at("seq").as_string());
  command({"XTRIM", "stream:signals", "MAXLEN", "1"});
  EXPECT_EQ(talk("listEvents", {"GET", "/events?after=" + seq}), "410 too_old");
  const std::string oldest(object_of(last).at("oldest").as_string());
  EXPECT_EQ(talk("listEvents", {"GET", "/events?after=" + oldest}), "200");
  EXPECT_EQ(talk("listEvents"), "200");
  EXPECT_EQ(object_of(last).at("events").at(0).at("seq").as_string(), oldest);
}

void OpenApi::what_redis_refuses() {
  command({"DEL", "feeds", "channels", "schedule", "Entry:1", "state:watches:anna", feed + ":guidmap", feed + ":sort"});
  for (const std::string& key : {std::string("feeds"), std::string("channels"), std::string("schedule"),
                                 std::string("Entry:1"), feed + ":guidmap", std::string("state:watches:anna")}) {
    command({"SET", key, "x"});
  }
  command({"DEL", "push_out:ids", "push_out:topics", "push_out:topic_names"});
  for (const char* key : {"push_out:topics", "push_out:topic_names"}) command({"SET", key, "x"});
  for (const std::string& key : {std::string("push_out:ids"), "push_out:subscriber:" + hook})
    command({"SET", key, "x"});
  command({"SET", "secret:logins:app", "x"});
  command({"DEL", "list:notification:user_id:anna", "state:request:app:r-1"});
  command({"SET", "list:notification:user_id:anna", "x"});
  command({"HSET", "state:request:app:r-1", "a", "b"});
  for (const Sample& one : samples) {
    if (is_read(one)) continue;
    EXPECT_EQ(talk(one.id), "500 store_refused") << one.id << last.body;
  }
  command({"DEL", "stream:signals"});
  command({"SET", "stream:signals", "x"});
  for (const Sample& one : samples) {
    if (!is_read(one) || one.id == "describe") continue;
    EXPECT_EQ(talk(one.id), "500 store_refused") << one.id << last.body;
  }
  redis.kill();
  for (const Sample& one : samples) {
    EXPECT_EQ(talk(one.id), one.id == "describe" ? "200" : "503 store_away") << one.id;
  }
}

TEST_F(OpenApi, DescribesExactlyWhatTheServerDoes) {
  what_is_done();
  what_is_refused_of_each();
  what_is_refused_of_some();
  what_waits_and_dies();
  what_is_too_much();
  what_redis_refuses();
  for (const auto& [path, methods] : description.at("paths").as_object()) {
    for (const auto& [method, one] : methods.as_object()) {
      const std::string id(one.at("operationId").as_string());
      for (const auto& [status, response] : one.at("responses").as_object()) {
        const std::set<std::string>& reasons = seen[id][std::string(status)];
        EXPECT_FALSE(reasons.empty()) << id << " never answered " << status;
        if (!response.as_object().contains("x-reasons")) continue;
        for (const json::value& reason : response.at("x-reasons").as_array()) {
          EXPECT_TRUE(reasons.contains(std::string(reason.as_string())))
              << id << " never answered " << status << " " << reason;
        }
      }
    }
  }
}

TEST_F(OpenApi, RejectsMembersThatNoSchemaLists) {
  for (const auto& [name, schema] : description.at("components").at("schemas").as_object()) {
    const json::value* const required = schema.as_object().if_contains("required");
    for (const json::value& one : required == nullptr ? json::array() : required->as_array())
      EXPECT_TRUE(schema.at("properties").as_object().contains(one.as_string())) << name << " " << one;
  }
  const json::object one{{"type", "object"}, {"properties", {{"a", {{"type", "integer"}}}}}};
  EXPECT_EQ(unfit({{"a", 1}}, one, description), "");
  EXPECT_EQ(unfit({{"a", 1}, {"b", 1}}, one, description), "b is not listed");
  const json::object others{{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  EXPECT_EQ(unfit({{"b", "1"}}, others, description), "");
  EXPECT_EQ(unfit({{"b", 1}}, others, description), "b: 1 is no \"string\"");
  EXPECT_EQ(unfit(json::array{1}, {{"type", "array"}}, description), "its elements are not described");
}

/// An answer as an example: lists of two rows at most, without secrets.
json::value shortened(json::value value) {
  if (json::array* const list = value.if_array()) {
    if (list->size() > 2) list->resize(2);
    for (json::value& one : *list) one = shortened(std::move(one));
  } else if (json::object* const object = value.if_object()) {
    for (auto& [name, one] : *object)
      one = name == "secret" && one.is_string() ? json::value("whsec_…") : shortened(std::move(one));
  }
  return value;
}

TEST_F(OpenApi, HasAnExampleOfEachAnswer) {
  what_is_done();
  what_waits_and_dies();
  json::object written = json::parse(openapi_text()).as_object();
  for (auto& [path, methods] : written.at("paths").as_object()) {
    for (auto& [method, one] : methods.as_object()) {
      for (auto& [status, response] : one.at("responses").as_object()) {
        json::value* const content = response.as_object().if_contains("content");
        json::value* const body = content == nullptr ? nullptr : content->as_object().if_contains("application/json");
        const auto& its = examples[std::string(one.at("operationId").as_string())];
        if (body == nullptr || !its.contains(std::string(status))) continue;
        if (writes_reference()) {
          body->as_object()["example"] = shortened(its.at(std::string(status)));
          continue;
        }
        ASSERT_TRUE(body->as_object().contains("example")) << path << " " << status << ": FEEDMILL_WRITE_REFERENCE=1";
        const json::object& example = body->at("example").as_object();
        EXPECT_EQ(unfit(example, body->at("schema").as_object(), description), "") << path;
        for (const auto& [name, value] : its.at(std::string(status)))
          EXPECT_TRUE(example.contains(name)) << path << name;
      }
    }
  }
  if (writes_reference()) write_openapi(written);
}

TEST_F(OpenApi, HoldsEveryRouteWithItsParameters) {
  std::set<std::string> documented, known;
  for (const auto& [path, methods] : description.at("paths").as_object()) {
    for (const auto& [method, one] : methods.as_object()) {
      std::set<std::string> names;
      for (const json::value& parameter : one.at("parameters").as_array()) {
        if (parameter.at("in") != "query") continue;
        names.insert(std::string(parameter.at("name").as_string()) + (parameter.at("required").as_bool() ? "!" : ""));
      }
      std::string row = std::string(method) + " " + std::string(path);
      for (const std::string& name : names) row += " " + name;
      documented.insert(row);
    }
  }
  for (const ApiRoute& route : api_routes()) {
    std::set<std::string> names;
    std::istringstream words{std::string(route.parameters)};
    for (std::string name; words >> name;) names.insert(name);
    std::string row(boost::beast::http::to_string(route.method));
    std::ranges::transform(row, row.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    row += " " + std::string(route.path);
    for (const std::string& name : names) row += " " + name;
    known.insert(row);
  }
  EXPECT_EQ(documented, known);
  EXPECT_EQ(samples.size(), known.size());
}

}  // namespace
}  // namespace feedmill::test::openapi_test
