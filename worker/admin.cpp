#include "worker/admin.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "worker/bearer.hpp"
#include "worker/query.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using tcp = asio::ip::tcp;

constexpr std::uint32_t longest_header = 8 << 10;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable);

Admin::Response make_response(http::status status, std::string_view type, std::string body) {
  Admin::Response response(status, 11);
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  if (type.starts_with("text/html")) {  // SECURITY O4
    response.set("Content-Security-Policy",
                 "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'");
    response.set("Referrer-Policy", "no-referrer");
  }
  response.body() = std::move(body);
  return response;
}

Admin::Response plain(http::status status) {
  return make_response(status, "text/plain; charset=utf-8", std::string(http::obsolete_reason(status)) + "\n");
}

bool all_passed(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, &Check::passed);
}

bool is_probe(std::string_view path) {
  return path == "/livez" || path == "/readyz" || path == "/startupz";
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
  return make_response(passed ? http::status::ok : http::status::service_unavailable, "application/json",
                       json::serialize(body) + "\n");
}

}  // namespace

void throw_exception_from_error(const AdminError& error, const boost::source_location&) {
  throw std::runtime_error(error.detail);
}

boost::system::result<std::unique_ptr<Admin>, AdminError> Admin::open(const asio::any_io_executor& executor,
                                                                      const Options& options, Health health,
                                                                      AdminPages pages) {
  boost::system::error_code error;
  tcp::acceptor acceptor(executor);
  acceptor.open(options.listen.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(options.listen, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    std::ostringstream text;
    text << "cannot listen on " << options.listen << ": " << error.message()
         << "; choose another address with --listen (admin.listen), port 0 for any free one, or off";
    return AdminError{text.str()};
  }
  return std::unique_ptr<Admin>(new Admin(std::move(acceptor), options, std::move(health), std::move(pages)));
}

asio::awaitable<Admin::Response> Admin::answer(http::verb method, std::string_view target,
                                               std::string_view authorization) {
  const auto question = std::min(target.find('?'), target.size());
  const std::string path = percent_decoded(target.substr(0, question)).value_or("");
  std::string query(target.substr(std::min(question + 1, target.size())));
  const bool is_page = std::ranges::find(pages_.paths, path) != pages_.paths.end();
  if (!is_page && !is_probe(path) && path != "/metrics") co_return plain(http::status::not_found);
  if (method != http::verb::get && method != http::verb::head) {
    Response refused = plain(http::status::method_not_allowed);
    refused.set(http::field::allow, "GET, HEAD");
    co_return refused;
  }
  if (is_probe(path)) co_return probe(path, parameter(query, "verbose").has_value());
  if (!options_.token.empty() && !shows_token(authorization, options_.token)) {
    Response refused = plain(http::status::unauthorized);
    refused.set(http::field::www_authenticate, "Bearer realm=\"feedmill\", Basic realm=\"feedmill\"");
    co_return refused;
  }
  if (path == "/metrics")
    co_return make_response(http::status::ok, "text/plain; version=0.0.4; charset=utf-8", health_.metrics());
  AdminPage page = co_await pages_.answer(path, std::move(query));
  co_return make_response(http::int_to_status(page.status), page.type, std::move(page.body));
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

asio::awaitable<void> Admin::serve() {
  // A fixed number of lanes, each with one connection at a time: that is the cap, and nothing is detached.
  const auto executor = co_await asio::this_coro::executor;
  using Operation = decltype(asio::co_spawn(executor, lane(), asio::deferred));
  std::vector<Operation> lanes;
  for (std::size_t i = 0; i < options_.connections; ++i)
    lanes.push_back(asio::co_spawn(executor, lane(), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(lanes));
  co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

asio::awaitable<void> Admin::lane() {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(quietly);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors, or a connection that is gone already
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::use_awaitable);
      continue;
    }
    co_await converse(std::move(socket));
  }
}

asio::awaitable<void> Admin::converse(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  const auto& http_errors = boost::system::error_code(http::error::bad_method).category();
  for (bool keep = true; keep;) {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(longest_header);
    stream.expires_after(options_.timeout);
    const auto [unread, read] = co_await http::async_read_header(stream, buffer, parser, quietly);
    // A request cut short or late has nobody to answer to; one that cannot be understood has.
    const bool refused = unread.category() == http_errors && unread != http::error::end_of_stream &&
                         unread != http::error::partial_message;
    if (unread && !refused) break;
    Response response;
    if (unread) {
      response = plain(unread == http::error::header_limit ? http::status::request_header_fields_too_large
                                                           : http::status::bad_request);
      keep = false;
    } else {
      const auto& request = parser.get();
      response = co_await answer(request.method(), request.target(), request[http::field::authorization]);
      keep = request.keep_alive() && parser.is_done();  // a body is never read: the connection ends there
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
