#include "worker/admin/listener.hpp"

#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

void throw_exception_from_error(const ListenError& error, const boost::source_location&) {
  throw std::runtime_error(error.detail);
}

HttpReply http_reply(http::status status, std::string_view type, std::string body) {
  HttpReply answer(status, 11);
  answer.set(http::field::content_type, type);
  answer.set(http::field::cache_control, "no-store");
  answer.set("X-Content-Type-Options", "nosniff");
  answer.body() = std::move(body);
  return answer;
}

HttpReply http_reply(http::status status) {
  return http_reply(status, "text/plain; charset=utf-8", std::string(http::obsolete_reason(status)) + "\n");
}

boost::system::result<std::unique_ptr<Listener>, ListenError> Listener::open(const asio::any_io_executor& executor,
                                                                             const tcp::endpoint& endpoint,
                                                                             std::string_view how) {
  boost::system::error_code error;
  tcp::acceptor acceptor(executor);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    std::ostringstream text;
    text << "cannot listen on " << endpoint << ": " << error.message() << "; choose another address with " << how
         << ", port 0 for any free one, or off";
    return ListenError{text.str()};
  }
  return std::unique_ptr<Listener>(new Listener(std::move(acceptor)));
}

asio::awaitable<void> Listener::serve(std::size_t connections, std::size_t per_address, Conversation conversation) {
  // A fixed number of lanes, each with one connection at a time: that is the cap, and nothing is detached.
  const auto executor = co_await asio::this_coro::executor;
  using Operation = decltype(asio::co_spawn(executor, lane(per_address, conversation), asio::deferred));
  std::vector<Operation> lanes;
  for (std::size_t i = 0; i < connections; ++i)
    lanes.push_back(asio::co_spawn(executor, lane(per_address, conversation), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(lanes));
  co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

asio::awaitable<void> Listener::lane(std::size_t per_address, const Conversation& conversation) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors, or a connection that is gone already
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::use_awaitable);
      continue;
    }
    const auto peer = socket.remote_endpoint(error);
    if (error) continue;
    const asio::ip::address address = peer.address();
    if (clients_[address] >= per_address) continue;  // closes it
    ++clients_[address];
    co_await conversation(std::move(socket));
    if (--clients_[address] == 0) clients_.erase(address);
  }
}

}  // namespace feedmill
