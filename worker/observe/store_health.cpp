#include "worker/observe/store_health.hpp"

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/redis/reply.hpp"

namespace feedmill {

namespace {

/// A new primary returns this until its replicas have found it, which may or may not happen.
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

}  // namespace feedmill
