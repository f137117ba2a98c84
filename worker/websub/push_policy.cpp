#include "worker/websub/push_policy.hpp"

#include <algorithm>

#include <xxhash.h>

#include "parsers/text/strings.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/policy/push_health.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds shortest_lease = std::chrono::minutes(5), longest_lease = std::chrono::hours(24 * 30);
constexpr Milliseconds usual_lease = std::chrono::hours(24);

using Do = PushStep::Do;

PushStep wait_until(Milliseconds then, Milliseconds now) {
  return {Do::wait, std::max(then - now, Milliseconds(1000)), "", "", ""};
}

bool is_running(const PushTask& task, Milliseconds now) {
  return task.subscription && task.subscription->state == "active" && now < task.subscription->lease_end;
}

/// The subscription's hub if it is advertised, then the next advertised one after each failure (WEBSUB S4).
std::string hub_to_ask(const PushTask& task, const HubAdvert& advert) {
  const auto own = task.subscription ? std::ranges::find(advert.hubs, task.subscription->hub) : advert.hubs.end();
  const std::size_t first = own == advert.hubs.end() ? 0 : static_cast<std::size_t>(own - advert.hubs.begin());
  return advert.hubs[(first + task.state.push.standing.tries) % advert.hubs.size()];
}

}  // namespace

PushStep plan_push(const PushTask& task, Milliseconds now) {
  if (task.feed_url.empty()) {
    const PushRecord& record = *task.subscription;
    if (record.ends >= 3 || record.lease_end <= now) return {Do::forget, {}, "", "", ""};  // it expires by itself
    return {Do::unsubscribe, push_pending_for, record.hub_url, record.topic, ""};
  }
  const FeedSettings settings = read_settings(task.state.settings);
  const HubAdvert advert = chosen_hubs(settings, task.state, task.feed_url);
  const PushStanding& standing = task.state.push.standing;
  const bool wanted = wants_hub(settings, advert);
  const bool running = is_running(task, now);
  if (!wanted) return {standing.state.empty() ? Do::forget : Do::leave, {}, "", "", ""};

  PushStep subscribe{Do::subscribe, push_pending_for, hub_to_ask(task, advert), advert.topic, ""};
  const bool was_running = standing.state == "unproven" || standing.state == "healthy" || standing.state == "doubtful";
  PushStep lapsed{Do::lost, push_retry_after(standing.tries), "", "", "its lease has expired and was not renewed"};
  if (task.asked_for && task.asked_for->state == "pending") {
    const Milliseconds over = task.asked_for->pending_since + push_pending_for;
    const bool still_meant = task.asked_for->topic == advert.topic &&
                             std::ranges::find(advert.hubs, task.asked_for->hub) != advert.hubs.end();
    if (!still_meant) return subscribe;
    if (was_running && !running) return lapsed;  // WEBSUB L2: a late answer may bring it back
    if (now < over) return wait_until(running ? std::min(over, task.subscription->lease_end) : over, now);
    const std::string note = "its hub accepted the subscription but did not verify it within an hour";
    if (running) return {Do::retry, hub_retry_after(standing.tries, {}), "", "", note};
    return {Do::lost, push_retry_after(standing.tries), "", "", note};
  }
  if (running) {
    const PushRecord& record = *task.subscription;
    const bool changed =
        record.topic != advert.topic || std::ranges::find(advert.hubs, record.hub) == advert.hubs.end();
    if (changed || now >= record.renew_at || standing.state == "failed") return subscribe;
    return wait_until(std::min(record.renew_at, record.lease_end), now);
  }
  return was_running ? lapsed : subscribe;
}

Milliseconds wait_for_next_hub(const PushTask& task, Milliseconds retry_after, bool refused) {
  const HubAdvert advert = chosen_hubs(read_settings(task.state.settings), task.state, task.feed_url);
  const auto hubs = static_cast<std::uint32_t>(std::max<std::size_t>(advert.hubs.size(), 1));
  const std::uint32_t tries = task.state.push.standing.tries;
  if ((tries + 1) % hubs != 0) return Milliseconds(0);
  return refused ? push_retry_after(tries / hubs) : hub_retry_after(tries / hubs, retry_after);
}

PushLease push_lease(std::string_view lease_seconds, std::string_view topic) {
  Milliseconds lease = usual_lease;
  std::int64_t seconds = 0;
  if (read_number(lease_seconds, seconds) && seconds > 0 && seconds < (1LL << 31)) {
    lease = std::clamp<Milliseconds>(std::chrono::seconds(seconds), shortest_lease, longest_lease);
  }
  const auto spread = static_cast<std::uint64_t>(lease.count() / 10);
  const Milliseconds phase(XXH3_64bits(topic.data(), topic.size()) % spread);
  return {lease, lease / 2 + phase};
}

Milliseconds hub_retry_after(std::uint32_t failures, Milliseconds retry_after) {
  const Milliseconds back =
      std::min<Milliseconds>(std::chrono::hours(1) * (1 << std::min(failures, 5U)), std::chrono::hours(24));
  return std::max(back, std::min<Milliseconds>(retry_after, std::chrono::hours(24 * 7)));
}

}  // namespace feedmill
