#include "worker/config/hub_choice.hpp"

#include <string>

namespace feedmill {

HubAdvert chosen_hubs(const FeedSettings& settings, const FeedState& state, std::string_view feed_url) {
  const HubAdvert& advert = state.push.advert;
  if (settings.hub.empty()) return advert;
  std::string topic = !settings.topic.empty() ? settings.topic : advert.topic;
  if (topic.empty()) topic = state.address.fetch_url.empty() ? std::string(feed_url) : state.address.fetch_url;
  return {std::move(topic), {settings.hub}, 0};
}

bool wants_hub(const FeedSettings& settings, const HubAdvert& hubs) {
  return !hubs.hubs.empty() && hubs.missing < 3 && settings.websub != "off";
}

bool changes_hub(const FeedSettings& before, const FeedSettings& after) {
  return before.hub != after.hub || before.topic != after.topic || before.websub != after.websub;
}

}  // namespace feedmill
