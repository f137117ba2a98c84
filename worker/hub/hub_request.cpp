#include "worker/hub/hub_request.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "parsers/text/strings.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_parameters = 64, longest_secret = 199;
constexpr Milliseconds usual_lease = std::chrono::hours(24 * 10), least_lease = std::chrono::hours(1),
                       most_lease = std::chrono::hours(24 * 30);

/// Empty if `seconds` is not a positive integer.
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
    const auto end = std::min(form.find('&'), form.size());
    const std::string_view pair = form.substr(0, end);
    form.remove_prefix(std::min(end + 1, form.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals), Plus::space);
    if (!name) continue;
    const auto known = std::ranges::find(parameters, *name, &Parameter::name);
    if (known == parameters.end()) continue;
    if (std::exchange(known->seen, true)) return refused(std::string(known->name) + " is given twice");
    auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), Plus::space);
    if (!value) return refused(std::string(known->name) + " has an invalid percent-escape");
    *known->value = std::move(*value);
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

}  // namespace feedmill
