#include "worker/words/push_text.hpp"

#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/base/units.hpp"
#include "worker/config/hub_choice.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {

namespace json = boost::json;

namespace {

HubAdvert hubs_of(const FeedRecord& record) {
  return chosen_hubs(read_settings(record.state.settings), record.state, record.feed_url);
}

}  // namespace

StoreResult<std::optional<PushRecord>> subscription_of(Store& store, const FeedPushes& pushes) {
  if (pushes.standing.subscription.empty()) return std::optional<PushRecord>();
  auto found = Pushes(store).find(std::span(&pushes.standing.subscription, 1)).front();
  // Some users may not read the subscription with its secrets (SECURITY A1); the state has the rest.
  if (!found && found.error().code == StoreError::Code::auth) return std::optional<PushRecord>();
  return found;
}

std::vector<PushFact> push_facts(const FeedRecord& record, const std::optional<PushRecord>& subscription,
                                 Milliseconds now) {
  const FeedPushes& pushes = record.state.push;
  const PushStanding& push = pushes.standing;
  const HubAdvert hubs = hubs_of(record);
  std::vector<PushFact> facts;
  if (push.state.empty()) {
    if (hubs.hubs.empty()) return facts;
    facts.push_back({"Hub", "", fmt::format("{} for {}, not subscribed", hubs.hubs.front(), hubs.topic)});
    return facts;
  }
  facts.push_back({"State", "", fmt::format("{} since {}", push.state, rfc3339(push.since))});
  facts.push_back({"Hub", ", at ", fmt::format("{} for {}", push.hub.empty() ? "no hub" : push.hub, hubs.topic)});
  if (!push.note.empty()) facts.push_back({"Last error", "; ", push.note});
  if (subscription && subscription->state == "active") {
    std::string lease =
        fmt::format("until {}, {}, {}", rfc3339(subscription->lease_end), from_now(subscription->lease_end, now),
                    subscription->secret.empty() ? "unsigned: pushes are only hints" : "signed");
    if (subscription->bad > 0) lease += fmt::format(", {} with a bad signature ignored", subscription->bad);
    facts.push_back({"Lease", "; lease ", std::move(lease)});
  }
  if (push.last_push.count() != 0) facts.push_back({"Last push", "; last push ", from_now(push.last_push, now)});
  const PushHealth& health = pushes.health;
  if (health.pushed_first + health.poll_first > 0) {
    facts.push_back({"First to arrive", "; ",
                     fmt::format("push first {} times, poll first {} times", health.pushed_first, health.poll_first)});
  }
  if (health.fallback.count() != 0) {
    facts.push_back({"Polling", "; ", "polled every " + format_duration(health.fallback) + " as well"});
  }
  return facts;
}

std::string push_text(const FeedRecord& record, const std::optional<PushRecord>& subscription, Milliseconds now) {
  std::string text;
  for (const PushFact& fact : push_facts(record, subscription, now)) text.append(fact.lead).append(fact.value);
  return text;
}

std::span<const PushStateText> push_state_texts() {
  static constexpr std::array texts{
      PushStateText{"pending", "subscription requested; the hub has not verified it yet"},
      PushStateText{"unproven", "accepted; polled as usual until pushes were first with three posts"},
      PushStateText{"healthy", "pushes arrive first; polled less often"},
      PushStateText{"doubtful", "polls found posts that no push delivered; polled as usual"},
      PushStateText{"failed", "refused, or its lease was lost; retried after a day or more"},
      PushStateText{"denied", "the hub denied the subscription; retried after a week or more"},
  };
  return texts;
}

json::value push_json(const FeedRecord& record, const std::optional<PushRecord>& subscription) {
  const FeedPushes& pushes = record.state.push;
  const HubAdvert advert = hubs_of(record);
  const PushStanding& standing = pushes.standing;
  if (advert.hubs.empty() && standing.state.empty()) return {};
  json::object row;
  row["state"] = standing.state.empty() ? json::value() : json::value(standing.state);
  row["since"] = time_json(standing.since);
  row["hubs"] = json::value_from(advert.hubs);
  row["topic"] = advert.topic;
  row["hub"] = standing.hub;
  row["note"] = standing.note;
  row["verified"] = time_json(standing.verified);
  row["last_push"] = time_json(standing.last_push);
  row["lease_end"] = time_json(subscription ? subscription->lease_end : Milliseconds(0));
  row["renew_at"] = time_json(subscription ? subscription->renew_at : Milliseconds(0));
  row["signed"] = subscription && !subscription->secret.empty();
  row["bad_signatures"] = subscription ? subscription->bad : 0;
  row["tries"] = standing.tries;
  row["denials"] = standing.denials;
  row["pushed_first"] = pushes.health.pushed_first;
  row["poll_first"] = pushes.health.poll_first;
  row["near"] = pushes.health.near;
  row["fallback_s"] = pushes.health.fallback.count() / 1000;
  return row;
}

}  // namespace feedmill
