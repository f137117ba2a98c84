#include "worker/observe/store_health.hpp"

#include <algorithm>
#include <random>

namespace feedmill {

namespace {

/// A new primary answers so until its replicas have found it: that passes by itself, or it does not.
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
    log_.write(LogLevel::error, "redis_down", "Redis does not serve; claims wait and are tried again",
               {{"detail", error.detail}});
    if (began_) began_();
  } else if (!called_ && needs_somebody) {  // it came back, and not as it was: first there was but a lost link
    called_ = true;
    log_.write(LogLevel::error, "redis_down", "Redis will not serve until somebody mends it",
               {{"detail", error.detail}});
  }
}

std::optional<Outage> Outages::up(const void* loop) {
  const std::lock_guard lock(mutex_);
  if (down_.erase(loop) == 0 || !down_.empty()) return {};
  Outage outage{Clock::now() - since_, errors_, std::move(last_)};
  log_.write(LogLevel::info, "redis_up", "Redis serves again",
             {{"down_s", outage.length.count()}, {"errors", outage.errors}});
  last_ = {};
  errors_ = 0;
  metrics_.set_redis_up(true);
  metrics_.set_redis_trouble({});
  return outage;
}

bool Outages::is_up() const {
  const std::lock_guard lock(mutex_);
  return down_.empty();
}

StoreError Outages::error() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void StoreHealth::mark_down(const StoreError& error) {
  last_ = error;
  if (!since_) since_ = Clock::now();
  outages_.down(this, error);
}

std::optional<Outage> StoreHealth::mark_up() {
  attempts_ = 0;
  if (!since_) return {};
  since_.reset();
  return outages_.up(this);
}

}  // namespace feedmill
