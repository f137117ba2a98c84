#include "worker/listener/listener.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
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

namespace {

void tell(const Listener::Host& host, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    host.bug(error.what());
  } catch (...) {
    host.bug("a foreign exception");
  }
}

}  // namespace

struct Listener::Service {
  Places places;
  RequestLimits limits;
  Host host;
};

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
         << ", port 0 for any free port, or off";
    return ListenError{text.str(), error == boost::asio::error::address_in_use};
  }
  return std::unique_ptr<Listener>(new Listener(std::move(acceptor)));
}

asio::awaitable<void> Listener::serve(Places places, RequestLimits limits, Host host) {
  const Service service{places, limits, std::move(host)};
  // A fixed number of lanes, each with one connection at a time: nothing is detached. The additional one accepts the
  // connection that another must make room for.
  const auto executor = co_await asio::this_coro::executor;
  using Operation = decltype(asio::co_spawn(executor, lane(service), asio::deferred));
  std::vector<Operation> lanes;
  for (std::size_t i = 0; i <= places.connections; ++i)
    lanes.push_back(asio::co_spawn(executor, lane(service), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(lanes));
  co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

asio::awaitable<void> Listener::lane(const Service& service) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors, or the connection is already closed
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::use_awaitable);
      continue;
    }
    std::exception_ptr thrown;
    try {
      co_await receive(std::move(socket), service);
    } catch (...) {  // an exception of one connection must not end the lane
      thrown = std::current_exception();
    }
    if (!thrown) continue;
    const auto cancelled = (co_await asio::this_coro::cancellation_state).cancelled();
    if (cancelled != asio::cancellation_type::none) std::rethrow_exception(thrown);
    tell(service.host, thrown);
  }
}

asio::awaitable<void> Listener::receive(tcp::socket socket, const Service& service) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) co_return;
  Connection connection(std::move(socket), peer.address(), service.limits);
  struct Place {
    std::list<Connection*>& all;
    std::list<Connection*>::iterator at;
    ~Place() { all.erase(at); }
  };
  const Place place{connections_, connections_.insert(connections_.end(), &connection)};
  asio::steady_timer nap(co_await asio::this_coro::executor);
  for (;;) {
    const Room room = make_room(connection, service.places);
    if (room == Room::made) break;
    if (room == Room::none_for_its_network) co_return;
    nap.expires_after(std::chrono::milliseconds(10));  // all connections are being answered; one will be free soon
    co_await nap.async_wait(asio::use_awaitable);
  }
  co_await converse(connection, service);
}

asio::awaitable<void> Listener::converse(Connection& connection, const Service& service) {
  for (std::size_t request = 1;; ++request) {
    Visit visit(connection);
    const auto objection = co_await visit.read_head();
    if (visit.gone()) co_return;
    HttpReply reply;
    if (objection) {
      reply = http_reply(*objection);
      if (service.host.refused) service.host.refused();
    } else {
      reply = co_await service.host.answer(visit);
      if (visit.gone()) co_return;
      if (visit.answered()) break;
    }
    // After an error the rest of the body is not read, so the connection closes.
    const bool stay = reply.result_int() < 400 && visit.may_stay() && request < service.limits.requests;
    const bool sent = co_await visit.send(std::move(reply), stay);
    if (!sent) co_return;
    if (!stay) break;
  }
  co_await connection.part();
}

Listener::Room Listener::make_room(const Connection& newcomer, const Places& places) {
  std::map<asio::ip::address, std::size_t> of_network;
  std::size_t all = 0;
  for (const Connection* one : connections_) {
    if (one->dropped()) continue;
    ++of_network[one->network()];
    ++all;
  }
  // If one network may take every slot, only the total limit applies.
  const bool crowded = places.per_network < places.connections && of_network[newcomer.network()] > places.per_network;
  if (!crowded && all <= places.connections) return Room::made;
  const auto may_go = [&](const Connection& one) {
    return &one != &newcomer && !one.dropped() && one.waiting_since() &&
           (!crowded || one.network() == newcomer.network());
  };
  const auto goes_before = [&](const Connection& one, const Connection& other) {
    const std::size_t mine = of_network[one.network()], theirs = of_network[other.network()];
    return mine != theirs ? mine > theirs : *one.waiting_since() < *other.waiting_since();
  };
  Connection* goes = nullptr;
  for (Connection* one : connections_) {
    if (may_go(*one) && (goes == nullptr || goes_before(*one, *goes))) goes = one;
  }
  if (goes == nullptr) return crowded ? Room::none_for_its_network : Room::none;
  goes->drop();
  return Room::made;
}

}  // namespace feedmill
