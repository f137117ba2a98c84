#include "worker/operations/lists.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/cli/verb.hpp"
#include "worker/verbs/feeds.hpp"
#include "worker/verbs/input_file.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t shown_places = 20;  // lines on bad rows, unless -v

struct Counts {
  std::size_t added = 0, present = 0, repaired = 0, refused = 0, merged = 0, broken = 0;
  std::size_t elsewhere = 0;  // in other partitions
};

/// A list being imported (OPERATIONS §9): OPML in one part, a plain list of any length in many.
class ListToImport {
 public:
  /// Reads enough to recognise the format, OPML completely: errors are reported before a store is opened.
  explicit ListToImport(const std::string& file) : input_(file) {
    constexpr std::size_t most_blank = std::size_t{1} << 20U;
    std::optional<bool> is_opml;
    while (!is_opml && beginning_.size() < most_blank) {
      const std::string_view more = input_.next();
      if (more.empty()) break;
      beginning_ += more;
      is_opml = begins_opml(beginning_);
    }
    if (!is_opml.value_or(false)) {
      rows_.emplace([this] { return next_bytes(); }, named_);
      return;
    }
    whole_ = read_subscriptions(input_.rest(std::move(beginning_), max_opml_bytes,
                                            ": split it, or list its URLs one per line, without a limit"));
    for (const Subscription& feed : whole_->feeds) named_.insert(feed.feed_url);
  }
  ListToImport(const ListToImport&) = delete;
  ListToImport& operator=(const ListToImport&) = delete;

  /// The next part, empty at the end.
  std::optional<SubscriptionList> next() {
    return rows_ ? rows_->next() : std::exchange(whole_, std::optional<SubscriptionList>());
  }
  /// Number of feeds; 0 = unknown until the end.
  std::size_t size() const { return whole_ ? whole_->feeds.size() : 0; }
  /// The URLs of the feeds read.
  const AddressSet& named() const { return named_; }

 private:
  std::string_view next_bytes() {
    if (std::exchange(begun_, true)) return input_.next();
    return beginning_.empty() ? input_.next() : std::string_view(beginning_);
  }

  InputFile input_;
  std::string beginning_;
  bool begun_ = false;  // the beginning has been returned
  AddressSet named_;
  std::optional<PlainList> rows_;
  std::optional<SubscriptionList> whole_;
};

/// Which feeds of `batch` are new; adds them unless it is a dry run.
std::vector<bool> add_or_look(const SubscriptionBatch& batch, const SubscriptionList& list, std::size_t added,
                              bool dry_run, const VerbContext& context) {
  if (!dry_run) return add_batch(context.store, batch, list, added, context.config.schedule.import_rate);
  std::vector<std::string> urls;
  urls.reserve(batch.size());
  for (const Subscription& subscription : batch) urls.push_back(subscription.feed_url);
  const auto records = answered(Feeds(context.store).records(urls));
  std::vector<bool> is_new;
  is_new.reserve(records.size());
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

/// Invalid rows of one kind: all are counted and printed as JSON; text output shows the first few.
class BadRows {
 public:
  BadRows(Terminal& terminal, std::string_view result) : terminal_(terminal), result_(result) {}

  void tell(const RefusedRow& row) {
    const std::string text = visible(row.text), reason = visible(row.reason);
    if (terminal_.json()) {
      json::object object = {{"result", result_}, {"line", row.line}};
      if (!text.empty()) object["text"] = text;
      object["reason"] = reason;
      terminal_.tell(std::move(object), "");
    }
    if (++rows_ > shown_places && !terminal_.verbose()) return;
    terminal_.error(text.empty() ? fmt::format("line {}: {}: {}", row.line, result_, reason)
                                 : fmt::format("line {}: {}: \"{}\": {}", row.line, result_, text, reason));
  }
  /// Call after the last row.
  void end() const {
    if (rows_ <= shown_places || terminal_.verbose()) return;
    terminal_.error(fmt::format("{} more rows {} (-v shows all)", rows_ - shown_places, result_));
  }
  std::size_t rows() const { return rows_; }

 private:
  Terminal& terminal_;
  std::string_view result_;
  std::size_t rows_ = 0;
};

void tell_summary(Terminal& terminal, const Counts& counts, bool dry_run) {
  json::object row = {{"result", "summary"},       {"dry_run", dry_run},          {"added", counts.added},
                      {"present", counts.present}, {"repaired", counts.repaired}, {"refused", counts.refused},
                      {"merged", counts.merged},   {"broken", counts.broken}};
  if (counts.elsewhere > 0) row["elsewhere"] = counts.elsewhere;
  terminal.tell(std::move(row), fmt::format("{} {}, present {}, repaired {}, refused {}, merged {}{}{}",
                                            dry_run ? "would add" : "added", counts.added, counts.present,
                                            counts.repaired, counts.refused, counts.merged,
                                            counts.broken == 0 ? "" : fmt::format(", syntax errors {}", counts.broken),
                                            in_other_partitions(counts.elsewhere)));
}

/// A worker with more feeds does not start without a contact (HTTP P19).
void warn_of_contact(std::uint64_t feeds, const VerbContext& context) {
  if (feeds > feeds_without_contact && context.config.fetch.contact.empty()) {
    context.terminal.error(fmt::format(
        "with more than {} feeds, the worker starts only if fetch.contact is set to a contact URL for publishers",
        feeds_without_contact));
  }
}

/// Progress of fetching all feeds, and what will keep the worker from it.
void tell_progress(const VerbContext& context) {
  const FleetFigures fleet = or_fail(Fleet(context.store).figures());
  const auto in_state = [&](std::string_view state) { return feeds_in(fleet.states, state); };
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
          {"title", readable_field(record.feed, "title")},
          {"link", field_of(record.feed, "link")},
          {"settings", embedded_json(settings_json(settings))}};
}

/// Removes feeds that a flawless list does not contain (OPERATIONS §9).
int prune(const OperationValues& given, const AddressSet& named, const Counts& counts, const VerbContext& context) {
  if (counts.refused > 0 || counts.broken > 0 || named.size() == 0) {
    throw VerbFailure{exits::bad_input,
                      named.size() == 0 ? "nothing was pruned: the list names no feed, so all feeds would be removed"
                                        : "nothing was pruned: rows of the list could not be read; fix them first"};
  }
  if (named.full()) {
    throw VerbFailure{exits::bad_input, fmt::format("nothing was pruned: the list has {} feeds or more, the maximum "
                                                    "for pruning; remove feeds by URL (feedmill remove)",
                                                    AddressSet::most)};
  }
  const auto not_named = [&](std::span<const std::string> page) {
    std::vector<std::string> left;
    for (const std::string& url : page) {
      if (!named.contains(url)) left.push_back(url);
    }
    return left;
  };
  return carry_out(remove_verb(), context.terminal, [&] {
    if (!given.truth("yes") && !given.truth("dry-run")) {
      std::size_t feeds = 0;
      std::uint64_t entries = 0;
      over_all_feeds(context.store, [&](const auto& page) {
        for (const auto& record : or_fail(Feeds(context.store).records(not_named(page)))) {
          if (!record) continue;
          ++feeds;
          entries += record->entries;
        }
      });
      if (feeds == 0) return exits::done;
      confirm_removal(context.terminal, feeds, entries);
    }
    over_all_feeds(context.store, [&](const auto& page) {
      const std::vector<std::string> urls = not_named(page);
      if (!urls.empty()) remove_feeds(urls, true, given.truth("dry-run"), context);
    });
    return exits::done;
  });
}

/// Imports one part of a list in batches.
void import_part(const OperationValues& given, const SubscriptionList& list, std::size_t total, Counts& counts,
                 Progress& progress, const VerbContext& context) {
  for (std::size_t begin = 0; begin < list.feeds.size();) {
    stop_if_interrupted();
    const std::size_t before = counts.added + counts.present;
    progress.reached(before);
    const SubscriptionBatch batch = next_batch(list.feeds, begin);
    std::vector<bool> is_new;
    std::string so_far = total == 0
                             ? fmt::format("{} feeds were added; run it again for the rest", before)
                             : fmt::format("{} of {} feeds were added; run it again for the rest", before, total);
    try {
      is_new = add_or_look(batch, list, counts.added, given.truth("dry-run"), context);
      so_far = "the channels are incomplete; run it again";
      if (!given.truth("dry-run")) put_into_channels(context.store, batch, given.text("user"));
    } catch (const StoreFailure& thrown) {
      const VerbFailure failure = failure_of(thrown.error);
      context.terminal.flush();
      throw VerbFailure{failure.exit, so_far + ": " + failure.text};
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Subscription& feed = list.feeds[begin + i];
      is_new[i] ? ++counts.added : ++counts.present;
      if (!feed.written.empty()) ++counts.repaired;
      tell_feed(context.terminal, feed, is_new[i], given.truth("dry-run"));
    }
    begin += batch.size();
  }
}

/// `stores`: all partitions, or one.
int import(const OperationValues& given, ListToImport& list, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  if (given.truth("prune") && !given.truth("yes") && !given.truth("dry-run") && !terminal.can_ask()) {
    throw VerbFailure{exits::usage,
                      "--prune deletes feeds and their entries; use --yes, or --dry-run to see what would be deleted"};
  }
  Counts counts;
  BadRows refused(terminal, "refused"), broken(terminal, "broken");
  {
    std::vector<RefusedRow> places;  // of OPML only, the first hundred
    const std::size_t total = list.size();
    Progress progress(terminal, "importing", total);
    std::set<std::string> made;
    for (std::optional<SubscriptionList> part = list.next(); part; part = list.next()) {
      // In list order, which no partition sees completely (RELIABILITY L31).
      if (stores.size() > 1 && !given.truth("dry-run")) {
        for (const std::string& uid : channels_in({part->feeds.begin(), part->feeds.end()}, given.text("user"))) {
          if (made.insert(uid).second) ChannelsOfAll(deployment_of(stores)).add(uid);
        }
      }
      for (const VerbContext& context : stores)
        import_part(given, share_of(context.store, *part), total, counts, progress, context);
      counts.elsewhere += part->feeds.size();
      counts.merged += part->merged;
      for (const RefusedRow& row : part->refused) refused.tell(row);
      std::ranges::move(part->broken, std::back_inserter(places));
    }
    refused.end();
    for (const RefusedRow& row : places) broken.tell(row);
    broken.end();
  }
  counts.refused = refused.rows();
  counts.broken = broken.rows();
  tell_summary(terminal, counts, given.truth("dry-run"));
  for (const VerbContext& context : stores) {
    if (!given.truth("dry-run")) {
      note_without_worker(context);
      if (stores.size() == 1) tell_progress(context);
    } else if (stores.size() == 1) {
      warn_of_contact(or_fail(Fleet(context.store).figures()).feeds + counts.added, context);
    }
  }
  int code = counts.refused == 0 && counts.broken == 0 ? exits::done : exits::bad_input;
  for (const VerbContext& context : stores) {
    if (given.truth("prune")) code = std::max(code, prune(given, list.named(), counts, context));
  }
  return code;
}

int import_list(const OperationValues& given, const Config& config, Terminal& terminal) {
  note_interrupts();
  ListToImport list(given.text("FILE"));
  return with_stores(import_verb(), given, config, terminal,
                     [&](std::span<const VerbContext> stores) { return import(given, list, stores); });
}

void check_import(const OperationValues& given) {
  const std::string user = given.text("user");
  const std::string_view wrong = given.has("user") ? unfit_new_user(user) : std::string_view();
  if (!wrong.empty()) refuse(fmt::format("invalid user name \"{}\": {}", visible(user), wrong));
}

void export_rows(const std::string& user, const VerbContext& context) {
  over_all_feeds(context.store, [&](const auto& page) {
    const auto records = or_fail(Feeds(context.store).records(page));
    const auto channels = or_fail(Channels(context.store).holding(page));
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::optional<FeedRecord>& record = records[i];
      if (!record) continue;
      FeedSettings settings = read_settings(record->state.settings);
      settings.folders = folders_of(channels[i], settings.folders, user);
      const bool in_a_folder = std::any_of(settings.folders.begin(), settings.folders.end(),
                                           [](const std::vector<std::string>& path) { return !path.empty(); });
      if (user.empty() || in_a_folder) context.terminal.line(export_json(*record, settings));
    }
  });
}

int export_feeds(const OperationValues& given, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const std::string user = given.text("user");
  if (terminal.json()) {
    for (const VerbContext& context : stores) export_rows(user, context);
    return exits::done;
  }
  for (Export list(user, stores.size()); !list.ended();) {
    stop_if_interrupted();
    terminal.raw(list.next(stores[list.at()].store));
  }
  return exits::done;
}

}  // namespace

VerbRow import_verb() {
  static constexpr std::array taken{
      fields::argument("FILE", "OPML or a list of URLs; - for stdin"),
      fields::flag("--dry-run", "Only show what would be added or removed"),
      fields::flag("--prune", "Then remove feeds that are not in the list, with their posts"),
      fields::flag("--yes", "Do not ask before pruning"),
      fields::option("--user", "USER", "Folders become channels of this user: USER/FOLDER")};
  return {.name = "import",
          .about = "Add feeds from an OPML file or a list of URLs, one per line",
          .example = "feedmill import subscriptions.opml --dry-run",
          .exits = "65 when some rows of the list could not be used; the others were added",
          .fields = taken,
          .check = check_import,
          .run = import_list};
}

VerbRow export_verb() {
  static constexpr std::array taken{
      fields::option("--user", "USER", "Only feeds in this user's channels, as folders", OperationField::Kind::user)};
  return {.name = "export",
          .about = "Write all feeds as OPML 2.0",
          .example = "feedmill export > subscriptions.opml",
          .fields = taken,
          .use = reads,
          .run = export_feeds};
}

}  // namespace feedmill
