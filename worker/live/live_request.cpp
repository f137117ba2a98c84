#include "worker/live/live_request.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "parsers/text/strings.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {
namespace {

void add_once(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

/// The error in the parameter; "" if valid.
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
  const std::size_t dash = text.find('-');
  EventPlace place;
  if (dash == std::string_view::npos || !read_number(text.substr(0, dash), place.milliseconds) ||
      !read_number(text.substr(dash + 1), place.number))
    return std::nullopt;
  if (place.number == UINT64_MAX) return std::nullopt;  // Redis finds no events after it
  return place;
}

boost::system::result<LiveRequest, LiveObjection> read_live_request(std::string_view query,
                                                                    std::string_view last_event_id) {
  LiveRequest request;
  std::string place;
  while (!query.empty()) {
    const std::string_view one = take_until(query, '&');
    if (one.empty()) continue;
    const std::size_t sign = std::min(one.find('='), one.size());
    const auto name = percent_decoded(one.substr(0, sign), Plus::space);
    const auto value = percent_decoded(one.substr(std::min(sign + 1, one.size())), Plus::space);
    if (!name || !value || !is_utf8(*name) || !is_utf8(*value))
      return LiveObjection{"the query is not percent-encoded UTF-8"};
    std::string wrong = take(*name, *value, request, place);
    if (!wrong.empty()) return LiveObjection{std::move(wrong)};
  }
  std::string wrong = objection_to(request.filter);
  if (!wrong.empty()) return LiveObjection{std::move(wrong)};
  if (!last_event_id.empty()) place = last_event_id;
  if (place.empty()) return request;
  request.after = read_place(place);
  if (!request.after)
    return LiveObjection{"Last-Event-ID, last_event_id: expected the id of an event, such as 1795437223358-1"};
  return request;
}

}  // namespace feedmill
