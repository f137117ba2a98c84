#include "worker/http/http_client.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <curl/curl.h>

#include "worker/egress/web_url.hpp"
#include "worker/http/http_shared.hpp"
#include "worker/http/http_transfer.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// Addresses of a host that the egress policy allows, at most 8, joined by commas (HTTP D1); if none, the reason.
struct Usable {
  std::string list;
  Addresses addresses;  ///< those of `list`
  Reason reason{};
  std::string detail;
};

constexpr std::size_t most_addresses = 8;
constexpr std::chrono::minutes nat64_age{60}, nat64_retry{1};  // lifetime of a successful and a failed check

void add_address(Usable& usable, const std::string& address) {
  if (!usable.list.empty()) usable.list += ',';
  usable.list += address.find(':') != address.npos ? "[" + address + "]" : address;
  usable.addresses.push_back(address);
}

/// `egress`: null for the addresses of a proxy, to which the policy does not apply.
Usable usable_of(const Addresses& addresses, const EgressPolicy* egress, unsigned port) {
  Usable usable{"", {}, Reason::dns_failed, "the proxy has no address"};
  std::size_t count = 0;
  for (const std::string& address : addresses) {
    const Egress verdict =
        egress == nullptr ? Egress::allowed : egress->check(address, static_cast<std::uint16_t>(port));
    if (verdict != Egress::allowed) {
      Refusal refusal = refusal_of(verdict, address, port);
      usable.reason = refusal.reason;
      usable.detail = std::move(refusal.detail);
    } else if (count++ < most_addresses) {
      add_address(usable, address);
    }
  }
  return usable;
}

/// Only `address`, if it is one of the addresses; otherwise the reason.
Usable only(const std::string& address, const Usable& all) {
  Usable usable;
  if (std::ranges::find(all.addresses, address) != all.addresses.end()) {
    add_address(usable, address);
  } else {
    usable.reason = Reason::dns_not_found;
    usable.detail = "it no longer resolves to " + address;
  }
  return usable;
}

}  // namespace

HttpClient::HttpClient(asio::any_io_executor executor, HttpClientOptions options)
    : resolver_(executor, options.resolver),
      shared_(std::make_unique<HttpShared>(std::move(executor), std::move(options),
                                           [](void* transfer, CURLcode code, const std::exception_ptr& error) {
                                             static_cast<HttpTransfer*>(transfer)->finish(code, error);
                                           })) {}

HttpClient::~HttpClient() = default;

const EgressPolicy& HttpClient::egress() const {
  return shared_->egress();
}

void HttpClient::reload() {
  resolver_.reload();
  shared_->own_until = shared_->nat64_until = steady_clock::now();
}

asio::awaitable<HttpResult> HttpClient::get(const HttpRequest& request) {
  // The connection's target: the server, or the operator's proxy, which may have a private address.
  const Origin origin = origin_of(request.url);
  const std::string server = request.proxy ? request.proxy->host : origin.host;
  const unsigned port = request.proxy ? request.proxy->port : origin.port;
  if (is_address(server)) {
    if (!request.proxy && server.starts_with('[')) co_await look_for_nat64(request.deadline);
    HttpResult direct = co_await exchange(request, std::string());
    co_return direct;
  }

  const steady_clock::time_point start = steady_clock::now();
  std::string host = server;
  if (host.ends_with('.')) host.pop_back();  // the same name: lookups use no search domains
  const auto addresses = co_await resolver_.resolve(host, request.deadline);
  const std::chrono::duration<double> lookup = steady_clock::now() - start;
  HttpFailure failure;
  failure.trace.total = lookup;
  if (!addresses) {
    failure.reason = addresses.error().reason;
    failure.detail = host + ": " + addresses.error().detail;
    co_return failure;
  }
  Usable usable = usable_of(*addresses, request.proxy ? nullptr : &egress(), port);
  if (!request.proxy && usable.list.find('[') != usable.list.npos) {
    co_await look_for_nat64(request.deadline);
    usable = usable_of(*addresses, &egress(), port);
  }
  if (!request.address.empty() && !request.proxy) usable = only(request.address, usable);
  if (usable.list.empty()) {
    failure.reason = usable.reason;
    failure.detail = host + ": " + usable.detail;
    co_return failure;
  }
  HttpResult result = co_await exchange(request, server + ":" + std::to_string(port) + ":" + usable.list);
  HttpTrace& trace = std::visit([](auto& ending) -> HttpTrace& { return ending.trace; }, result);
  trace.total += lookup;
  trace.first_byte += lookup;
  co_return result;
}

asio::awaitable<std::string> HttpClient::address_of(const std::string& url, steady_clock::time_point deadline) {
  const Origin origin = origin_of(url);
  if (is_address(origin.host)) co_return bare_address(origin.host);
  const auto resolved = co_await resolver_.resolve(origin.host, deadline);
  if (!resolved) co_return std::string();
  const Addresses addresses = usable_of(*resolved, &egress(), origin.port).addresses;
  const auto v4 = std::ranges::find_if(addresses, [](const std::string& one) { return one.find(':') == one.npos; });
  if (v4 != addresses.end()) co_return *v4;
  co_return addresses.empty() ? std::string() : addresses.front();
}

/// Runs before connecting to an IPv6 address, at the start and every hour: an address under this network's NAT64 prefix
/// may map to a private IPv4 address (RFC 7050). Without an answer, the known prefixes remain.
asio::awaitable<void> HttpClient::look_for_nat64(steady_clock::time_point deadline) {
  if (steady_clock::now() < shared_->nat64_until) co_return;
  const auto answers = co_await resolver_.resolve("ipv4only.arpa", deadline);
  const bool known = answers.has_value() || answers.error().reason == Reason::dns_not_found;
  if (known) shared_->options.egress.close_nat64(answers ? *answers : Addresses());
  shared_->nat64_until = steady_clock::now() + (known ? nat64_age : nat64_retry);
}

/// Sends the request; retries a GET while its network has no free slot (HTTP H8).
asio::awaitable<HttpResult> HttpClient::exchange(const HttpRequest& request, const std::string& resolve_line) {
  const steady_clock::time_point until =
      std::min(request.deadline, steady_clock::now() + shared_->options.network_wait);
  for (;;) {
    HttpResult result;
    std::string crowded;
    {
      HttpTransfer transfer(*shared_, request, resolve_line);
      while (!transfer.finished) {
        transfer.done.expires_at(transfer.next_look());
        const auto [interrupted] = co_await transfer.done.async_wait(asio::as_tuple(asio::use_awaitable));
        if (transfer.finished) break;  // libcurl finished and cancelled the timer
        if (transfer.go_on()) continue;
        if (interrupted) throw boost::system::system_error(interrupted);  // cancelled: unwind
        co_return transfer.given_up();
      }
      crowded = transfer.crowded();
      result = transfer.result();
    }
    const auto* failure = std::get_if<HttpFailure>(&result);
    if (failure == nullptr || failure->reason != Reason::worker_host_wait || request.post) co_return result;
    const bool room = co_await shared_->networks.wait(std::move(crowded), until);
    if (!room) co_return result;
  }
}

}  // namespace feedmill
