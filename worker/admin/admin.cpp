#include "worker/admin/admin.hpp"

#include <algorithm>
#include <utility>

#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "parsers/text/strings.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;

/// The decoded path of a request target; "" if an escape is malformed.
std::string path_of(std::string_view target) {
  return percent_decoded(take_until(target, '?')).value_or("");
}

bool is_probe(std::string_view path) {
  return path == "/livez" || path == "/readyz" || path == "/startupz";
}

constexpr std::size_t most_pinged = 50;                       // URLs per request; podping relays send that many
constexpr std::uint64_t max_ping = std::uint64_t{64} << 10U;  // bytes

/// The values of `name` in a form; nullopt if one of its escapes is malformed.
std::optional<std::vector<std::string>> form_values(std::string_view form, std::string_view name) {
  std::vector<std::string> values;
  while (!form.empty()) {
    std::string_view pair = take_until(form, '&');
    if (take_until(pair, '=') != name) continue;
    auto value = percent_decoded(pair, Plus::space);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

bool all_passed(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, &Check::passed);
}

/// As {"status":"ok","checks":[{"name":"redis","ok":true}]}; with details only if `verbose`.
Admin::Response probe_answer(bool passed, const std::vector<Check>& checks, bool verbose) {
  json::array list;
  for (const auto& check : checks) {
    json::object object{{"name", check.name}, {"ok", check.passed}};
    if (verbose) object["detail"] = check.detail;
    list.push_back(std::move(object));
  }
  const json::object body{{"status", passed ? "ok" : "failing"}, {"checks", std::move(list)}};
  return http_reply(passed ? http::status::ok : http::status::service_unavailable, "application/json",
                    json::serialize(body) + "\n");
}

Admin::Response token_wanted() {
  Admin::Response refused = http_reply(http::status::unauthorized);
  refused.set(http::field::www_authenticate, "Bearer realm=\"feedmill\", Basic realm=\"feedmill\"");
  return refused;
}

}  // namespace

boost::system::result<std::unique_ptr<Admin>, ListenError> Admin::open(const asio::any_io_executor& executor,
                                                                       const Options& options, Health health,
                                                                       AdminPages pages) {
  auto listener = Listener::open(executor, options.listen, "--listen (admin.listen)");
  if (!listener) return listener.error();
  return std::unique_ptr<Admin>(new Admin(std::move(*listener), options, std::move(health), std::move(pages)));
}

asio::awaitable<Admin::Response> Admin::answer(Visit& visit) {
  const Visit::Header& head = visit.head();
  const std::string path = path_of(head.target());
  const bool only_looks = head.method() == http::verb::get || head.method() == http::verb::head;
  const bool shown = !options_.token.empty() && shows_token(head[http::field::authorization], options_.token);
  // SECURITY T33: without a token, a request may come from a web page in a local browser, so its Host must be known.
  const bool called = is_called_by(head[http::field::host], options_.hosts) || head.count(http::field::host) == 0;
  if (is_probe(path)) {  // never reject a probe for an unknown Host: the worker would be killed
    if (!only_looks) co_return not_allowed("GET, HEAD");
    std::string_view query = head.target();
    take_until(query, '?');
    co_return probe(path, called && parameter(query, "verbose"));
  }
  if (path.starts_with("/api/") && pages_.programs) co_return co_await pages_.programs(visit);
  if (options_.token.empty() && !called) co_return http_reply(http::status::misdirected_request);
  if (!only_looks && is_of_another_site(head)) co_return http_reply(http::status::forbidden);
  if (path == "/ping") co_return co_await ping(visit, shown || (called && is_near(visit.client(), head)));
  const bool leads_on = path == "/" && std::ranges::find(pages_.paths, "/status") != pages_.paths.end();
  const bool is_page = std::ranges::find(pages_.paths, path) != pages_.paths.end();
  if (!leads_on && !is_page && path != "/metrics") co_return http_reply(http::status::not_found);
  if (leads_on) {
    Response there = http_reply(http::status::found);
    there.set(http::field::location, "status");  // relative, so that it also works behind a proxy's prefix
    co_return there;
  }
  if (!only_looks) co_return not_allowed("GET, HEAD");
  if (!options_.token.empty() && !shown) co_return token_wanted();
  co_return co_await show(path, head.target());
}

asio::awaitable<Admin::Response> Admin::show(std::string_view path, std::string_view target) {
  if (path == "/metrics")
    co_return http_reply(http::status::ok, "text/plain; version=0.0.4; charset=utf-8", health_.metrics());
  take_until(target, '?');
  AdminPage page = co_await pages_.answer(std::string(path), std::string(target));
  Response response = http_reply(http::int_to_status(page.status), page.type, std::move(page.body));
  if (!page.location.empty()) response.set(http::field::location, page.location);
  if (page.refresh.count() > 0) response.set("Refresh", std::to_string(page.refresh.count()));
  if (page.type.starts_with("text/html")) {  // SECURITY O4
    response.set("Content-Security-Policy",
                 "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    response.set("Referrer-Policy", "no-referrer");
  }
  co_return response;
}

Admin::Response Admin::probe(std::string_view path, bool verbose) {
  if (path == "/livez") {
    const auto checks = health_.live();
    return probe_answer(all_passed(checks), checks, verbose);
  }
  const auto checks = health_.ready();
  started_ = started_ || all_passed(checks);
  return probe_answer(path == "/startupz" ? started_ : all_passed(checks), checks, verbose);
}

asio::awaitable<Admin::Response> Admin::ping(Visit& visit, bool near) {
  if (visit.head().method() != http::verb::post) co_return not_allowed("POST");
  if (!near) co_return token_wanted();
  const std::string_view coding = visit.head()[http::field::content_encoding];
  if (!coding.empty() && !iequals(coding, "identity")) co_return http_reply(http::status::unsupported_media_type);
  auto refusal = co_await visit.read_body({}, max_ping);
  if (refusal || visit.gone()) co_return refusal.value_or(Response());
  auto urls = form_values(visit.body(), "url");
  const std::size_t count = urls ? urls->size() : 0;
  Pinged pinged;
  if (count > 0 && count <= most_pinged && health_.ping) pinged = co_await health_.ping(std::move(*urls));
  if (pinged.store_away) co_return try_later("10");
  if (count == 1 && pinged.feeds == 1) co_return http_reply(http::status::accepted);
  if (pinged.feeds > 0) {
    co_return http_reply(http::status::accepted, "text/plain; charset=utf-8",
                         "Accepted: " + std::to_string(pinged.feeds) + " of " + std::to_string(count) + " are feeds\n");
  }
  if (pinged.unknown > 0) co_return http_reply(http::status::not_found);
  co_return http_reply(http::status::bad_request, "text/plain; charset=utf-8",
                       "send url=… of a feed, percent-encoded, up to 50 times\n");
}

asio::awaitable<void> Admin::serve() {
  Listener::Host host;
  host.answer = [this](Visit& visit) { return answer(visit); };
  host.bug = [this](const char* what) {
    if (health_.bug) health_.bug(what);
  };
  co_await listener_->serve(options_.places, options_.limits, std::move(host));
}

}  // namespace feedmill
