#include "worker/process/opening.hpp"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/exits.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/observe/store_failure.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds first_wait{50}, longest_wait{5'000};

/// HTTP P19: a worker with many feeds must give publishers a contact.
asio::awaitable<int> check_contact(ServedParts& parts) {
  const StoreResult<FleetFigures> figures =
      co_await parts.ingest.store.call([](Store& store) { return Fleet(store).figures(); });
  if (!figures) co_return exits::done;  // the worker will report the error
  parts.metrics.set_fleet(*figures);
  if (figures->feeds <= feeds_without_contact || !parts.config.fetch.contact.empty()) co_return exits::done;
  parts.log.write(LogLevel::error, "config_error",
                  "fetch.contact is required above 1000 feeds: set it (--contact, FEEDMILL_FETCH_CONTACT) to a contact "
                  "URL for publishers",
                  {{"feeds", figures->feeds}});
  co_return exits::configuration;
}

/// The merged stream of all partitions (RELIABILITY L28), if this store must check that events can be copied there.
std::optional<StoreOptions> one_stream_of(const ServedParts& parts) {
  const bool is_asked = parts.config.signals.merged && parts.mode != RunMode::selected;
  if (!is_asked || (parts.shared.stores > 1 && parts.config.partition().index > 0)) return std::nullopt;
  StoreOptions of_all = store_options(parts.config, parts.redis_url);
  of_all.of_all = true;
  return of_all;
}

/// An error that the operator must fix before the start. Blocking. An unreachable node does not prevent the start.
std::optional<StoreError> objection_to(const StoreOptions& one_stream) {
  const auto opened = Store(one_stream).open();
  const bool is_ours = opened.has_error() && (opened.error().code == StoreError::Code::unsupported ||
                                              opened.error().code == StoreError::Code::auth);
  return is_ours ? std::optional(opened.error()) : std::nullopt;
}

}  // namespace

asio::awaitable<int> open_store(ServedParts& parts) {
  Milliseconds wait = first_wait;
  for (std::string told; !parts.ingest.worker.stopping();) {
    // Read in each round: SIGHUP may replace the configuration.
    const std::vector<HostSettings> hosts = HostRules(parts.config).settings();
    const std::optional<StoreOptions> one_stream = one_stream_of(parts);
    const RunMode mode = parts.mode;
    test_point("B4");
    std::string id;
    const StoreResult<std::string> server = co_await parts.ingest.store.call([&](Store& store) {
      auto opened = store.open();
      if (!opened) return opened;
      auto named = store.id();
      if (!named) return named;
      id = std::move(*named);
      const auto wrong = one_stream ? objection_to(*one_stream) : std::nullopt;
      if (wrong) return StoreResult<std::string>(*wrong);
      if (mode == RunMode::selected) return opened;  // a verb may run with a smaller configuration
      const auto known = Hosts(store).set(hosts);    // HTTP H7
      return known ? opened : StoreResult<std::string>(known.error());
    });
    if (server) {
      parts.ingest.refresher.set_store_id(std::move(id));
      parts.metrics.set_store(*server);
      test_point("B5");
      if (!told.empty()) tell_back(parts.log, parts.shared.away.came(&parts.outages, 0), "Redis is available");
      co_return co_await check_contact(parts);
    }
    if (parts.ingest.worker.stopping()) break;
    const StoreError& error = server.error();
    const VerbFailure failure = failure_of(error);
    const bool hopeless = error.code == StoreError::Code::unsupported || error.code == StoreError::Code::auth ||
                          error.code == StoreError::Code::tls;
    if (hopeless || parts.mode != RunMode::daemon) {
      parts.log.write(LogLevel::error, hopeless ? "config_error" : "redis_down", failure.text);
      co_return failure.exit;
    }
    parts.metrics.store_error(error);
    if (parts.opening_trouble.detail != error.detail) {
      parts.opening_trouble = error;  // "LOADING …" while Redis reads its files (RELIABILITY H3)
      parts.shared.notify.status(parts.shared.state());
    }
    if (told != error.detail) {  // the error may change while the outage lasts
      const LogLevel level = parts.shared.away.went(&parts.outages) ? LogLevel::error : LogLevel::debug;
      const std::string& detail = needs_operator(error) ? failure.text : error.detail;  // includes the remedy
      parts.log.write(level, "redis_down", "waiting for Redis", {{"detail", detail}});
    }
    told = error.detail;
    parts.nap.expires_after(wait);
    wait = std::min(wait * 2, longest_wait);
    co_await parts.nap.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return exits::done;
}

}  // namespace feedmill
