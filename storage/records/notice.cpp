#include "storage/records/notice.hpp"

#include "parsers/text/json_writer.hpp"
#include "storage/redis/utf8.hpp"

namespace feedmill {

std::string_view objection_to_user(std::string_view user) {
  if (user == "global") return "the channel notifications:global belongs to all users";
  if (user.starts_with("topic:")) return "the channels notifications:topic:… are those of watches";
  return {};
}

std::string notice_message(const Notice& notice) {
  JsonWriter json;
  json.reserve(256 + notice.user.size() + notice.id.size() + notice.feed_url.size() + notice.json.size());
  json.begin_object();
  json.number("v", 1);
  json.string("type", "notification_created");
  json.string("entity_type", "notification");
  json.string("entity_id", notice.id);
  json.string("action", "created");
  json.number("timestamp", notice.timestamp);
  json.string("feed_url", notice.feed_url);
  json.string("user_id", notice.user);
  json.raw("data", notice.json);
  json.end_object();
  std::string message = json.take();
  return is_utf8(message) ? message : cleaned_text(message);  // user names may be any bytes
}

}  // namespace feedmill
