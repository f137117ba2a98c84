#include "worker/push_out/verification_limit.hpp"

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

constexpr std::size_t most_failures = 10;
constexpr std::chrono::seconds between_requests{1}, longest_wait{5};
constexpr std::chrono::minutes closed{10};

}  // namespace

VerificationLimit::Site* VerificationLimit::find(const std::string& site) {
  const auto found = places_.find(site);
  if (found == places_.end()) return nullptr;
  Site& known = *found->second;
  if (known.failures > 0 && known.until <= Clock::now()) known.failures = 0;
  return &known;
}

bool VerificationLimit::may_be_forgotten(const Site& site) const {
  return site.under_way == 0 && (site.failures < most_failures || site.until <= Clock::now());
}

bool VerificationLimit::add(const std::string& site, bool confirmed) {
  if (Site* const known = find(site)) {
    known->confirmed |= confirmed;
    return true;
  }
  if (sites_.size() >= most_) {
    const auto goes = std::ranges::find_if(sites_, [this](const Site& one) { return may_be_forgotten(one); });
    if (goes == sites_.end()) return false;
    places_.erase(goes->name);
    sites_.erase(goes);
  }
  Site added;
  added.name = site;
  added.confirmed = confirmed;
  places_.emplace(site, sites_.insert(sites_.end(), std::move(added)));
  return true;
}

Milliseconds VerificationLimit::closed_for(const std::string& site) {
  const Site* const known = find(site);
  if (known == nullptr || is_lifted(*known) || known->failures < most_failures) return Milliseconds(0);
  return std::chrono::ceil<Milliseconds>(known->until - Clock::now());
}

Milliseconds VerificationLimit::enter(const std::string& site) {
  Site* const known = find(site);
  if (known == nullptr) return longest_wait;
  const auto now = Clock::now();
  const bool full = known->failures + known->under_way >= most_failures;
  if (!is_lifted(*known) && (full || (!known->confirmed && now < known->next))) {
    ++known->waiting;
    const auto wait = std::max(known->next - now, Clock::duration(0)) + known->waiting * between_requests;
    return std::chrono::ceil<Milliseconds>(std::min<Clock::duration>(wait, longest_wait));
  }
  ++known->under_way;
  known->waiting = 0;
  known->next = now + between_requests;
  return Milliseconds(0);
}

void VerificationLimit::leave(const std::string& site, Outcome outcome) {
  Site* const known = find(site);
  if (known == nullptr) return;
  if (known->under_way > 0) --known->under_way;
  if (outcome == Outcome::confirmed) {
    known->confirmed = true;
    if (is_lifted(*known)) known->failures = 0;
  } else if (outcome == Outcome::failed) {
    known->confirmed = is_lifted(*known);
    ++known->failures;
    known->until = Clock::now() + closed;
  }
}

Milliseconds VerificationLimit::enter(const std::string& name, Milliseconds full) {
  if (!add(name, false)) return full;
  const Milliseconds closed = closed_for(name);
  return closed > Milliseconds(0) ? closed : enter(name);
}

}  // namespace feedmill
