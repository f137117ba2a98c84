#include "worker/http/resolver.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdexcept>
#include <utility>

#include <ares.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <libpsl.h>

#include "worker/http/c_guard.hpp"
#include "worker/http/dns_channel.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::size_t most_kept_addresses = 32;   // per name
constexpr std::size_t most_domains = 10'000;      // with recorded timeouts
constexpr unsigned timeouts_to_open_circuit = 3;  // HTTP D4
constexpr std::chrono::seconds circuit_time{60};

/// Alternates families, IPv6 first (HTTP D1).
Addresses in_turns(std::vector<std::string> v6, std::vector<std::string> v4) {
  Addresses result;
  for (std::size_t i = 0; i < std::max(v6.size(), v4.size()) && result.size() < most_kept_addresses; ++i) {
    if (i < v6.size()) result.push_back(std::move(v6[i]));
    if (i < v4.size()) result.push_back(std::move(v4[i]));
  }
  return result;
}

/// The smaller TTL of the families that have addresses.
std::chrono::seconds ttl_of(const HostAddresses& v6, const HostAddresses& v4) {
  if (v6.addresses.empty()) return v4.ttl;
  return v4.addresses.empty() ? v6.ttl : std::min(v6.ttl, v4.ttl);
}

ResolveError error_of(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
      return {Reason::dns_not_found, "no such host"};
    case ARES_SUCCESS:
    case ARES_ENODATA:
      return {Reason::dns_not_found, "the host has no address"};
    case ARES_ETIMEOUT:
      return {Reason::dns_timeout, "the name servers do not answer"};
    default:
      return {Reason::dns_failed, std::string("name server: ") + ares_strerror(status)};
  }
}

}  // namespace

/// A caller waiting for an answer: joins the question on construction, leaves it on destruction.
class Resolver::Waiter {
 public:
  Waiter(Resolver& resolver, const std::string& host) : done(resolver.executor_), resolver_(resolver), host_(host) {
    done.expires_at(asio::steady_timer::time_point::max());
    resolver_.question_of(host_).waiters.push_back(this);
    resolver_.ask_next();
  }
  ~Waiter() {
    const auto found = resolver_.questions_.find(host_);
    if (found != resolver_.questions_.end()) std::erase(found->second->waiters, this);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  void finish(const LookedUp& result) {
    answer = result;
    done.cancel();
  }
  void fail(const std::exception_ptr& error) noexcept {
    failure.keep(error);
    done.cancel();
  }

  asio::steady_timer done;
  std::optional<LookedUp> answer;
  CGuard failure;  ///< set instead of an answer

 private:
  Resolver& resolver_;
  const std::string& host_;
};

Resolver::Resolver(asio::any_io_executor executor, ResolverOptions options)
    : executor_(std::move(executor)), options_(std::move(options)), alive_(std::make_shared<Resolver*>(this)) {
  channels_.push_back(std::make_unique<DnsChannel>(executor_, options_));
}

Resolver::~Resolver() {
  *alive_ = nullptr;
  channels_.clear();  // answers ARES_EDESTRUCTION to outstanding questions
}

void Resolver::tell(Lookup became, steady_clock::time_point from) const {
  if (options_.tell) options_.tell(became, steady_clock::now() - from);
}

std::optional<LookedUp> Resolver::known(const std::string& host) {
  const auto found = by_host_.find(host);
  if (found == by_host_.end()) return std::nullopt;
  const auto cached = found->second;
  if (cached->until <= steady_clock::now()) return std::nullopt;  // expired; kept for circuit_open()
  cache_.splice(cache_.begin(), cache_, cached);
  return cached->answer;
}

void Resolver::remember(const std::string& host, const LookedUp& answer, std::chrono::seconds time) {
  if (known(host)) return;
  if (const auto expired = by_host_.find(host); expired != by_host_.end()) {
    const auto cached = expired->second;
    by_host_.erase(expired);
    cache_.erase(cached);
  }
  std::list<Cached> fresh;
  fresh.push_back(Cached{host, answer, steady_clock::now() + time});
  by_host_.emplace(fresh.front().host, fresh.begin());
  cache_.splice(cache_.begin(), fresh);
  while (cache_.size() > options_.max_names) {
    by_host_.erase(cache_.back().host);
    cache_.pop_back();
  }
}

/// Never open for a name that resolved in its last lookup: redirects can lead to any number of unresolvable names of
/// its domain.
bool Resolver::circuit_open(const std::string& host) const {
  if (circuits_.empty()) return false;
  if (const auto last = by_host_.find(host); last != by_host_.end() && last->second->answer.has_value()) return false;
  const auto found = circuits_.find(registrable_domain(host));
  return found != circuits_.end() && found->second.open_until > steady_clock::now();
}

/// Keeps a domain with unresponsive name servers from occupying all query slots.
void Resolver::note(const std::string& host, bool timed_out) {
  if (!timed_out) {
    if (!circuits_.empty()) circuits_.erase(registrable_domain(host));
    return;
  }
  const auto now = steady_clock::now();
  if (circuits_.size() >= most_domains) {
    std::erase_if(circuits_, [&](const auto& entry) { return entry.second.open_until <= now; });
  }
  Circuit& circuit = circuits_[registrable_domain(host)];
  if (++circuit.timeouts >= timeouts_to_open_circuit) circuit.open_until = now + circuit_time;
}

Resolver::Question& Resolver::question_of(const std::string& host) {
  std::unique_ptr<Question>& question = questions_[host];
  if (question == nullptr) {
    auto fresh = std::make_unique<Question>(Question{this, host, nullptr, {}});
    queue_.push_back(fresh.get());
    question = std::move(fresh);
  }
  return *question;
}

void Resolver::ask_next() noexcept {
  if (asking_) return;
  asking_ = true;
  while (outstanding_ < options_.max_outstanding && !queue_.empty()) {
    Question& question = *queue_.front();
    queue_.pop_front();
    if (question.waiters.empty()) {  // all callers have left
      taken_out(question);
      continue;
    }
    CGuard guard;
    question.channel = guard.run(static_cast<DnsChannel*>(nullptr), [&] { return &channel(); });
    if (guard) {
      const std::unique_ptr<Question> unasked = taken_out(question);
      for (Waiter* waiter : unasked->waiters) waiter->fail(guard.error());
      continue;
    }
    ++outstanding_;
    ++queries_;
    question.channel->ask(question.host, &Resolver::on_answer, &question);
  }
  asking_ = false;
}

DnsChannel& Resolver::channel() {
  const DnsChannel& current = *channels_.back();
  const bool old = steady_clock::now() - current.made >= options_.channel_age;
  if (!renew_ && !old && current.asked < options_.channel_queries) return *channels_.back();
  try {
    channels_.push_back(std::make_unique<DnsChannel>(executor_, options_));
  } catch (const std::runtime_error&) {  // no descriptors left, or an incomplete configuration: keep the old channel
    return *channels_.back();
  }
  renew_ = false;
  asio::post(executor_, [alive = alive_] {
    if (*alive != nullptr) (*alive)->drop_retired();
  });
  return *channels_.back();
}

/// Must not run within a callback of c-ares.
void Resolver::drop_retired() {
  const DnsChannel* current = channels_.back().get();
  std::erase_if(channels_, [&](const auto& channel) { return channel.get() != current && channel->outstanding == 0; });
}

void Resolver::on_answer(void* data, int status, HostAddresses v6, HostAddresses v4) {
  if (status == ARES_EDESTRUCTION) return;  // the resolver is being destroyed; there are no waiters
  const Question& question = *static_cast<Question*>(data);
  question.resolver->answered(question, status, std::move(v6), std::move(v4));
}

void Resolver::answered(const Question& question, int status, HostAddresses v6, HostAddresses v4) noexcept {
  const std::unique_ptr<Question> owned = taken_out(question);
  --outstanding_;
  --owned->channel->outstanding;
  CGuard guard;
  if (status == ARES_ECANCELLED && owned->channel->failure()) {
    guard = owned->channel->failure();
  } else {
    guard.run([&] { take(*owned, status, std::move(v6), std::move(v4)); });
  }
  if (guard) {
    for (Waiter* waiter : owned->waiters) waiter->fail(guard.error());
  }
  ask_next();
}

std::unique_ptr<Resolver::Question> Resolver::taken_out(const Question& question) noexcept {
  const auto place = questions_.find(question.host);
  std::unique_ptr<Question> owned = std::move(place->second);
  questions_.erase(place);
  return owned;
}

void Resolver::take(const Question& question, int status, HostAddresses v6, HostAddresses v4) {
  if (question.channel->outstanding == 0 && question.channel != channels_.back().get()) {
    asio::post(executor_, [alive = alive_] {
      if (*alive != nullptr) (*alive)->drop_retired();
    });
  }
  const std::chrono::seconds ttl = ttl_of(v6, v4);
  Addresses addresses = in_turns(std::move(v6.addresses), std::move(v4.addresses));
  const bool found = !addresses.empty();
  const LookedUp answer = found ? LookedUp(std::move(addresses)) : LookedUp(error_of(status));
  std::chrono::seconds time = options_.failure_ttl;
  if (found) {
    time = std::clamp(ttl, options_.min_ttl, options_.max_ttl);
  } else if (answer.error().reason == Reason::dns_not_found) {
    time = options_.not_found_ttl;
  }
  note(question.host, !found && answer.error().reason == Reason::dns_timeout);
  remember(question.host, answer, time);
  for (Waiter* waiter : question.waiters) waiter->finish(answer);
}

namespace {

Lookup lookup_of(const LookedUp& answer) {
  if (answer) return Lookup::ok;
  switch (answer.error().reason) {
    case Reason::dns_not_found:
      return Lookup::not_found;
    case Reason::dns_timeout:
      return Lookup::timeout;
    default:
      return Lookup::failed;
  }
}

}  // namespace

asio::awaitable<LookedUp> Resolver::resolve(std::string host, steady_clock::time_point deadline) {
  if (host == "localhost" || host.ends_with(".localhost")) {  // RFC 6761 §6.3: regardless of the hosts file
    Addresses loopback{"::1", "127.0.0.1"};
    co_return std::move(loopback);
  }
  if (host.ends_with(".onion")) co_return ResolveError{Reason::dns_not_found, "no such host"};  // RFC 7686 §2
  const auto from = steady_clock::now();
  if (auto cached = known(host)) {
    tell(Lookup::cached, from);
    co_return std::move(*cached);
  }
  if (circuit_open(host)) {
    tell(Lookup::timeout, from);
    co_return ResolveError{Reason::dns_timeout, "the name servers of its domain have not answered for a while"};
  }
  Waiter waiter(*this, host);
  if (!waiter.answer && !waiter.failure) {
    waiter.done.expires_at(deadline);
    const auto [interrupted] = co_await waiter.done.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!waiter.answer && !waiter.failure && interrupted)
      throw boost::system::system_error(interrupted);  // cancelled: unwind
  }
  if (waiter.failure) {
    tell(Lookup::failed, from);
    auto [reason, detail] = waiter.failure.told();
    co_return ResolveError{reason, std::move(detail)};
  }
  tell(waiter.answer ? lookup_of(*waiter.answer) : Lookup::timeout, from);
  if (!waiter.answer) co_return ResolveError{Reason::dns_timeout, "no answer within the time allowed"};
  co_return std::move(*waiter.answer);
}

bool is_address(std::string_view host) {
  in_addr v4{};
  return host.starts_with('[') || inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1;
}

std::string bare_address(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

std::string registrable_domain(const std::string& host) {
  const char* domain = is_address(host) ? nullptr : psl_registrable_domain(psl_builtin(), host.c_str());
  return domain != nullptr ? domain : host;
}

}  // namespace feedmill
