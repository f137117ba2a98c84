#include "worker/verbs/open_store.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/store/deployment.hpp"
#include "storage/store/partition.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill {

StoreSession StoreSession::prepare(const Config& config, StoreUse use, bool of_all) {
  std::string unnamed = config.objection_to_partition();
  if (of_all && !unnamed.empty() && !config.signals.merged)
    unnamed += ", or signals.merged = true for the merged stream";
  of_all = of_all && !unnamed.empty() && config.signals.merged;
  if (!unnamed.empty() && !of_all) throw VerbFailure{exits::configuration, std::move(unnamed)};
  StoreSession session;
  std::string url = config.redis.url;
  if (config.embedded()) {
    EmbeddedRedis::Options options;
    options.data_dir = config.store.data_dir;
    options.give_up = [] { return interrupted(); };
    auto server = EmbeddedRedis::open(options);
    stop_if_interrupted();
    if (server.has_error()) throw VerbFailure{exit_code(server.error().code), visible(server.error().detail)};
    session.server_ = std::move(*server);
    url = session.server_->url();
  }
  StoreOptions options = store_options(config, std::move(url));
  options.reads_only = use == StoreUse::read;
  options.of_all = of_all;
  if (config.embedded()) options.password.clear();
  session.store_ = std::make_unique<Store>(std::move(options));
  return session;
}

StoreSession StoreSession::open(const Config& config, StoreUse use, bool of_all) {
  StoreSession session = prepare(config, use, of_all);
  or_fail(session.store_->open(use == StoreUse::change));
  return session;
}

Deployment deployment_of(std::span<const VerbContext> stores) {
  std::vector<Store*> all;
  for (const VerbContext& at : stores) all.push_back(&at.store);
  return Deployment(std::move(all));
}

int carry_out(const VerbRow& verb, Terminal& terminal, const std::function<int()>& work) {
  terminal.speak_for(verb.name);
  const auto run = [&] {
    try {
      return work();
    } catch (const StoreFailure& failure) {
      throw failure_of(failure.error);
    }
  };
  try {
    return run();
  } catch (const VerbFailure& failure) {
    terminal.speak_for(verb.fails_as.empty() ? verb.name : verb.fails_as);
    if (!failure.text.empty()) terminal.error(failure.text);
    return failure.exit;
  }
}

int with_store(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
               const std::function<int(const VerbContext& context)>& work) {
  return carry_out(verb, terminal, [&] {
    StoreSession session = StoreSession::open(config, verb.use(given), verb.is_of_all);
    const int code = carry_out(verb, terminal, [&] { return work(VerbContext{config, session.store(), terminal}); });
    terminal.flush();  // before a private server is stopped, which takes its time
    return code;
  });
}

int with_stores(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                const std::function<int(std::span<const VerbContext> stores)>& work) {
  return carry_out(verb, terminal, [&] {
    const std::vector<Config> configs = config.of_each_partition();
    std::vector<StoreSession> sessions;
    std::vector<VerbContext> stores;
    for (const Config& its : configs) {
      try {
        sessions.push_back(StoreSession::open(its, verb.use(given)));
      } catch (VerbFailure& failure) {
        if (configs.size() > 1) failure.text = "partition " + std::to_string(sessions.size()) + ": " + failure.text;
        throw;
      }
    }
    for (std::size_t i = 0; i < configs.size(); ++i) stores.push_back({configs[i], sessions[i].store(), terminal});
    const int code = carry_out(verb, terminal, [&] { return work(stores); });
    terminal.flush();  // before a private server is stopped, which takes its time
    return code;
  });
}

std::vector<std::string> feed_urls(Terminal& terminal, const std::vector<std::string>& arguments,
                                   std::string_view consequence) {
  std::vector<std::string> urls;
  bool good = true;
  for (const std::string& argument : arguments) {
    const auto canonical = canonical_feed_url(argument);
    if (canonical.has_error()) {
      good = false;
      terminal.error(
          fmt::format("\"{}\" is not a feed URL: {}; {}", visible(argument), visible(canonical.error()), consequence));
    } else if (std::find(urls.begin(), urls.end(), *canonical) == urls.end()) {
      urls.push_back(*canonical);
    }
  }
  if (!good) throw VerbFailure{exits::bad_input, ""};
  return urls;
}

std::string feed_url(Terminal& terminal, const std::string& argument, std::string_view consequence) {
  return feed_urls(terminal, {argument}, consequence).front();
}

void note_without_worker(const VerbContext& context) {
  const auto workers = Fleet(context.store).workers();
  if (workers.has_error() || std::ranges::any_of(*workers, &WorkerRecord::fetches)) return;
  const Config& config = context.config;
  const std::string where = config.embedded() ? "the private server in " + visible(config.store.data_dir.string())
                            : config.partition().is_whole() ? "this Redis"
                                                            : fmt::format("partition {}", config.partition().index);
  context.terminal.note(fmt::format("no worker runs on {} yet: feedmill run fetches them", where));
}

void refuse_elsewhere(const Store& store, const std::vector<std::string>& feed_urls, std::string_view consequence) {
  for (const std::string& url : feed_urls) {
    const auto its = store.elsewhere(url);
    if (!its) continue;
    throw VerbFailure{exits::no, fmt::format("partition {0} has {1}: use --partition {0}{2}{3}", *its, visible(url),
                                             consequence.empty() ? "" : "; ", consequence)};
  }
}

bool has_all(const Config& config, unsigned partition, const std::vector<std::string>& feed_urls) {
  StoreSession session = StoreSession::open(config.of_partition(partition), StoreUse::read);
  std::vector<std::string> canonical;
  canonical.reserve(feed_urls.size());
  for (const std::string& url : feed_urls) canonical.push_back(*canonical_feed_url(url));
  return std::ranges::all_of(all_records(session.store(), canonical), [](const auto& one) { return one.has_value(); });
}

std::optional<unsigned> partition_with_entry(const Config& config, const std::string& entry) {
  const unsigned count = config.redis.partitions, first = partition_of_entry(entry, count);
  const bool is_named = partition_of_key(entry, count).has_value();
  const std::string number = entry.substr(entry.rfind(':') + 1);
  for (unsigned i = 0; i < (is_named ? 1 : count); ++i) {
    const unsigned partition = (first + i) % count;
    StoreSession session = StoreSession::open(config.of_partition(partition), StoreUse::read);
    if (or_fail(Entries(session.store()).are_there(std::span(&number, 1))).front()) return partition;
  }
  return std::nullopt;
}

std::string in_other_partitions(std::uint64_t feeds) {
  return feeds == 0 ? "" : fmt::format("; skipped {} of other partitions", feeds);
}

std::vector<std::optional<FeedRecord>> all_records(Store& store, const std::vector<std::string>& feed_urls) {
  refuse_elsewhere(store, feed_urls, "");
  std::vector<std::optional<FeedRecord>> all;
  all.reserve(feed_urls.size());
  in_parts(feed_urls, [&](const auto& part) {
    auto records = or_fail(Feeds(store).records(part));
    std::move(records.begin(), records.end(), std::back_inserter(all));
  });
  return all;
}

std::vector<FeedRecord> known_records(const VerbContext& context, const std::vector<std::string>& feed_urls,
                                      std::string_view consequence) {
  auto records = all_records(context.store, feed_urls);
  std::vector<FeedRecord> known;
  for (std::size_t i = 0; i < feed_urls.size(); ++i) {
    if (records[i]) {
      known.push_back(std::move(*records[i]));
    } else {
      context.terminal.error(
          fmt::format("no such feed: {}; {} (see feedmill list)", visible(feed_urls[i]), consequence));
    }
  }
  if (known.size() < feed_urls.size()) throw VerbFailure{exits::no, ""};
  return known;
}

VerbFailure no_such_feed(const Store& store, const std::string& url) {
  refuse_elsewhere(store, {url}, "");
  return {exits::no, fmt::format("no such feed: {} (see feedmill list)", visible(url))};
}

void confirm(Terminal& terminal, const std::string& question, std::string_view unasked, std::string_view declined) {
  if (!terminal.can_ask()) {
    terminal.error(unasked);
    throw VerbFailure{exits::usage, ""};
  }
  if (terminal.confirm(question)) return;
  if (!declined.empty()) terminal.note(declined);
  throw VerbFailure{exits::no, ""};
}

void confirm_removal(Terminal& terminal, std::size_t feeds, std::uint64_t entries) {
  confirm(terminal, fmt::format("Remove {} feed{} with {} stored entries?", feeds, feeds == 1 ? "" : "s", entries),
          "this deletes feeds and their entries; use --yes, or --dry-run to see what would be deleted",
          "nothing was removed");
}

namespace {

namespace json = boost::json;
using Kind = OperationField::Kind;

/// Distributes a verb's values over the partitions they belong to.
class InShares {
 public:
  using Work = std::function<int(const OperationValues& share, const Config& config)>;

  InShares(const VerbRow& verb, const OperationValues& given, const Config& config, const Work& work)
      : verb_(verb), given_(given), config_(config), work_(work), count_(config.redis.partitions) {}

  int at(unsigned partition, const OperationValues& share) const {
    return work_(share, config_.of_partition(partition));
  }
  int at(unsigned partition) const { return at(partition, given_); }

  int at_each(Terminal& terminal) const {
    int code = exits::done;
    for (unsigned i = 0; i < count_; ++i) {
      if (!terminal.json()) terminal.line(fmt::format("partition {} of {}:", i, count_));
      code = std::max(code, at(i));
      terminal.flush();
      if (code == exits::configuration) break;  // the other partitions would report the same error
    }
    return code;
  }

  int of_feeds(const OperationField& field) const {
    Shares shares;
    for (const std::string& url : given_.texts(field.name)) {
      const auto canonical = canonical_feed_url(url);
      if (!canonical) return at(0);  // there, all values are rejected
      shares[partition_of(*canonical, count_)].push_back(url);
    }
    // If a partition lacks a feed, its error must come before any change in another.
    int code = exits::done;
    for (auto share = shares.begin(); verb_.wants_known_feeds && share != shares.end() && shares.size() > 1;) {
      if (has_all(config_, share->first, share->second)) {
        ++share;
        continue;
      }
      code = at_share(field, *share);
      if (code != exits::done) return code;
      share = shares.erase(share);
    }
    return std::max(code, at_shares(field, shares));
  }

  int of_entries(const OperationField& field) const {
    Shares shares;
    std::optional<unsigned> lacks;
    for (const std::string& id : field.repeats ? given_.texts(field.name) : std::vector{given_.text(field.name)}) {
      const auto its = partition_with_entry(config_, id);
      const unsigned partition = its.value_or(partition_of_entry(id, count_));
      if (!its) lacks = partition;
      shares[partition].push_back(id);
    }
    if (lacks) shares = {*shares.find(*lacks)};  // it reports the error and nothing is changed
    return at_shares(field, shares);
  }

  int of_feed(const OperationField& field) const {
    const auto canonical = canonical_feed_url(given_.text(field.name));
    return at(canonical ? partition_of(*canonical, count_) : 0);
  }

 private:
  using Shares = std::map<unsigned, std::vector<std::string>>;

  int at_share(const OperationField& field, const Shares::value_type& share) const {
    OperationValues own = given_;
    if (field.repeats) own.put(field.name, json::array(share.second.begin(), share.second.end()));
    return at(share.first, own);
  }
  int at_shares(const OperationField& field, const Shares& shares) const {
    int code = exits::done;
    for (const auto& share : shares) code = std::max(code, at_share(field, share));
    return code;
  }

  const VerbRow& verb_;
  const OperationValues& given_;
  const Config& config_;
  const Work& work_;
  const unsigned count_;
};

}  // namespace

int in_partitions(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                  const std::function<int(const OperationValues& share, const Config& config)>& work) {
  const InShares shared(verb, given, config, work);
  for (const OperationField& field : verb.fields) {
    if (!given.has(field.name)) continue;
    if (field.kind == Kind::address && field.repeats) return shared.of_feeds(field);
    if (field.kind == Kind::entry) return shared.of_entries(field);
    if ((field.kind == Kind::address || field.kind == Kind::feed) && !field.repeats) return shared.of_feed(field);
  }
  if (verb.is_of_deployment) return shared.at(0);
  if (verb.is_of_each != nullptr && verb.is_of_each(given)) return shared.at_each(terminal);
  return work(given, config);
}

}  // namespace feedmill
