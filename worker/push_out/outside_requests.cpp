#include "worker/push_out/outside_requests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "parsers/text/strings.hpp"
#include "storage/records/tokens.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_parameters = 64, longest_secret = 199;
constexpr Milliseconds usual_lease = std::chrono::hours(24 * 10), least_lease = std::chrono::hours(1),
                       most_lease = std::chrono::hours(24 * 30);

/// The lease for `hub.lease_seconds`; nullopt if it is not a positive integer.
std::optional<Milliseconds> lease_of(std::string_view seconds) {
  if (seconds.empty()) return usual_lease;
  if (seconds.find_first_not_of("0123456789") != std::string_view::npos) return {};
  std::int64_t number = 0;
  if (!read_number(seconds, number)) return most_lease;  // too large for an integer
  if (number == 0) return {};
  return std::clamp(Milliseconds(std::min<std::int64_t>(number, 1'000'000'000) * 1000), least_lease, most_lease);
}

}  // namespace

boost::system::result<HubRequest, std::string> read_hub_request(std::string_view form) {
  using Result = boost::system::result<HubRequest, std::string>;
  const auto refused = [](std::string why) { return Result(boost::system::in_place_error, std::move(why)); };
  HubRequest request;
  std::string lease;
  struct Parameter {
    std::string_view name;
    std::string* value;
    bool seen = false;
  };
  std::array parameters{Parameter{"hub.mode", &request.mode}, Parameter{"hub.callback", &request.callback},
                        Parameter{"hub.topic", &request.topic}, Parameter{"hub.secret", &request.secret},
                        Parameter{"hub.lease_seconds", &lease}};
  for (std::size_t count = 0; !form.empty(); ++count) {
    if (count == most_parameters) return refused("more than 64 parameters");
    FormPair pair = take_pair(form);
    if (!pair.name) continue;
    const auto known = std::ranges::find(parameters, *pair.name, &Parameter::name);
    if (known == parameters.end()) continue;
    if (std::exchange(known->seen, true)) return refused(std::string(known->name) + " is given twice");
    if (!pair.value) return refused(std::string(known->name) + " has an invalid percent-escape");
    *known->value = std::move(*pair.value);
  }
  if (request.mode != "subscribe" && request.mode != "unsubscribe")
    return refused("hub.mode is neither subscribe nor unsubscribe");
  if (request.topic.empty()) return refused("hub.topic is missing");
  if (request.callback.empty()) return refused("hub.callback is missing");
  if (request.callback.find('#') != std::string::npos) return refused("hub.callback has a fragment");
  auto callback = resolve_location(request.callback, request.callback);
  if (!callback) return refused("hub.callback: " + callback.error());
  request.callback = std::move(*callback);
  if (request.secret.size() > longest_secret) return refused("hub.secret is 200 bytes or longer");
  const std::optional<Milliseconds> wanted = lease_of(lease);
  if (!wanted) return refused("hub.lease_seconds is not a number of seconds from 1");
  request.lease = *wanted;
  return request;
}

namespace {

constexpr std::size_t longest_id = 256;

/// Parses "<score>:<entry id>".
std::optional<EntryCursor> read_before(std::string_view text) {
  EntryCursor cursor;
  if (!read_number(take_until(text, ':'), cursor.score)) return {};
  cursor.id = text;
  if (cursor.id.empty() || cursor.id.size() > longest_id) return {};
  return cursor;
}

}  // namespace

std::optional<TopicTarget> read_topic_target(std::string_view path, std::string_view query) {
  constexpr std::string_view beginning = "/t/";
  if (!path.starts_with(beginning)) return {};
  path.remove_prefix(beginning.size());
  TopicTarget target;
  const std::string_view ending = path.substr(std::min(token_length, path.size()));
  if (ending != ".atom" && ending != ".json") return {};
  target.format = ending == ".json" ? TopicFormat::json : TopicFormat::atom;
  target.token = path.substr(0, token_length);
  if (!is_token(target.token)) return {};
  if (const auto before = parameter(query, "before")) {
    target.before = read_before(*before);
    target.unreadable_place = !target.before;
  }
  return target;
}

namespace {

void add_once(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

/// Handles one parameter. Returns the error; "" if it is valid.
std::string take(std::string_view name, const std::string& value, LiveRequest& request, std::string& place) {
  if (name == "feed") {
    const auto url = canonical_feed_url(value);
    if (!url) return "feed: not a feed URL: " + url.error();
    add_once(request.filter.feeds, *url);
  } else if (name == "channel") {
    add_once(request.filter.channels, value);
  } else if (name == "type") {
    std::string_view types = value;
    do add_once(request.filter.types, take_until(types, ','));
    while (!types.empty() && request.filter.types.size() <= outside_event_types.size());
  } else if (name == "initial") {
    if (value != "0" && value != "1") return "initial: expected 0 or 1";
    request.filter.initial = value == "1";
  } else if (name == "last_event_id") {
    place = value;
  } else if (name != "topic" && name != "token") {
    return "allowed parameters: topic, token, feed, channel, type, initial and last_event_id";
  }
  return {};
}

}  // namespace

std::optional<EventPlace> read_place(std::string_view text) {
  EventPlace place;
  if (!read_number(take_until(text, '-'), place.milliseconds) || !read_number(text, place.number)) return std::nullopt;
  if (place.number == UINT64_MAX) return std::nullopt;  // Redis finds no events after it
  return place;
}

boost::system::result<LiveRequest, std::string> read_live_request(std::string_view query,
                                                                  std::string_view last_event_id) {
  LiveRequest request;
  std::string place;
  while (!query.empty()) {
    if (query.starts_with('&')) {
      query.remove_prefix(1);
      continue;
    }
    const auto [name, value] = take_pair(query);
    if (!name || !value || !is_utf8(*name) || !is_utf8(*value))
      return std::string("the query is not percent-encoded UTF-8");
    std::string wrong = take(*name, *value, request, place);
    if (!wrong.empty()) return wrong;
  }
  std::string wrong = objection_to(request.filter);
  if (!wrong.empty()) return wrong;
  if (!last_event_id.empty()) place = last_event_id;
  if (place.empty()) return request;
  request.after = read_place(place);
  if (!request.after)
    return std::string("Last-Event-ID, last_event_id: expected the id of an event, such as 1795437223358-1");
  return request;
}

}  // namespace feedmill
