#include <algorithm>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/command_line/feed_verbs.hpp"
#include "worker/lists/import.hpp"
#include "worker/verbs/input_file.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t shown_places = 20;  // lines about bad rows, unless -v

struct Counts {
  std::size_t added = 0, present = 0, repaired = 0;
};

/// Which of `batch` are new; adds them unless it is a dry run.
std::vector<bool> add_or_look(const SubscriptionBatch& batch, const SubscriptionList& list, std::size_t added,
                              bool dry_run, const VerbContext& context) {
  if (!dry_run) return or_fail(add_batch(context.store, batch, list, added, context.config.schedule.import_rate));
  std::vector<std::string> urls;
  for (const Subscription& subscription : batch) urls.push_back(subscription.feed_url);
  const auto records = or_fail(Feeds(context.store).records(urls));
  std::vector<bool> is_new;
  for (const auto& record : records) is_new.push_back(!record);
  return is_new;
}

void tell_feed(Terminal& terminal, const Subscription& subscription, bool is_new, bool dry_run) {
  if (terminal.json()) {
    json::object row = {{"result", is_new ? (dry_run ? "would add" : "added") : "present"},
                        {"url", subscription.feed_url},
                        {"line", subscription.line}};
    if (!subscription.written.empty()) row["repaired_from"] = visible(subscription.written);
    return terminal.tell(std::move(row), "");
  }
  if (dry_run && is_new) terminal.line("would add " + visible(subscription.feed_url));
  if (!subscription.written.empty()) {
    terminal.note(fmt::format("line {}: \"{}\" read as {}", subscription.line, visible(subscription.written),
                              visible(subscription.feed_url)));
  }
}

template <class Rows>
void tell_bad_rows(Terminal& terminal, std::string_view result, const Rows& rows) {
  std::size_t shown = 0;
  for (const RefusedRow& row : rows) {
    const std::string text = visible(row.text), reason = visible(row.reason);
    if (terminal.json()) {
      json::object object = {{"result", result}, {"line", row.line}};
      if (!text.empty()) object["text"] = text;
      object["reason"] = reason;
      terminal.tell(std::move(object), "");
    }
    if (shown == shown_places && !terminal.verbose()) continue;
    ++shown;
    terminal.error(text.empty() ? fmt::format("line {}: {}: {}", row.line, result, reason)
                                : fmt::format("line {}: {}: \"{}\": {}", row.line, result, text, reason));
  }
  if (shown < rows.size()) {
    terminal.error(fmt::format("{} more rows {} (-v shows them all)", rows.size() - shown, result));
  }
}

void tell_summary(Terminal& terminal, const Counts& counts, const SubscriptionList& list, bool dry_run) {
  terminal.tell({{"result", "summary"},
                 {"dry_run", dry_run},
                 {"added", counts.added},
                 {"present", counts.present},
                 {"repaired", counts.repaired},
                 {"refused", list.refused.size()},
                 {"merged", list.merged},
                 {"broken", list.broken.size()}},
                fmt::format("{} {}, present {}, repaired {}, refused {}, merged {}{}", dry_run ? "would add" : "added",
                            counts.added, counts.present, counts.repaired, list.refused.size(), list.merged,
                            list.broken.empty() ? "" : fmt::format(", broken places {}", list.broken.size())));
}

/// Above so many feeds no worker starts before it is said who fetches (HTTP P19).
void warn_of_contact(std::uint64_t feeds, const VerbContext& context) {
  if (feeds > feeds_without_contact && context.config.fetch.contact.empty()) {
    context.terminal.error(
        fmt::format("with more than {} feeds the worker will not start before fetch.contact is set "
                    "to a URL where publishers learn who asks",
                    feeds_without_contact));
  }
}

/// How far the fetching of all feeds has come; and what will keep the worker from it.
void tell_progress(const VerbContext& context) {
  const FleetFigures fleet = or_fail(Fleet(context.store).figures());
  const auto in_state = [&](std::string_view state) {
    const auto found =
        std::ranges::find(fleet.states, state, [](const auto& one) { return std::string_view(one.first); });
    return found == fleet.states.end() ? std::uint64_t{0} : found->second;
  };
  const std::uint64_t tried = fleet.feeds - std::min(fleet.feeds, in_state("new")), never_read = in_state("never_read");
  const std::uint64_t healthy = in_state("healthy") + in_state("paused");
  if (tried > 0) {
    context.terminal.note(fmt::format(
        "so far {} of {} feeds were tried: {} never read{}, {} failing", tried, fleet.feeds, never_read,
        never_read == 0 ? "" : " (feedmill list --state never_read)", tried - std::min(tried, healthy + never_read)));
  }
  warn_of_contact(fleet.feeds, context);
}

json::object export_json(const FeedRecord& record, const FeedSettings& settings) {
  return {{"schema", 1},
          {"url", record.feed_url},
          {"title", field_of(record.feed, "title")},
          {"link", field_of(record.feed, "link")},
          {"settings", embedded_json(settings_json(settings))}};
}

/// Removes the feeds that a list without a fault does not name (OPERATIONS O7).
int prune(const ImportVerb& verb, const SubscriptionList& list, const VerbContext& context) {
  if (!list.refused.empty() || !list.broken.empty() || list.feeds.empty()) {
    throw VerbFailure{exits::bad_input,
                      list.feeds.empty() ? "nothing was pruned: the list names no feed, so that all would go"
                                         : "nothing was pruned: rows of the list could not be read; mend them first"};
  }
  auto registered = or_fail(Feeds(context.store).urls());
  std::unordered_set<std::string_view> named;
  for (const Subscription& feed : list.feeds) named.insert(feed.feed_url);
  std::erase_if(registered, [&](const std::string& url) { return named.contains(url); });
  if (registered.empty()) return exits::done;
  const RemoveVerb removal{std::move(registered), verb.yes, verb.dry_run};
  return carry_out(removal, context.terminal, [&] { return run_verb(removal, context); });
}

int import(const ImportVerb& verb, const SubscriptionList& list, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  Counts counts;
  {
    Progress progress(terminal, "importing", list.feeds.size());
    for (std::size_t begin = 0; begin < list.feeds.size();) {
      stop_if_interrupted();
      progress.reached(begin);
      const SubscriptionBatch batch = next_batch(list.feeds, begin);
      std::vector<bool> is_new;
      std::string so_far = fmt::format("{} of {} feeds are in, run it again for the rest", begin, list.feeds.size());
      try {
        is_new = add_or_look(batch, list, counts.added, verb.dry_run, context);
        so_far = "the channels are not complete, run it again";
        if (!verb.dry_run) or_fail(put_into_channels(context.store, batch, verb.user));
      } catch (const VerbFailure& failure) {
        terminal.flush();
        throw VerbFailure{failure.exit, so_far + ": " + failure.text};
      }
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Subscription& feed = list.feeds[begin + i];
        is_new[i] ? ++counts.added : ++counts.present;
        if (!feed.written.empty()) ++counts.repaired;
        tell_feed(terminal, feed, is_new[i], verb.dry_run);
      }
      begin += batch.size();
    }
  }
  tell_bad_rows(terminal, "refused", list.refused);
  tell_bad_rows(terminal, "broken", list.broken);
  tell_summary(terminal, counts, list, verb.dry_run);
  if (!verb.dry_run) {
    note_without_worker(context);
    tell_progress(context);
  } else {
    warn_of_contact(or_fail(Fleet(context.store).figures()).feeds + counts.added, context);
  }
  if (verb.prune) return prune(verb, list, context);
  return list.refused.empty() && list.broken.empty() ? exits::done : exits::bad_input;
}

}  // namespace

int run_verb(const ImportVerb& verb, const Config& config, Terminal& terminal) {
  note_interrupts();
  // A file that cannot be read is told before a store is asked for.
  const SubscriptionList list = read_subscriptions(read_input(verb.file, max_opml_bytes));
  return with_store(verb, config, terminal, [&](const VerbContext& context) { return import(verb, list, context); });
}

int run_verb(const ExportVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto now = or_fail(context.store.now());
  const auto urls = or_fail(Feeds(context.store).urls());
  std::vector<ExportedFeed> feeds;
  in_parts(urls, [&](const auto& part) {
    const auto records = or_fail(Feeds(context.store).records(part));
    const auto channels = or_fail(Channels(context.store).holding(part));
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::optional<FeedRecord>& record = records[i];
      if (!record) continue;
      FeedSettings settings = read_settings(record->state.settings);
      settings.folders = folders_of(channels[i], settings.folders, verb.user);
      const bool in_a_folder = std::any_of(settings.folders.begin(), settings.folders.end(),
                                           [](const std::vector<std::string>& path) { return !path.empty(); });
      if (!verb.user.empty() && !in_a_folder) continue;
      if (terminal.json()) {
        terminal.line(export_json(*record, settings));
        continue;
      }
      feeds.push_back({record->feed_url, std::string(field_of(record->feed, "title")),
                       std::string(field_of(record->feed, "link")), std::move(settings)});
    }
  });
  if (!terminal.json()) terminal.raw(subscriptions_opml(feeds, now.count() / 1000));
  return exits::done;
}

}  // namespace feedmill
