// Records read without a JSON tree must equal those read with one, for a real history and for random changes to it.
#include "storage/records/event_record.hpp"

#include <random>

#include <boost/json.hpp>

#include "storage/records/json_members.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::event_record_test {
namespace {

namespace json = boost::json;

std::optional<std::int64_t> number_of(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  if (found == nullptr || !found->is_int64()) return {};
  return found->as_int64();
}

std::optional<Event> read_as_tree(const EventRecord& record) {
  boost::system::error_code error;
  const json::value value = json::parse(record.json, error);
  const json::object* const object = error ? nullptr : value.if_object();
  if (object == nullptr) return {};
  Event event;
  event.id = record.id;
  event.prev = string_member(*object, "prev");
  event.type = string_member(*object, "type");
  event.entity_id = string_member(*object, "entity_id");
  event.feed_url = string_member(*object, "feed_url");
  event.guid = string_member(*object, "guid");
  event.timestamp = number_of(*object, "timestamp").value_or(0);
  if (const json::value* const initial = object->if_contains("initial")) event.initial = *initial == true;
  if (const json::value* const changed = object->if_contains("changed"); changed != nullptr && changed->is_object()) {
    event.renamed = changed->as_object().contains("link") || changed->as_object().contains("title");
  }
  if (const json::value* const data = object->if_contains("data"); data != nullptr && data->is_object()) {
    event.score = number_of(data->as_object(), "timestamp");
    for (const auto& [name, member] : data->as_object()) {
      if (member.is_string()) event.data.emplace_back(std::string(name), std::string(member.as_string()));
    }
  }
  if (event.type.empty() || event.entity_id.empty() || event.feed_url.empty()) return {};
  return event;
}

std::string shown(const std::optional<Event>& event) {
  if (!event) return "none";
  std::string text = event->id + "|" + event->prev + "|" + event->type + "|" + event->entity_id + "|" +
                     event->feed_url + "|" + event->guid + "|" + std::to_string(event->timestamp) + "|" +
                     std::to_string(event->initial) + std::to_string(event->renamed) + "|" +
                     (event->score ? std::to_string(*event->score) : "-");
  for (const auto& [name, value] : event->data) text += "|" + name + "=" + value;
  return text;
}

class EventRecordTest : public StoreTest {
 protected:
  /// Records of all kinds, with texts that need every kind of escape.
  std::vector<EventRecord> history() {
    add();
    const std::string odd = "q\" b\\ n\n t\t \x01 \xc3\xa4 \xe2\x80\xa8 \xf0\x9f\x98\x80 </script>";
    std::vector<EntryRecord> posts;
    for (int i = 0; i < 8; ++i) posts.push_back(post("g\"" + std::to_string(i), 1'000 - i, odd + std::to_string(i)));
    refresh(posts);
    for (EntryRecord& one : posts) one.fields.front().second = "https://example.org/other";
    Commit commit = plan(claim_one(), {post("g\"0", -5, std::string(2'000, 'x')), post("new", 1)});
    commit.events = {{"feed_failing", "updated", R"({"reason":"http.gone","nested":{"timestamp":1,"a":["b"]}})", ""},
                     {"feed_modified", "updated", "{}", R"({"title":["","x"]})"}};
    send(commit);
    refresh({post("new", 1)}, Retention{.entries = 1, .listed = 1, .strict = true});
    const auto records = EventStream(store).read("0", 1'000, Milliseconds(0));
    EXPECT_TRUE(records && records->size() > 15);
    return *records;
  }
};

TEST_F(EventRecordTest, ReadsWhatATreeWouldSay) {
  std::minstd_rand random(1);
  std::size_t equal = 0, kept = 0;
  const auto compare = [&](const EventRecord& record) {
    const std::string wanted = shown(read_as_tree(record));
    ASSERT_EQ(shown(read_event(record)), wanted) << record.json;
    equal += 1;
    kept += wanted == "none" ? 0 : 1;
  };
  std::vector<EventRecord> records = history();
  for (const EventRecord& record : records) {
    ASSERT_TRUE(read_event(record)) << record.json;
    compare(record);
  }
  const std::string head = R"({"type":"t","entity_id":"e","feed_url":"f",)";
  for (const char* text : {R"("guid":"g"} )",
                           R"("guid":"g"}})",
                           R"("guid":5,"guid":"h"})",
                           R"("guid":"h","guid":5})",
                           R"("type":null})",
                           R"("timestamp":1.5})",
                           R"("timestamp":18446744073709551615})",
                           R"("timestamp":-9223372036854775808})",
                           R"("timestamp":5,"timestamp":"x"})",
                           R"("initial":true})",
                           R"("initial":1})",
                           R"("initial":true,"initial":null})",
                           R"("data":{"timestamp":7,"t":"x"},"data":5})",
                           R"("data":{"t":"x"},"data":{"u":"y"}})",
                           R"("data":[{"t":"x"}]})",
                           R"("data":["x"],"prev":["y"]})",
                           R"("data":{"a":{"timestamp":5,"b":"c"},"d":["e"],"f":"g"}})",
                           R"("x":{"data":{"t":"x"},"guid":"no"}})",
                           R"("x":{"timestamp":5}})",
                           R"("\u0067uid":"\ud83d\ude00"})",
                           R"("guid":"\ud83d"})",
                           R"("data":{"timestamp":7,"timestamp":1e3}})",
                           R"("data":{}})",
                           R"("changed":{"link":["a","b"]}})",
                           R"("changed":{"title":{"old_bytes":1},"link":5}})",
                           R"("changed":{"summary":{"title":1}},"data":{"changed":{"link":1}}})",
                           R"("changed":{"link":1},"changed":{"x":1}})",
                           R"("changed":[{"link":1}]})",
                           "\"guid\":\"\xff\"})",
                           "}",
                           R"("guid":"g"} // x)",
                           R"("guid":nan})"}) {
    records.push_back({"1-1", "t", head + text});
  }
  for (const char* text :
       {"", "5", "null", R"("type")", "[]", "{}", R"([{"type":"t","entity_id":"e","feed_url":"f"}])"}) {
    records.push_back({"1-1", "t", text});
  }
  std::string deep = head + R"("data":)" + std::string(40, '[') + std::string(40, ']') + "}";
  records.push_back({"1-1", "t", deep});
  for (const EventRecord& record : records) compare(record);
  const std::string bytes = "{}[]\",:\\u0123456789.eE+-tfn \n\x80\xc3";
  for (int i = 0; i < 20'000; ++i) {
    EventRecord record = records[random() % records.size()];
    for (auto changes = 1 + random() % 3; changes > 0 && !record.json.empty(); --changes) {
      const std::size_t at = random() % record.json.size();
      const char byte = bytes[random() % bytes.size()];
      switch (random() % 4) {
        case 0:
          record.json[at] = byte;
          break;
        case 1:
          record.json.insert(at, 1, byte);
          break;
        case 2:
          record.json.erase(at, 1 + random() % 3);
          break;
        default:
          std::swap(record.json[at], record.json[random() % record.json.size()]);
      }
    }
    compare(record);
  }
  EXPECT_GT(kept, 2'000U) << "of " << equal << " were events";
  EXPECT_GT(equal - kept, 2'000U);
}

TEST(EventJson, EscapesAsEveryParserReadsIt) {
  std::string all;
  for (int byte = 0; byte < 0x80; ++byte) all += static_cast<char>(byte);
  all += "\u00e9\u2028";
  EXPECT_EQ(json_string(all), boost::json::serialize(boost::json::value(boost::json::string(all))));
  EXPECT_EQ(boost::json::parse(json_string(all)).as_string(), all);
}

}  // namespace
}  // namespace feedmill::test::event_record_test
