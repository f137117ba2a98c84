#include "worker/admin/admin.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "worker/admin/bearer.hpp"
#include "worker/admin/query.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using tcp = asio::ip::tcp;

constexpr std::uint32_t longest_header = 8 << 10;
constexpr std::uint64_t longest_ping = 8 << 10;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable);

/// The path of a target; "" when an escape is broken.
std::string path_of(std::string_view target) {
  return percent_decoded(target.substr(0, std::min(target.find('?'), target.size()))).value_or("");
}

bool is_probe(std::string_view path) {
  return path == "/livez" || path == "/readyz" || path == "/startupz";
}

/// The one value of `name` in a form; nothing when there is none, or more than one.
std::optional<std::string> form_value(std::string_view form, std::string_view name) {
  std::optional<std::string> value;
  while (!form.empty()) {
    const auto end = std::min(form.find('&'), form.size());
    const auto pair = form.substr(0, end);
    const auto equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) {
      if (value) return std::nullopt;
      value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), Plus::space);
      if (!value) return std::nullopt;
    }
    form.remove_prefix(std::min(end + 1, form.size()));
  }
  return value;
}

bool all_passed(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, &Check::passed);
}

/// {"status":"ok","checks":[{"name":"redis","ok":true}]}; details only when asked for.
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

Admin::Response not_allowed(std::string_view methods) {
  Admin::Response refused = http_reply(http::status::method_not_allowed);
  refused.set(http::field::allow, methods);
  return refused;
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

asio::awaitable<Admin::Response> Admin::answer(http::verb method, std::string_view target,
                                               std::string_view authorization) {
  const std::string path = path_of(target);
  const auto question = std::min(target.find('?'), target.size());
  std::string query(target.substr(std::min(question + 1, target.size())));
  const bool is_page = std::ranges::find(pages_.paths, path) != pages_.paths.end();
  if (path == "/" && std::ranges::find(pages_.paths, "/status") != pages_.paths.end()) {
    Response there = http_reply(http::status::found);
    there.set(http::field::location, "status");  // as it stands behind a proxy's prefix, too
    co_return there;
  }
  if (!is_page && !is_probe(path) && path != "/metrics") co_return http_reply(http::status::not_found);
  if (method != http::verb::get && method != http::verb::head) co_return not_allowed("GET, HEAD");
  if (is_probe(path)) co_return probe(path, parameter(query, "verbose").has_value());
  if (!options_.token.empty() && !shows_token(authorization, options_.token)) co_return token_wanted();
  if (path == "/metrics")
    co_return http_reply(http::status::ok, "text/plain; version=0.0.4; charset=utf-8", health_.metrics());
  AdminPage page = co_await pages_.answer(path, std::move(query));
  Response response = http_reply(http::int_to_status(page.status), page.type, std::move(page.body));
  if (page.type.starts_with("text/html")) {  // SECURITY O4
    response.set("Content-Security-Policy",
                 "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'");
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

std::optional<Admin::Response> Admin::refuse_ping(http::verb method, bool near, std::string_view authorization) const {
  if (method != http::verb::post) return not_allowed("POST");
  const bool shown = !options_.token.empty() && shows_token(authorization, options_.token);
  if (!near && !shown) return token_wanted();
  return std::nullopt;
}

asio::awaitable<Admin::Response> Admin::ping(std::string_view form) const {
  auto url = form_value(form, "url");
  Pinged pinged = Pinged::no_url;
  if (url && health_.ping) pinged = co_await health_.ping(std::move(*url));
  switch (pinged) {
    case Pinged::noted:
      co_return http_reply(http::status::accepted);
    case Pinged::unknown:
      co_return http_reply(http::status::not_found);
    case Pinged::no_url:
      co_return http_reply(http::status::bad_request, "text/plain; charset=utf-8",
                           "send one url=… of a feed, percent-encoded\n");
    case Pinged::store_away:
      break;
  }
  Response busy = http_reply(http::status::service_unavailable);
  busy.set(http::field::retry_after, "10");
  co_return busy;
}

asio::awaitable<void> Admin::serve() {
  const Listener::Conversation talk = [this](tcp::socket socket) { return converse(std::move(socket)); };
  co_await listener_->serve(options_.connections, options_.connections, talk);
}

asio::awaitable<void> Admin::converse(tcp::socket socket) {
  boost::system::error_code no_peer;
  const auto peer = socket.remote_endpoint(no_peer);
  const bool near = !no_peer && peer.address().is_loopback();
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  const auto& http_errors = boost::system::error_code(http::error::bad_method).category();
  for (bool keep = true; keep;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(longest_header);
    parser.body_limit(longest_ping);
    stream.expires_after(options_.timeout);
    const auto [unread, read] = co_await http::async_read_header(stream, buffer, parser, quietly);
    // A request cut short or late has nobody to answer to; one that cannot be understood has.
    const bool refused = unread.category() == http_errors && unread != http::error::end_of_stream &&
                         unread != http::error::partial_message;
    if (unread && !refused) break;
    Response response;
    if (unread) {
      response = http_reply(unread == http::error::header_limit ? http::status::request_header_fields_too_large
                            : unread == http::error::body_limit ? http::status::payload_too_large
                                                                : http::status::bad_request);
      keep = false;
    } else {
      const auto& request = parser.get();
      const std::string_view authorization = request[http::field::authorization];
      if (path_of(request.target()) != "/ping") {
        response = co_await answer(request.method(), request.target(), authorization);
      } else if (auto no = refuse_ping(request.method(), near, authorization)) {
        response = std::move(*no);
      } else {
        const auto [cut_short, more] = co_await http::async_read(stream, buffer, parser, quietly);
        if (cut_short && cut_short != http::error::body_limit) break;
        if (cut_short)
          response = http_reply(http::status::payload_too_large);
        else
          response = co_await ping(request.body());
      }
      keep = request.keep_alive() && parser.is_done();  // what is left of a body is never read: it ends there
      response.version(request.version());
    }
    response.keep_alive(keep);
    response.prepare_payload();
    if (!unread && parser.get().method() == http::verb::head) {
      const auto length = response.body().size();
      response.body().clear();
      response.content_length(length);
    }
    stream.expires_after(options_.timeout);
    const auto [unwritten, written] = co_await http::async_write(stream, response, quietly);
    if (unwritten) break;
  }
  boost::system::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace feedmill
