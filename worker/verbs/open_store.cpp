#include "worker/verbs/open_store.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "worker/base/exits.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill {

boost::system::result<StoreSession, VerbFailure> StoreSession::connect(const Config& config, StoreUse use) {
  StoreSession session;
  std::string url = config.redis.url;
  if (config.embedded()) {
    EmbeddedRedis::Options options;
    options.data_dir = config.store.data_dir;
    options.give_up = [] { return interrupted(); };
    auto server = EmbeddedRedis::open(options);
    stop_if_interrupted();
    if (server.has_error()) return VerbFailure{exit_code(server.error().code), visible(server.error().detail)};
    session.server_ = std::move(*server);
    url = session.server_->url();
  }
  StoreOptions options = store_options(config, std::move(url));
  options.reads_only = use == StoreUse::read;
  if (config.embedded()) options.password.clear();
  session.store_ = std::make_unique<Store>(std::move(options));
  return session;
}

boost::system::result<StoreSession, VerbFailure> StoreSession::open(const Config& config, StoreUse use) {
  auto session = connect(config, use);
  if (session.has_error()) return session.error();
  const auto opened = session->store_->open(use == StoreUse::change);
  if (opened.has_error()) return failure_of(opened.error());
  return session;
}

std::optional<std::vector<std::string>> feed_urls(Terminal& terminal, std::string_view verb,
                                                  const std::vector<std::string>& arguments,
                                                  std::string_view consequence) {
  std::vector<std::string> urls;
  bool good = true;
  for (const std::string& argument : arguments) {
    const auto canonical = canonical_feed_url(argument);
    if (canonical.has_error()) {
      good = false;
      terminal.error(fmt::format("{}: \"{}\" is no feed address: {}; {}", verb, visible(argument),
                                 visible(canonical.error()), consequence));
    } else if (std::find(urls.begin(), urls.end(), *canonical) == urls.end()) {
      urls.push_back(*canonical);
    }
  }
  if (!good) return {};
  return urls;
}

void note_without_worker(const VerbContext& context) {
  const auto workers = Fleet(context.store).workers();
  if (workers.has_error() || !workers->empty()) return;
  const Config& config = context.config;
  const std::string where =
      config.embedded() ? "the private server in " + visible(config.store.data_dir.string()) : "this Redis";
  context.terminal.note(fmt::format("no worker runs on {} yet: feedmill run fetches them", where));
}

StoreResult<std::vector<std::optional<FeedRecord>>> all_records(Store& store,
                                                                const std::vector<std::string>& feed_urls) {
  constexpr std::size_t step = 500;
  std::vector<std::optional<FeedRecord>> all;
  all.reserve(feed_urls.size());
  for (std::size_t begin = 0; begin < feed_urls.size(); begin += step) {
    stop_if_interrupted();
    const std::span<const std::string> urls(feed_urls);
    auto records = Feeds(store).records(urls.subspan(begin, std::min(step, feed_urls.size() - begin)));
    if (records.has_error()) return records.error();
    std::move(records->begin(), records->end(), std::back_inserter(all));
  }
  return all;
}

boost::system::result<std::vector<FeedRecord>, int> known_records(const VerbContext& context, std::string_view verb,
                                                                  const std::vector<std::string>& feed_urls,
                                                                  std::string_view consequence) {
  using Result = boost::system::result<std::vector<FeedRecord>, int>;
  auto records = all_records(context.store, feed_urls);
  if (records.has_error()) {
    return Result(boost::system::in_place_error, fail(context.terminal, verb, records.error()));
  }
  std::vector<FeedRecord> known;
  for (std::size_t i = 0; i < feed_urls.size(); ++i) {
    if (auto& record = (*records)[i]) {
      known.push_back(std::move(*record));
    } else {
      context.terminal.error(
          fmt::format("{}: no such feed: {}; {} (see feedmill list)", verb, visible(feed_urls[i]), consequence));
    }
  }
  if (known.size() < feed_urls.size()) return Result(boost::system::in_place_error, exits::no);
  return known;
}

int fail(Terminal& terminal, std::string_view verb, const VerbFailure& failure) {
  terminal.error(fmt::format("{}: {}", verb, failure.text));
  return failure.exit;
}

int fail(Terminal& terminal, std::string_view verb, const StoreError& error) {
  return fail(terminal, verb, failure_of(error));
}

}  // namespace feedmill

namespace boost::system {
void throw_exception_from_error(const feedmill::VerbFailure& failure, const boost::source_location&) {
  throw std::runtime_error(failure.text);
}
}  // namespace boost::system
