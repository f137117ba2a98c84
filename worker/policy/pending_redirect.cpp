#include "worker/policy/pending_redirect.hpp"

#include <string_view>

namespace feedmill {
namespace {

constexpr int enough_sightings = 3;
constexpr Milliseconds long_enough = std::chrono::hours(24);

/// http → https of the same host and path.
bool only_secures(std::string_view from, std::string_view to) {
  constexpr std::string_view plain = "http://", secure = "https://";
  return from.starts_with(plain) && to.starts_with(secure) && from.substr(plain.size()) == to.substr(secure.size());
}

/// The document's own statement counts as one sighting, however often it is read (HTTP R5).
void hear_document(PendingRedirect& moving, const Identity& identity) {
  if (moving.by_document || identity.new_location != moving.to) return;
  moving.by_document = true;
  ++moving.sightings;
}

}  // namespace

std::string permanent_target(std::span<const Hop> hops) {
  std::string target;
  for (std::size_t i = 0; i + 1 < hops.size(); ++i) {
    if (hops[i].status != 301 && hops[i].status != 308) break;
    target = hops[i].location;
  }
  return target;
}

Judgement judge(const FeedAddress& before, const std::string& requested, std::span<const Hop> hops,
                const Identity& identity, Milliseconds now) {
  Judgement result{before.moving, ""};
  PendingRedirect& moving = result.moving;
  std::string target = permanent_target(hops);
  const bool redirected = !target.empty();
  if (!redirected) {
    if (hops.size() > 1) return result;  // a temporary redirect says nothing about either
    target = identity.new_location;      // the URL serves the feed itself: an earlier redirect was temporary
  }
  if (target.empty() || target == requested || target == before.no_move_to) return {};
  if (moving.to != target) {
    moving = PendingRedirect();
    moving.to = target;
    moving.since = now;
  }
  hear_document(moving, identity);
  if (!redirected) return result;
  // Only the first sighting counts: later documents share guids because the first was stored.
  const bool first = moving.sightings == (moving.by_document ? 1 : 0);
  if ((first && identity.same) || identity.names_old) moving.same_feed = true;
  ++moving.sightings;
  const bool seasoned = moving.sightings >= enough_sightings && now - moving.since >= long_enough;
  if (moving.same_feed && (seasoned || only_secures(requested, target))) result = {PendingRedirect(), target};
  return result;
}

}  // namespace feedmill
