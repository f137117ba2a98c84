#include "tests/support/dns_server.hpp"

#include <cstddef>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill::test {
namespace {

namespace asio = boost::asio;
using asio::ip::udp;

constexpr std::uint16_t type_a = 1, type_cname = 5, type_aaaa = 28;
constexpr std::size_t header_bytes = 12;

void put16(std::string& message, std::size_t value) {
  message += static_cast<char>(value >> 8 & 0xff);
  message += static_cast<char>(value & 0xff);
}

void put32(std::string& message, std::uint32_t value) {
  put16(message, value >> 16);
  put16(message, value & 0xffff);
}

std::string encoded(const std::string& name) {
  std::string result;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    result += static_cast<char>(end - begin);
    result.append(name, begin, end - begin);
    begin = end + 1;
  }
  return result + '\0';
}

}  // namespace

DnsServer::DnsServer(const std::string& address, std::uint16_t port)
    : socket_(context_, udp::endpoint(asio::ip::make_address(address), port)) {
  socket_.set_option(asio::socket_base::receive_buffer_size(1 << 20));  // for bursts of queries
  asio::co_spawn(context_, receive(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

DnsServer::~DnsServer() {
  context_.stop();
  thread_.join();
}

std::string DnsServer::address() const {
  return "127.0.0.1:" + std::to_string(socket_.local_endpoint().port());
}

void DnsServer::serve(const std::string& name, DnsAnswer answer) {
  serve(name, [answer = std::move(answer)](const std::string&) { return answer; });
}

void DnsServer::serve(const std::string& name, Handler handler) {
  const std::lock_guard lock(mutex_);
  handlers_[name] = std::move(handler);
}

void DnsServer::serve_rest(Handler handler) {
  const std::lock_guard lock(mutex_);
  rest_ = std::move(handler);
}

std::size_t DnsServer::count(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

std::set<std::uint16_t> DnsServer::source_ports() const {
  const std::lock_guard lock(mutex_);
  return ports_;
}

asio::awaitable<void> DnsServer::receive() {
  std::string buffer(4096, '\0');
  for (;;) {
    udp::endpoint from;
    auto [error, size] =
        co_await socket_.async_receive_from(asio::buffer(buffer), from, asio::as_tuple(asio::use_awaitable));
    if (error) continue;
    {
      const std::lock_guard lock(mutex_);
      ports_.insert(from.port());
    }
    const std::string answer = respond(buffer.substr(0, size));
    if (answer.empty()) continue;
    boost::system::error_code ignored;
    socket_.send_to(asio::buffer(answer), from, 0, ignored);
  }
}

/// The reply to a query; "" to send none.
std::string DnsServer::respond(const std::string& query) {
  std::string name;
  std::size_t at = header_bytes;
  while (at < query.size() && query[at] != '\0') {
    const auto length = static_cast<unsigned char>(query[at]);
    if (!name.empty()) name += '.';
    name += query.substr(at + 1, length);
    at += length + 1u;
  }
  if (at + 5 > query.size()) return "";
  const auto type = static_cast<std::uint16_t>(static_cast<unsigned char>(query[at + 1]) << 8 |
                                               static_cast<unsigned char>(query[at + 2]));
  const std::string question = query.substr(header_bytes, at + 5 - header_bytes);

  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    ++counts_[name];
    const auto found = handlers_.find(name);
    handler = found != handlers_.end() ? found->second : rest_;
  }
  const DnsAnswer answer = handler ? handler(name) : DnsAnswer{.rcode = 3};
  if (answer.silent) return "";
  if (!answer.raw.empty()) return query.substr(0, 2) + answer.raw;

  std::string records;
  std::size_t count = 0;
  const auto record = [&](const std::string& owner, std::uint16_t record_type, const std::string& data) {
    records += owner;
    put16(records, record_type);
    put16(records, 1);
    put32(records, answer.ttl);
    put16(records, data.size());
    records += data;
    ++count;
  };
  const std::string asked_name("\xc0\x0c", 2);
  if (!answer.cname.empty()) record(asked_name, type_cname, encoded(answer.cname));
  for (const std::string& text : answer.addresses) {
    const asio::ip::address address = asio::ip::make_address(text);
    if (address.is_v6() != (type == type_aaaa) || (type != type_a && type != type_aaaa)) continue;
    std::string data;
    if (address.is_v6()) {
      for (const unsigned char byte : address.to_v6().to_bytes()) data += static_cast<char>(byte);
    } else {
      for (const unsigned char byte : address.to_v4().to_bytes()) data += static_cast<char>(byte);
    }
    record(answer.cname.empty() ? asked_name : encoded(answer.cname), type, data);
  }

  std::string message = query.substr(0, 2);
  put16(message, 0x8180u | answer.rcode);  // response; recursion desired and available
  put16(message, 1);
  put16(message, count);
  put16(message, 0);
  put16(message, 0);
  return message + question + records;
}

}  // namespace feedmill::test
