#include "worker/http/fetch.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/egress/web_url.hpp"
#include "worker/http/request_style.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::size_t most_redirects = 5;
constexpr std::chrono::seconds longest_rest{10};  // between two hops
constexpr std::size_t most_cookie_bytes = 4096;
constexpr std::size_t usual_lines = 4;  // of a request header

bool is_redirect(int status) {
  return status == 300 || status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Whether `text` may be sent in a header line (HTTP P1).
bool printable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// Cookies set within one redirect chain and discarded with it (HTTP P16).
class ChainCookies {
 public:
  /// Stores cookies set by `origin`, and deletes those it sets to an empty value.
  void note(const Origin& origin, const std::vector<Header>& headers) {
    for (const auto& [name, value] : headers) {
      if (name == "set-cookie") keep(origin, value.substr(0, value.find(';')));
    }
  }

  /// The Cookie value for `origin`, "a=1; b=2"; "" if none.
  std::string for_origin(const Origin& origin) const {
    std::string line;
    for (const Cookie& cookie : cookies_) {
      if (!goes_to(cookie.origin, origin)) continue;
      if (!line.empty()) line += "; ";
      line += cookie.name + "=" + cookie.value;
    }
    return line;
  }

 private:
  struct Cookie {
    Origin origin;
    std::string name, value;
  };

  /// Whether `to` is the same origin, or the upgrade from http to https on default ports; never a downgrade (HTTP R4).
  static bool goes_to(const Origin& from, const Origin& to) {
    const bool upgraded = from.scheme == "http" && from.port == 80 && to.scheme == "https" && to.port == 443;
    return from.host == to.host && (from == to || upgraded);
  }

  void keep(const Origin& origin, std::string_view pair) {
    const std::size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0 || !printable(pair)) return;
    const std::string name(pair.substr(0, equals));
    std::erase_if(cookies_, [&](const Cookie& cookie) { return cookie.origin == origin && cookie.name == name; });
    std::size_t bytes = pair.size();
    for (const Cookie& cookie : cookies_) bytes += cookie.name.size() + cookie.value.size();
    if (equals + 1 == pair.size() || bytes > most_cookie_bytes) return;
    cookies_.push_back(Cookie{origin, name, std::string(pair.substr(equals + 1))});
  }

  std::vector<Cookie> cookies_;
};

/// Returns whether the hop carries validators.
bool add_validators(const Validators& validators, const std::string& url, std::vector<std::string>& lines) {
  if (validators.url != url) return false;  // HTTP P3
  const std::string_view etag = usable_validator(validators.etag);
  const std::string_view date = usable_validator(validators.last_modified);
  if (!etag.empty()) lines.emplace_back("If-None-Match: ").append(etag);
  if (!date.empty()) lines.emplace_back("If-Modified-Since: ").append(date);
  return !etag.empty() || !date.empty();
}

/// State shared by all hops of a fetch.
struct Chain : FetchTotals {
  int status = 0;  ///< of the last response
  bool fell_back = false;
  steady_clock::time_point start = steady_clock::now();

  void add(const HttpTrace& trace) {
    const std::chrono::duration<double> before = timings.total;
    timings.connect += trace.connect;
    timings.first_byte = before + trace.first_byte;
    timings.total = steady_clock::now() - start;
    connections_new += trace.connections_new;
    connections_resumed += trace.connections_resumed;
    if (trace.connections_new == 0 && trace.sent) ++connections_reused;
    wire_bytes += trace.wire_bytes;
    sent = sent || trace.sent;
  }

  FetchTotals take_totals() { return std::move(static_cast<FetchTotals&>(*this)); }

  FetchError error(Reason reason, std::string detail) {
    return {take_totals(), reason, std::move(detail), status, {}, {}};
  }

  FetchError unfollowed(Reason reason, std::string detail, HttpResponse answer) {
    FetchError result = error(reason, std::move(detail));
    result.headers = std::move(answer.headers);
    return result;
  }

  FetchResponse response(std::string url, bool conditional, HttpResponse answer) {
    FetchResponse result;
    static_cast<FetchTotals&>(result) = take_totals();
    result.status = answer.status;
    result.url = std::move(url);
    result.headers = std::move(answer.headers);
    result.body = std::move(answer.body);
    result.conditional = conditional;
    result.fell_back = fell_back;
    return result;
  }
};

/// A redirect's target, or why it is not followed (HTTP §5).
struct Turn {
  std::string url;
  Reason reason = Reason::none;
  std::string detail;
};

Turn turn(const std::string& url, const HttpResponse& answer, std::size_t followed, bool allow_downgrade) {
  const auto no = [](Reason reason, std::string detail) { return Turn{"", reason, std::move(detail)}; };
  const std::string_view location = field(answer.headers, "location");
  if (!is_redirect(answer.status) || location.empty()) {
    return no(Reason::redirect_invalid, "status " + std::to_string(answer.status) + " without a usable Location");
  }
  if (followed == most_redirects) {
    return no(Reason::redirect_limit, "more than " + std::to_string(most_redirects) + " redirects");
  }
  auto target = resolve_location(url, location);
  if (!target) return no(Reason::redirect_invalid, "redirect to an unsupported address: " + target.error());
  if (!allow_downgrade && url.starts_with("https:") && target->starts_with("http:")) {
    return no(Reason::redirect_downgrade, "redirect from https to " + *target);
  }
  return Turn{std::move(*target), Reason::none, ""};
}

/// HTTP P9: delay a redirect requests before it is followed.
std::chrono::seconds rest_before_next_hop(const HttpResponse& answer) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return retry_after(answer.headers, now).value_or(RetryAfter()).wait;
}

}  // namespace

std::string_view FetchResponse::header(std::string_view name) const {
  return field(headers, name);
}

Validators FetchResponse::validators() const {
  return Validators{std::string(usable_validator(header("etag"))),
                    std::string(usable_validator(header("last-modified"))), url};
}

Fetcher::Generation::Generation(const asio::any_io_executor& executor, FetchOptions fetch_options)
    : options(std::move(fetch_options)) {
  auto shared = static_cast<const HttpClientOptions&>(options);
  clients.try_emplace("", executor, shared);
  for (const auto& [name, egress] : options.policies) {
    shared.egress = egress;
    clients.try_emplace(name, executor, shared);
  }
}

Fetcher::Fetcher(asio::any_io_executor executor, FetchOptions options)
    : executor_(std::move(executor)), now_(std::make_shared<Generation>(executor_, std::move(options))) {}

void Fetcher::set_options(FetchOptions options) {
  now_ = std::make_shared<Generation>(executor_, std::move(options));
}

asio::awaitable<FetchResult> Fetcher::fetch(FetchRequest request) {
  FetchError failed;
  try {
    FetchResult result = co_await follow(std::move(request));
    co_return result;
  } catch (const std::bad_alloc&) {
    failed.reason = Reason::worker_memory;
    failed.detail = "no memory for it";
    failed.sent = true;  // possibly
  }
  co_return failed;
}

asio::awaitable<FetchResult> Fetcher::follow(FetchRequest request) {
  Chain chain;
  ChainCookies cookies;
  std::vector<std::string> sent_cookies;  // for each hop
  std::string url = std::move(request.url);
  const std::shared_ptr<Generation> generation = now_;
  const FetchOptions& options = generation->options;
  const auto style = request_style(options, request);
  if (!style) co_return chain.error(style.error().reason, style.error().detail);
  HttpClient& client = generation->clients.at(style->policy);
  bool with_headers = true;  // the feed's own headers
  const steady_clock::time_point deadline = chain.start + options.wall;

  for (;;) {
    const Origin origin = origin_of(url);
    std::string cookie = cookies.for_origin(origin);
    for (std::size_t i = 0; i < chain.hops.size(); ++i) {  // HTTP §5
      if (chain.hops[i].url != url || sent_cookies[i] != cookie) continue;
      co_return chain.error(Reason::redirect_loop, "redirected to " + url + " again");
    }

    HttpRequest hop;
    hop.url = url;
    hop.deadline = deadline;
    hop.http1 = request.http1;
    hop.memory = request.memory;
    hop.header_lines.reserve(usual_lines);
    const bool own_headers = style->dress(hop, origin, with_headers);
    hop.header_lines.emplace_back(request.identity ? "Accept-Encoding: identity" : "Accept-Encoding: gzip, br, zstd");
    if (!cookie.empty()) hop.header_lines.push_back("Cookie: " + cookie);
    const bool conditional = add_validators(request.validators, url, hop.header_lines);

    HttpResult result = co_await ask(client, std::move(hop), chain.fell_back);
    if (auto* failure = std::get_if<HttpFailure>(&result)) {
      chain.add(failure->trace);
      FetchError error = chain.error(failure->reason, std::move(failure->detail));
      if (failure->status != 0) error.status = failure->status;
      if (!failure->body.empty()) {
        FetchResponse& part = error.cut_off.emplace();
        part.status = 200;
        part.url = url;
        part.headers = std::move(failure->headers);
        part.body = std::move(failure->body);
        part.opened_by_allow =
            !style->proxy && client.egress().opened_by_allow(failure->trace.peer, failure->trace.peer_port);
      }
      co_return error;
    }
    HttpResponse& answer = std::get<HttpResponse>(result);
    chain.add(answer.trace);
    chain.status = answer.status;
    if (answer.status == 431 && own_headers) {  // HTTP §4: retry once without them
      with_headers = false;
      continue;
    }
    chain.hops.push_back(Hop{url, answer.status, ""});
    if (answer.status == 203) answer.status = 200;  // modified by a proxy (RFC 9110 §15.3.4)

    if (answer.status < 300 || answer.status > 399 || answer.status == 304) {
      HttpTrace trace = std::move(answer.trace);
      // With a proxy, the peer is not the server.
      const bool opened = !style->proxy && client.egress().opened_by_allow(trace.peer, trace.peer_port);
      FetchResponse response = chain.response(std::move(url), conditional, std::move(answer));
      response.opened_by_allow = opened;
      response.peer = std::move(trace.peer);
      response.peer_port = trace.peer_port;
      co_return response;
    }
    sent_cookies.push_back(std::move(cookie));
    cookies.note(origin, answer.headers);
    Turn next = turn(url, answer, chain.hops.size() - 1, options.allow_downgrade);
    if (next.reason != Reason::none) {
      co_return chain.unfollowed(next.reason, std::move(next.detail), std::move(answer));
    }
    chain.hops.back().location = next.url;
    const std::chrono::seconds rest = rest_before_next_hop(answer);
    if (rest > longest_rest || steady_clock::now() + rest >= deadline) {
      co_return chain.unfollowed(Reason::http_unexpected,
                                 "its redirect is to be followed in " + std::to_string(rest.count()) + " s, not before",
                                 std::move(answer));
    }
    if (rest.count() > 0) {
      asio::steady_timer timer(co_await asio::this_coro::executor, rest);
      co_await timer.async_wait(asio::use_awaitable);
    }
    const std::string server = server_of(next.url);
    const bool never_left =
        std::ranges::all_of(chain.hops, [&](const Hop& before) { return server_of(before.url) == server; });
    if (request.enter_server && !never_left) {
      const bool entered = co_await request.enter_server(next.url);
      if (!entered) {
        co_return chain.unfollowed(Reason::worker_host_wait, server + " may not be asked now", std::move(answer));
      }
    }
    url = std::move(next.url);
  }
}

asio::awaitable<HttpResult> Fetcher::post_form(const std::string& feed_url, const FeedSettings& settings,
                                               std::string url, std::string form, steady_clock::time_point deadline) {
  const std::shared_ptr<Generation> generation = now_;
  FetchRequest asker;
  asker.feed_url = feed_url;
  asker.settings = settings;
  asker.settings.auth.clear();
  asker.settings.headers.clear();
  const auto style = request_style(generation->options, asker);
  if (!style) co_return HttpFailure{style.error().reason, style.error().detail, 0, {}};
  HttpRequest request;
  request.user_agent = style->user_agent;
  request.proxy = style->proxy;
  if (host_of(url) == host_of(feed_url)) {
    request.ca_file = style->ca_file;
    request.pin = style->pin;
  }
  request.http1 = true;
  request.header_lines = {"Accept: */*", "Content-Type: application/x-www-form-urlencoded", "Expect:"};
  request.url = std::move(url);
  request.post = std::make_shared<const std::string>(std::move(form));
  request.deadline = deadline;
  request.max_body_bytes = 16U << 10U;
  HttpClient& client = generation->clients.at(style->policy);
  HttpResult result = co_await client.get(request);
  const auto* failure = std::get_if<HttpFailure>(&result);
  const bool unknown_authority = failure != nullptr && failure->reason == Reason::tls_verify;
  if (!unknown_authority || style->ca_file.empty() || !request.ca_file.empty()) co_return result;
  // The feed's own CA file is used only if the standard CAs fail: the holder of that CA could otherwise forge the
  // response that names the hub.
  request.ca_file = style->ca_file;
  co_return co_await client.get(request);
}

asio::awaitable<HttpResult> Fetcher::send(Outbound outbound) {
  const std::shared_ptr<Generation> generation = now_;
  const auto style = request_style(generation->options, FetchRequest());
  if (!style) co_return HttpFailure{style.error().reason, style.error().detail, 0, {}};
  HttpRequest request;
  request.user_agent = style->user_agent;
  request.proxy = style->proxy;
  request.http1 = true;
  request.header_lines = std::move(outbound.header_lines);
  if (outbound.body) request.header_lines.emplace_back("Expect:");
  request.url = std::move(outbound.url);
  request.post = std::move(outbound.body);
  request.deadline = outbound.deadline;
  request.max_body_bytes = outbound.most_answer;
  request.address = std::move(outbound.address);
  HttpClient& client = generation->clients.at(style->policy);
  co_return co_await client.get(request);
}

asio::awaitable<Fetcher::Peer> Fetcher::peer_of(std::string url, std::chrono::steady_clock::time_point deadline) {
  const std::shared_ptr<Generation> generation = now_;
  const auto style = request_style(generation->options, FetchRequest());
  if (!style || style->proxy) co_return Peer();
  HttpClient& client = generation->clients.at(style->policy);
  Peer peer;
  peer.address = co_await client.address_of(url, deadline);
  if (!peer.address.empty()) peer.network = client.egress().network_of(peer.address);
  co_return peer;
}

/// Sends the request and retries for transport reasons, each at most once (HTTP P20, §4): over HTTP/1.1 if streams
/// break, on a fresh connection after 421. (libcurl itself retries dead reused connections: HTTP §7.)
asio::awaitable<HttpResult> Fetcher::ask(HttpClient& client, HttpRequest request, bool& fell_back) {
  HttpResult result = co_await client.get(request);
  const auto* failure = std::get_if<HttpFailure>(&result);
  const bool broken_streams = failure != nullptr && !request.http1 && failure->reason == Reason::http_stream;
  if (broken_streams) {
    request.http1 = true;
  } else if (failure != nullptr) {
    co_return result;
  } else {
    if (std::get<HttpResponse>(result).status != 421) co_return result;
    request.fresh_connection = true;
  }
  HttpResult again = co_await client.get(request);
  const auto* failed = std::get_if<HttpFailure>(&again);
  if (failed != nullptr && !failed->trace.sent) co_return result;  // nothing was sent: keep the first result
  if (broken_streams && failed == nullptr) fell_back = true;
  co_return again;
}

}  // namespace feedmill
