// Which values operations accept, and that each operation is described completely (OPERATIONS A5, B4).
#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "worker/operations/families.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill::operations_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

const Operation& operation(std::string_view verb) {
  for (const OperationFamily& family : operation_families()) {
    const auto found = std::ranges::find(family.operations, verb, &Operation::verb);
    if (found != family.operations.end()) return *found;
  }
  ADD_FAILURE() << "no operation " << verb;
  return operation_families().front().operations.front();
}

/// Takes "key=value" assignments as the command line does; returns the first error, "" if there is none.
std::string take(const std::vector<std::string>& assignments, OperationValues& given) {
  for (const std::string& assignment : assignments) {
    const std::string key = assignment.substr(0, assignment.find('='));
    const auto field = std::ranges::find_if(operation("webhook set").fields,
                                            [&](const OperationField& one) { return one.key() == key; });
    if (field == operation("webhook set").fields.end()) return "no such key";
    std::string wrong = given.take_text(*field, assignment.substr(key.size() + 1));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string take_json(const std::string& object, OperationValues& given) {
  const json::value parsed = json::parse(object);
  for (const auto& [name, value] : parsed.as_object()) {
    const auto field =
        std::ranges::find(operation("webhook set").fields, std::string_view(name), &OperationField::name);
    if (field == operation("webhook set").fields.end()) return "no such member";
    std::string wrong = given.take_json(*field, value);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(OperationValues, AreTheSameFromTextAndFromJson) {
  OperationValues text, object;
  EXPECT_EQ(take({"url=HTTPS://Example.org/hook", "name=One", "feed=http://example.org", "feed=http://example.org/",
                  "channel=anna/news", "type=post_created", "type=feed_gone", "initial=yes", "private=no", "at_once=5"},
                 text),
            "");
  EXPECT_EQ(take_json(R"({"url":"https://example.org/hook","name":"One","feeds":["http://example.org/"],
    "channels":["anna/news"],"types":["post_created","feed_gone"],"initial":true,"private":false,"at_once":5})",
                      object),
            "");
  for (const OperationValues& given : {text, object}) {
    EXPECT_EQ(given.text("url"), "https://example.org/hook");
    EXPECT_EQ(given.text("name"), "One");
    EXPECT_EQ(given.texts("feeds"), (std::vector<std::string>{"http://example.org/"}));
    EXPECT_EQ(given.texts("channels"), (std::vector<std::string>{"anna/news"}));
    EXPECT_EQ(given.texts("types"), (std::vector<std::string>{"post_created", "feed_gone"}));
    EXPECT_TRUE(given.truth("initial"));
    EXPECT_TRUE(given.has("private"));
    EXPECT_FALSE(given.truth("private"));
    EXPECT_EQ(given.number("at_once", 1), 5);
    EXPECT_EQ(given.duration("old_for", 2h), 2h) << "it was not given";
  }
  OperationValues cleared;
  EXPECT_EQ(take({"feed=https://example.org/", "feed=", "name="}, cleared), "");
  EXPECT_EQ(take_json(R"({"types":null,"channels":[]})", cleared), "");
  for (const char* list : {"feeds", "types", "channels"}) {
    EXPECT_TRUE(cleared.has(list)) << list;
    EXPECT_TRUE(cleared.texts(list).empty()) << list;
  }
}

TEST(OperationValues, AreBounded) {
  for (const char* wrong :
       {"at_once=0", "at_once=101", "at_once=-1", "at_once=x", "initial=true", "private=", "url=", "url=ftp://x",
        "url=https://user:canary@example.org/", "feed=x", "type=request_done", "channel=\x01", "name=\x1b"}) {
    OperationValues given;
    const std::string objection = take({std::string(wrong)}, given);
    EXPECT_NE(objection, "") << wrong;
    EXPECT_EQ(objection.find("user:canary"), std::string::npos) << objection;
  }
  for (const char* wrong :
       {R"({"at_once":0})", R"({"at_once":1e3})", R"({"at_once":"2"})", R"({"initial":"yes"})", R"({"url":null})",
        R"({"feeds":"x"})", R"({"feeds":[1]})", R"({"types":{}})", R"({"types":[""]})"}) {
    OperationValues given;
    EXPECT_NE(take_json(wrong, given), "") << wrong;
  }
  OperationValues given;
  std::string many = R"({"feeds":["http://example.org/0")";
  for (int i = 1; i <= 1000; ++i) many += ",\"http://example.org/" + std::to_string(i) + "\"";
  EXPECT_EQ(take_json(many + "]}", given), "expected at most 1000");
}

TEST(OperationValues, OfAChoiceExcludeEachOther) {
  const Operation& add = operation("topic add");
  const auto called = [](const OperationField& field) { return std::string(field.name); };
  OperationValues given;
  EXPECT_EQ(objection_to(add.fields, given, called).text, "url is missing (or channel)");
  EXPECT_TRUE(objection_to(add.fields, given, called).is_missing);
  EXPECT_EQ(objection_to(operation("topic subscribers").fields, given, called).text, "") << "neither is needed";
  EXPECT_EQ(given.take_text(add.fields[0], "https://example.org/"), "");
  EXPECT_EQ(objection_to(add.fields, given, called).text, "");
  EXPECT_EQ(given.take_text(add.fields[1], "anna/news"), "");
  EXPECT_EQ(objection_to(add.fields, given, called).text, "url and channel exclude each other");
  EXPECT_FALSE(objection_to(add.fields, given, called).is_missing);
}

TEST(Operations, AreSaidInFull) {
  std::set<std::string> calls;
  std::set<RequestOp> requests;
  for (const OperationFamily& family : operation_families()) {
    for (const Operation& one : family.operations) {
      EXPECT_TRUE(calls.insert(std::string(one.method) + " " + std::string(one.path)).second) << one.path;
      EXPECT_FALSE(one.about.empty() || one.about.ends_with('.')) << one.verb;
      EXPECT_NE(one.run == nullptr, one.answer == nullptr) << one.path;
      if (one.answer != nullptr) requests.insert(one.request);
      if (one.verb.empty()) continue;
      EXPECT_TRUE(one.verb.starts_with(std::string(family.verb) + " ")) << one.verb;
      EXPECT_TRUE(one.example.starts_with("feedmill " + std::string(one.verb))) << one.example;
      EXPECT_EQ(one.is_list(), !one.columns.empty() && !one.none.empty()) << one.verb;
      EXPECT_EQ(one.question.empty(), one.unasked.empty()) << one.verb;
      EXPECT_TRUE(one.access != Operation::Access::read || one.method == "GET") << one.verb;
      for (const OperationField& field : one.fields) {
        EXPECT_FALSE(field.about.empty() || field.about.ends_with('.')) << one.verb << " " << field.name;
        EXPECT_EQ(field.unit.empty(), field.kind == OperationField::Kind::truth) << one.verb << " " << field.name;
        EXPECT_TRUE(!field.repeats || field.most > 0) << one.verb << " " << field.name;
      }
    }
  }
  EXPECT_EQ(requests.size(), 18U) << "each op of stream:requests is carried out";
}

TEST(OldSecret, SignsUntilItsTime) {
  Subscriber webhook;
  webhook.secret = "new";
  webhook.old_secret = "old";
  webhook.old_until = 1000ms;
  EXPECT_EQ(secrets_in_use(webhook, 999ms), (std::vector<std::string>{"new", "old"}));
  EXPECT_EQ(secrets_in_use(webhook, 1000ms), (std::vector<std::string>{"new"}));
}

TEST(Operations, KnowAnIdOfAWebhook) {
  EXPECT_TRUE(is_webhook_id("wh_" + std::string(26, 'a')));
  for (const std::string& id : {std::string(), std::string("wh_"), "hub_" + std::string(26, 'a'),
                                "wh_" + std::string(25, 'a') + "*", "wh_" + std::string(27, 'a')}) {
    EXPECT_FALSE(is_webhook_id(id)) << id;
  }
}

}  // namespace
}  // namespace feedmill::operations_test
