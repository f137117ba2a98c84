#include "worker/observe/store_health.hpp"

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "storage/redis/resp.hpp"
#include "worker/base/terminal.hpp"

namespace feedmill {
namespace {

/// A new primary returns this until its replicas connect, which may never happen.
bool lacks_replicas(const StoreError& error) {
  return error.detail.starts_with("NOREPLICAS");
}
constexpr std::chrono::seconds replicas_come_within{15};

}  // namespace

bool is_transient(const StoreError& error) {
  using Code = StoreError::Code;
  return error.code != Code::refused && error.code != Code::bug && error.code != Code::unsupported;
}

bool needs_operator(const StoreError& error) {
  using Code = StoreError::Code;
  return error.code == Code::out_of_memory || error.code == Code::misconfigured || error.code == Code::read_only ||
         error.code == Code::auth || error.code == Code::tls || error.code == Code::unsupported;
}

Milliseconds wait_before_retry(const StoreError& error, int attempt) {
  using Code = StoreError::Code;
  static thread_local std::minstd_rand random{std::random_device()()};
  Milliseconds longest = std::min(Milliseconds(50) * (1 << std::clamp(attempt, 0, 6)), Milliseconds(2000));
  const bool cannot_write = error.code == Code::out_of_memory || error.code == Code::misconfigured;
  if (cannot_write && !lacks_replicas(error)) longest = Milliseconds(5'000);
  const bool unwelcome = error.code == Code::auth || error.code == Code::tls || error.code == Code::unsupported;
  if (unwelcome) longest = Milliseconds(30'000);
  return Milliseconds(std::uniform_int_distribution<std::int64_t>(longest.count() / 2, longest.count())(random));
}

bool StoresAway::went(const void* store, Clock::time_point now) {
  constexpr std::chrono::seconds apart{10};
  const std::lock_guard lock(mutex_);
  for (const Together& one : outages_) {
    if (one.away.contains(store)) return one.teller == store;
  }
  if (outages_.empty() || now - outages_.back().last > apart) outages_.push_back({now, now, store, {}, {}});
  Together& newest = outages_.back();
  newest.last = now;
  newest.away.insert(store);
  newest.all.stores = std::max(newest.all.stores, newest.away.size());
  return newest.teller == store;
}

std::optional<StoresAway::Back> StoresAway::came(const void* store, std::uint64_t errors, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto its = std::ranges::find_if(outages_, [&](Together& one) { return one.away.erase(store) > 0; });
  if (its == outages_.end()) return {};
  its->all.errors += errors;
  if (its->teller == store) its->teller = nullptr;
  if (!its->away.empty()) return {};
  its->all.away_for = now - its->first;
  const Back all = its->all;
  outages_.erase(its);
  return all;
}

void tell_back(Log& log, const std::optional<StoresAway::Back>& all, std::string_view message) {
  std::vector<LogField> fields;
  if (all) fields.emplace_back("down_s", all->away_for.count());
  if (all && all->errors > 0) fields.emplace_back("errors", all->errors);
  if (all && all->stores > 1) fields.emplace_back("partitions", all->stores);
  log.write(all ? LogLevel::info : LogLevel::debug, "redis_up", message, fields);
}

void Outages::down(const void* loop, const StoreError& error) {
  const std::lock_guard lock(mutex_);
  ++errors_;
  last_ = error;
  metrics_.set_redis_trouble(error);
  const bool first = down_.empty();
  const bool passes = lacks_replicas(error) && Clock::now() - since_ <= replicas_come_within;
  const bool needs_somebody = needs_operator(error) && !passes;
  down_.insert(loop);
  if (first) {
    since_ = Clock::now();
    metrics_.set_redis_up(false);
    called_ = needs_operator(error);
    log_.write(away_.went(this) ? LogLevel::error : LogLevel::debug, "redis_down",
               "Redis is unavailable; claims wait and are retried", {{"detail", error.detail}});
    if (began_) began_();
  } else if (!called_ && needs_somebody) {  // first only a lost connection, now a lasting error
    called_ = true;
    log_.write(away_.went(this) ? LogLevel::error : LogLevel::debug, "redis_down",
               "Redis stays unavailable until an operator fixes it", {{"detail", error.detail}});
  }
}

std::optional<Outage> Outages::up(const void* loop) {
  const std::lock_guard lock(mutex_);
  if (down_.erase(loop) == 0 || !down_.empty()) return {};
  const auto all = away_.came(this, errors_);
  tell_back(log_, all, "Redis is available again");
  StoreError last = std::move(last_);
  last_ = {};
  errors_ = 0;
  metrics_.set_redis_up(true);
  metrics_.set_redis_trouble({});
  if (!all) return {};
  return Outage{all->away_for, all->errors, std::move(last)};
}

bool Outages::is_up() const {
  const std::lock_guard lock(mutex_);
  return down_.empty();
}

StoreError Outages::error() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void StoreHealth::mark_down(const StoreError& error, Clock::time_point now) {
  constexpr Milliseconds found_within{500};
  last_ = error;
  if (!since_ && !led_away_ && leads_elsewhere(error)) led_away_ = now;
  const Milliseconds passes_within = lacks_replicas(error) ? Milliseconds(replicas_come_within) : found_within;
  if (!since_ && led_away_ && now - *led_away_ < passes_within) return;
  if (!since_) since_ = now;
  outages_.down(this, error);
}

std::optional<Outage> StoreHealth::mark_up() {
  attempts_ = 0;
  led_away_.reset();
  if (!since_) return {};
  since_.reset();
  return outages_.up(this);
}

namespace {

/// The remedy, after a semicolon. Failed logins and missing permissions need different remedies.
std::string remedy_of_refusal(std::string_view detail) {
  if (detail.find("redis.sentinel_") != std::string_view::npos) return "";  // the message has its own remedy
  for (const std::string_view start :
       {"NOAUTH", "WRONGPASS", "DENIED", "ERR AUTH", "ERR invalid password", "ERR Protocol error: unauthenticated"}) {
    if (detail.find(start) != std::string_view::npos) return "; check redis.url and redis.password_file";
  }
  return "; use a Redis user with the required permissions: feedmill_viewer reads, feedmill works, feedmill_admin "
         "verifies and exports";
}

/// The remedy, unless the message has its own.
std::string_view remedy_of_no_write(std::string_view detail) {
  if (detail.starts_with("NOREPLICAS")) return "; check its replicas and its log";
  return detail.starts_with("MISCONF") ? "; check its disk and its log" : "";
}

/// The remedy for keys of the wrong type.
std::string_view remedy_of_wrong_type(std::string_view detail) {
  return detail.starts_with("WRONGTYPE") ? "; feedmill verify lists such keys, and verify --repair repairs some" : "";
}

/// Keys that are temporarily on two nodes (RELIABILITY L26).
bool is_being_moved(std::string_view detail) {
  return detail.starts_with("ASK ") || detail.starts_with("TRYAGAIN");
}

}  // namespace

VerbFailure failure_of(const StoreError& error) {
  const std::string detail = visible(error.detail);
  switch (error.code) {
    case StoreError::Code::unavailable:
    case StoreError::Code::timeout:
      return {exits::unavailable, fmt::format("Redis does not answer: {}; is it running, is redis.url right?", detail)};
    case StoreError::Code::loading:
      if (is_being_moved(error.detail)) {
        return {exits::unavailable,
                fmt::format("the slot of these keys is moving to another cluster node: {}; retry when it has moved",
                            detail)};
      }
      return {exits::unavailable, fmt::format("Redis is not ready yet: {}; retry in a moment", detail)};
    case StoreError::Code::out_of_memory:
      return {exits::unfinished, fmt::format("Redis is out of memory: {}; {}", detail, remedy_of_full_server)};
    case StoreError::Code::misconfigured:
      return {exits::unfinished, fmt::format("Redis cannot write: {}{}", detail, remedy_of_no_write(detail))};
    case StoreError::Code::read_only:
      return {exits::unfinished, fmt::format("Redis is a replica: {}; point redis.url at the primary", detail)};
    case StoreError::Code::auth:
      return {exits::configuration, fmt::format("Redis refuses us: {}{}", detail, remedy_of_refusal(error.detail))};
    case StoreError::Code::tls:
    case StoreError::Code::unsupported:
      return {exits::configuration, detail};
    case StoreError::Code::refused:
      return {exits::unfinished, fmt::format("the store refused: {}{}", detail, remedy_of_wrong_type(error.detail))};
    case StoreError::Code::bug:
      break;
  }
  return {exits::bug, fmt::format("a bug, please report it: {}", detail)};
}

void RefusedWork::tell(const StoreError& error) {
  if (std::exchange(told_, true)) return;
  const bool is_refused = error.code == StoreError::Code::refused;
  if (!is_refused) metrics_.bug();
  log_.write(
      LogLevel::error, is_refused ? "notice" : "bug",
      fmt::format("{} cannot continue{}", work_,
                  is_refused ? ": a key it needs has the wrong type; feedmill verify lists it: delete or rename it"
                             : "; feedmill retries"),
      {{"detail", error.detail}});
}

void RefusedWork::goes_on() {
  if (std::exchange(told_, false)) log_.write(LogLevel::info, "notice", fmt::format("{} continues", work_));
}

}  // namespace feedmill
