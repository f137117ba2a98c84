#include "worker/words/explanation.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/hosts.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

std::uint32_t free_slots(const HostView& host) {
  return host.limits.concurrency - std::min(host.limits.concurrency, host.state.in_flight);
}

/// When a request to the host may start (HTTP H1, H5), ignoring slots: the earliest time over all its egress names
/// (HTTP H10).
Milliseconds next_start(const HostView& host) {
  std::optional<Milliseconds> first;
  for (const HostQuota& quota : host.state.quotas) {
    const Milliseconds next = std::max(quota.hold, quota.last_start + quota.pace);
    first = std::min(first.value_or(next), next);
  }
  if (host.by_hand || !first) first = Milliseconds(0);
  return std::max({host.state.last_start + host.limits.spacing * host.state.slow, host.state.not_before, *first});
}

/// "1 request a minute", "2.4 requests an hour".
std::string rate_text(double a_second) {
  const auto [rate, unit] =
      a_second * 60 > 0.95 ? std::pair(a_second * 60, "a minute") : std::pair(a_second * 3600, "an hour");
  if (std::abs(rate - 1) < 0.05) return fmt::format("1 request {}", unit);
  return rate < 10 ? fmt::format("{:.2g} requests {}", rate, unit) : fmt::format("{:.0f} requests {}", rate, unit);
}

std::string interval_text(double seconds) {
  if (seconds < 99.5 * 60) return fmt::format("every {:.0f} min", std::max(seconds / 60, 1.0));
  return seconds < 48 * 3600 ? fmt::format("every {:.0f} h", seconds / 3600)
                             : fmt::format("every {:.0f} d", seconds / 86400);
}

/// When the last request in the host's queue may start, if each takes no longer than the spacing.
Milliseconds line_end(const HostView& host, Milliseconds now) {
  const auto starts = static_cast<std::int64_t>(std::max<std::uint64_t>(host.state.waiting, 1)) - 1;
  Milliseconds apart = host.limits.spacing * host.state.slow;
  for (const HostQuota& quota : host.state.quotas) {
    if (!host.by_hand) apart = std::max(apart, quota.pace);
  }
  return std::max(next_start(host), now) + apart * starts;
}

std::string state_text(const FeedRecord& record, Milliseconds now) {
  const FeedState& state = record.state;
  const LastRefresh& last = state.last;
  const PollCounts& counts = state.counts;
  if (last.at.count() == 0)
    return state.state + (state.address.fetch_url.empty() ? "; never fetched" : "; never fetched from its new address");
  std::string text = state.state + "; last ";
  if (last.status != 0) {
    text += fmt::format("{} ({}) ", last.status, last.error.empty() ? last.outcome : last.error);
  } else {
    text += fmt::format("{} ", last.error.empty() ? last.outcome : last.error);
  }
  text += from_now(last.at, now);
  if (state.failures.count > 0) {
    text += fmt::format(", {} failure{} in a row since {}", state.failures.count, state.failures.count == 1 ? "" : "s",
                        rfc3339(state.failures.since));
  }
  text += fmt::format(", {} failure{} ever", counts.polls_failed, counts.polls_failed == 1 ? "" : "s");
  if (counts.polls > 0) {
    text += fmt::format(", hit rate {} % of {} poll{}", (counts.polls_with_new * 100 + counts.polls / 2) / counts.polls,
                        counts.polls, counts.polls == 1 ? "" : "s");
  }
  return text;
}

std::string next_text(const FeedRecord& record, const HostView& host, Milliseconds now, bool numbers) {
  if (!record.claim.empty() && record.due && *record.due > now) {  // during the lease
    return "being fetched now, by " + record.claim.substr(0, record.claim.find(':'));
  }
  if (!record.due) return record.state.state == "paused" ? "never while it is paused" : "never: it is not scheduled";
  if (record.in_line) {
    const Milliseconds start = std::max(next_start(host), now);
    return fmt::format("due since {}, waiting for {}: {} feed{} ahead of it, the next may start {}",
                       rfc3339(*record.due), host.name, record.in_line->ahead, record.in_line->ahead == 1 ? "" : "s",
                       start == now ? "now" : from_now(start, now));
  }
  std::string text = due_text(*record.due, now, numbers ? record.state.due.reason : "");
  if (const Milliseconds start = host.state.not_before; start > std::max(*record.due, now)) {
    text +=
        fmt::format("; but its host {} until {}, {}",
                    host.state.storm.count() != 0 ? "is failing, and its requests are suspended" : "asked for a pause",
                    rfc3339(start), from_now(start, now));
  }
  return text;
}

/// Why the feed is due at that time, or never due; never empty.
std::string why_text(const FeedRecord& record, Milliseconds now) {
  const DueTime& due = record.state.due;
  if (record.state.state == "paused") return schedule_words("", due.reason == "orphaned" ? "orphaned" : "paused");
  if (!record.due)
    return "It is not paused and not in the schedule, which is an error: feedmill verify --repair fixes it.";
  if (record.claim.empty()) return schedule_words(due.why, due.reason);
  if (*record.due > now) return "A worker is fetching it; the result decides when it is due next.";
  return "The worker that claimed it did not finish in time; the next free worker will fetch it.";
}

/// Whether the feed has never been fetched successfully.
bool is_unread(const FeedState& state) {
  return state.last.success.count() == 0;
}

std::string validators_text(const FeedState& state) {
  const KnownValidators& validators = state.validators;
  if (validators.etag.empty() && validators.last_modified.empty())
    return is_unread(state) ? "unknown until the feed is read" : "none: the server sent neither ETag nor Last-Modified";
  std::string text;
  if (!validators.etag.empty()) text += "ETag " + validators.etag;
  if (!validators.last_modified.empty())
    text += (text.empty() ? "" : ", ") + ("Last-Modified " + validators.last_modified);
  return text + (validators.url.empty() ? "" : ", of " + validators.url);
}

std::string identity_text(const PostIdentity& identity) {
  std::string text = "guid, else link, else digest, per entry";
  if (identity.by == IdentifiedBy::link) text = "link, else digest";
  if (identity.by == IdentifiedBy::digest) text = "digest of title, date and text";
  if (identity.by != IdentifiedBy::guid) {
    text += fmt::format(", since {}: the previous identity did not distinguish the entries, or changed at every fetch",
                        rfc3339(identity.since));
    if (identity.sound_documents > 0) {
      text += fmt::format(
          "; its guids have been stable for {} documents in a row; if this continues, they will be used again",
          identity.sound_documents);
    }
  } else if (identity.naming == Naming::mixed) {
    text += "; some entries have no guid of their own";
  }
  if (identity.unfit_documents > 0) {
    text += fmt::format("; it does not distinguish most entries of the last {} documents", identity.unfit_documents);
  }
  if (identity.replaced_documents > 0) {
    text += fmt::format("; known entries arrived under new identities in the last {} documents",
                        identity.replaced_documents);
  }
  return text;
}

json::object host_json(const HostView& host, Milliseconds now) {
  json::object row;
  row["name"] = host.name;
  row["slots"] = host.limits.concurrency;
  row["slow"] = host.state.slow;
  row["slots_free"] = free_slots(host);
  row["last_start"] = time_json(host.state.last_start);
  row["next_start"] = rfc3339(std::max(next_start(host), now));
  row["waiting"] = host.state.waiting;
  row["reserved_until"] = host.state.waiting > 0 ? time_json(line_end(host, now)) : json::value();
  row["storm_since"] = host.state.storm.count() != 0 ? time_json(host.state.storm) : json::value();
  row["not_before"] = host.state.not_before > now ? time_json(host.state.not_before) : json::value();
  json::array& quotas = row["quotas"].emplace_array();
  for (const HostQuota& quota : host.state.quotas) {
    json::object one;
    one["egress"] = quota.egress;
    one["pace"] = static_cast<double>(quota.pace.count()) / 1000;
    one["told"] = quota.told;
    one["hold_until"] = quota.hold > now ? time_json(quota.hold) : json::value();
    quotas.push_back(std::move(one));
  }
  if (!host.state.quotas.empty()) row["feeds"] = host.feeds;
  json::object& other = row["other"].emplace_object();
  for (const auto& [name, value] : host.state.other) other[name] = value;
  return row;
}

/// Progress of a walk over older pages, "" if there is none.
std::string pages_text(const PageWalk& walk, Milliseconds now) {
  if (walk.next.empty()) return "";
  const std::string purpose = walk.purpose == PageWalk::For::gap
                                  ? "to close the gap after " + rfc3339(Milliseconds(walk.back_to * 1000))
                                  : "for its first import";
  return fmt::format("{} read {}, {} posts found; next {}, the feed itself {}", walk.pages, purpose, walk.posts,
                     walk.next, walk.poll_due <= now ? "now" : from_now(walk.poll_due, now));
}

}  // namespace

std::string quota_text(const HostView& host, Milliseconds now) {
  if (host.by_hand) return {};
  double a_second = 0;
  std::size_t names = 0;
  bool is_told = false;
  Milliseconds hold{};
  for (const HostQuota& quota : host.state.quotas) {
    const Milliseconds pace = std::max(quota.pace, host.limits.spacing * host.state.slow);
    if (pace.count() <= 0 || quota.pace <= host.limits.spacing) continue;
    a_second += 1000 / static_cast<double>(pace.count());
    is_told = is_told || quota.told;
    hold = std::max(hold, quota.hold);
    ++names;
  }
  if (names == 0) return {};
  std::string text = host.feeds == 0 ? std::string("its feeds share ")
                                     : fmt::format("{} feed{} share{} ", host.feeds, host.feeds == 1 ? "" : "s",
                                                   host.feeds == 1 ? "s" : "");
  text += rate_text(a_second);
  if (names > 1) text += fmt::format(" over {} egress names", names);
  constexpr double worth_telling = 600;  // seconds; few feeds are fetched more often
  const double interval = static_cast<double>(host.feeds) / a_second;
  if (interval >= worth_telling) text += ": each at best " + interval_text(interval);
  text += is_told ? "; announced by the host" : "; learned from its rejections";
  if (hold > now + std::chrono::minutes(1)) text += fmt::format("; none before {}", rfc3339(hold));
  return text;
}

std::string host_text(const HostView& host, Milliseconds now) {
  const Milliseconds start = next_start(host);
  std::string text = fmt::format("{}: {} of {} slots free, next start {}", host.name, free_slots(host),
                                 host.limits.concurrency, start <= now ? "now" : from_now(start, now));
  if (host.state.slow > 1) text += fmt::format(" ({} times its usual spacing)", host.state.slow);
  if (host.state.waiting > 0) {
    text += fmt::format(", {} feed{} waiting, the last {}", host.state.waiting, host.state.waiting == 1 ? "" : "s",
                        from_now(line_end(host, now), now));
  }
  if (host.state.storm.count() != 0) {
    return text + fmt::format(", its feeds fail alike since {}: one is fetched at a time, the next {}",
                              rfc3339(host.state.storm),
                              host.state.not_before > now ? from_now(host.state.not_before, now) : "now");
  }
  return text + (host.state.not_before > now ? fmt::format(", back-off until {}, {}", rfc3339(host.state.not_before),
                                                           from_now(host.state.not_before, now))
                                             : ", no back-off");
}

std::vector<std::pair<std::string, std::string>> explain_lines(const Explained& explained, bool numbers) {
  const auto& [record, host, now, subscription, volatile_parts] = explained;
  const FeedState& state = record.state;
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("state", state_text(record, now));
  if (!state.last.detail.empty()) lines.emplace_back("detail", state.last.detail);
  const std::string remedy = state.state == "paused" ? "" : remedy_words(record);
  if (!remedy.empty()) lines.emplace_back("do", remedy);
  lines.emplace_back("next", next_text(record, host, now, numbers));
  lines.emplace_back("why", why_text(record, now));
  const std::string inputs = numbers ? due_inputs_text(state.due.why) : "";
  if (!inputs.empty()) lines.emplace_back("inputs", inputs);
  if (state.due.not_before > now) {
    lines.emplace_back("held", fmt::format("the server accepts no request until {}, {}", rfc3339(state.due.not_before),
                                           from_now(state.due.not_before, now)));
  }
  const std::string pages = pages_text(state.older.walk, now);
  if (!pages.empty()) lines.emplace_back("pages", pages);
  lines.emplace_back("host", host_text(host, now));
  if (const std::string quota = quota_text(host, now); !quota.empty()) lines.emplace_back("quota", quota);
  const std::string pushes = push_text(record, subscription, now);
  lines.emplace_back("websub", !pushes.empty()    ? pushes
                               : is_unread(state) ? "unknown until the feed is read"
                                                  : "none advertised");
  lines.emplace_back("cache", validators_text(state));
  lines.emplace_back("identity", identity_text(state.identity));
  if (!volatile_parts.empty()) {
    lines.emplace_back("no change",
                       fmt::format("changes of {}; feedmill set clears them", fmt::join(volatile_parts, ", ")));
  }
  if (!state.address.fetch_url.empty()) lines.emplace_back("fetched", "from " + state.address.fetch_url);
  const FeedSettings stored = read_settings(state.settings);
  std::vector<std::string> settings = setting_texts(stored);
  if (!stored.ignored.empty()) settings.push_back("ignored: " + stored.ignored);
  lines.emplace_back("settings", settings.empty() ? "none" : fmt::format("{}", fmt::join(settings, "; ")));
  return lines;
}

StoreResult<HostView> read_host(Store& store, const HostRules& rules, const FeedRecord& record) {
  HostView host;
  host.name = server_of(record.state.address.requested(record.feed_url));
  const HostRule rule = rules.of(host.name);
  host.limits = rule.limits;
  host.by_hand = rule.by_hand;
  auto state = Hosts(store).state(rule.gate);
  if (!state) return state.error();
  host.state = std::move(*state);
  if (host.state.quotas.empty()) return host;
  const auto counted =
      Feeds(store).count_if([&](const std::string& url) { return rules.of(server_of(url)).gate == rule.gate; });
  if (!counted) return counted.error();
  host.feeds = *counted;
  return host;
}

StoreResult<std::optional<Explained>> read_explained(Store& store, const HostRules& rules,
                                                     const std::string& feed_url) {
  const auto now = store.now();
  if (!now) return now.error();
  auto records = Feeds(store).records(std::span(&feed_url, 1));
  if (!records) return records.error();
  if (!records->front()) return std::optional<Explained>();
  Explained explained;
  explained.now = *now;
  explained.record = std::move(*records->front());
  auto host = read_host(store, rules, explained.record);
  if (!host) return host.error();
  explained.host = std::move(*host);
  auto subscription = subscription_of(store, explained.record.state.push);
  if (!subscription) return subscription.error();
  explained.subscription = std::move(*subscription);
  auto learned = Feeds(store).volatile_parts(feed_url);
  if (!learned) return learned.error();
  explained.volatile_parts = std::move(*learned);
  return std::optional(std::move(explained));
}

json::object explain_json(const Explained& explained) {
  json::object row = show_json(explained.record);
  row["now"] = rfc3339(explained.now);
  json::object& text = row["text"].emplace_object();
  for (const auto& [name, words] : explain_lines(explained)) text[name] = words;
  row["host"] = host_json(explained.host, explained.now);
  row["websub"] = push_json(explained.record, explained.subscription);
  if (!explained.volatile_parts.empty()) row["volatile"] = json::value_from(explained.volatile_parts);
  return row;
}

}  // namespace feedmill
