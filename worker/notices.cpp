#include "worker/notices.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json.hpp>

#include "worker/commands_records.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

struct LifeCycle {
  std::string_view type, text, remedy;
};

constexpr std::array life_cycle{
    LifeCycle{"feed_failing", "feed is failing",
              "nothing, if it comes back by itself; see feedmill show for what its server answers"},
    LifeCycle{"feed_gone", "feed is gone", "find its new address, or feedmill remove it"},
    LifeCycle{"feed_recovered", "feed is healthy", "nothing: it is fetched again as usual"},
    LifeCycle{"feed_moved", "feed has moved for good", "nothing: it is fetched from the new address"},
    LifeCycle{"feed_rekeyed", "feed has new ids for old posts", "nothing: its posts keep their places"},
    LifeCycle{"feed_gap", "feed has left out posts", "set a shorter interval: more is posted than its document lists"},
};

}  // namespace

Notice post_notice(const Signal& signal, std::string user, std::span<const std::string> why) {
  json::object object;
  object["id"] = signal.id;
  object["type"] = signal.type;
  object["entity_id"] = signal.entity_id;
  object["feed_url"] = signal.feed_url;
  object["guid"] = signal.guid;
  for (const char* name : {"title", "link"}) object[name] = field_of(signal.data, name);
  object["timestamp"] = signal.timestamp;
  json::array& reasons = object["why"].emplace_array();
  for (const std::string& reason : why) reasons.emplace_back(reason);
  return {std::move(user), signal.id, json::serialize(object)};
}

std::optional<Notice> operator_notice(const Signal& signal) {
  const auto row =
      std::find_if(life_cycle.begin(), life_cycle.end(), [&](const LifeCycle& one) { return one.type == signal.type; });
  if (row == life_cycle.end()) return {};
  json::object object;
  object["id"] = signal.id;
  object["type"] = signal.type;
  object["feed_url"] = signal.feed_url;
  object["timestamp"] = signal.timestamp;
  for (const auto& [name, value] : signal.data) object[name] = value;
  object["text"] = row->text;
  object["remedy"] = row->remedy;
  return Notice{std::string(operator_user), signal.id, json::serialize(object)};
}

}  // namespace feedmill
