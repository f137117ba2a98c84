#include "worker/http/dns_channel.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>

namespace feedmill {
namespace {

namespace asio = boost::asio;

void need_cares() {
  static const int once = ares_library_init(ARES_LIB_INIT_ALL);
  if (once != ARES_SUCCESS) throw std::runtime_error("c-ares cannot be initialised");
}

}  // namespace

DnsChannel::DnsChannel(const asio::any_io_executor& executor, const ResolverOptions& options)
    : watches_(executor,
               [this](int socket, Ready ready) {
                 process(ready.readable || ready.failed ? socket : ARES_SOCKET_BAD,
                         ready.writable ? socket : ARES_SOCKET_BAD);
               }),
      timer_(executor),
      alive_(std::make_shared<DnsChannel*>(this)) {
  need_cares();
  std::array<char, 3> lookups{'f', 'b', '\0'};  // the hosts file, then the name servers
  ares_options wanted{};
  wanted.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  wanted.timeout = static_cast<int>(options.timeout.count());
  wanted.tries = options.tries;
  wanted.lookups = lookups.data();
  wanted.sock_state_cb = &DnsChannel::on_socket;
  wanted.sock_state_cb_data = this;
  int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
  wanted.qcache_max_ttl = 0;  // the cache is ours
  mask |= ARES_OPT_QUERY_CACHE;
#endif
  int status = ares_init_options(&channel_, &wanted, mask);
  if (status != ARES_SUCCESS) throw std::runtime_error(std::string("resolver: ") + ares_strerror(status));
  if (!options.servers.empty()) status = ares_set_servers_ports_csv(channel_, options.servers.c_str());
  if (status != ARES_SUCCESS) {
    ares_destroy(channel_);
    throw std::runtime_error("resolver: not a list of name servers: " + options.servers);
  }
}

DnsChannel::~DnsChannel() {
  *alive_ = nullptr;
  ares_destroy(channel_);
}

void DnsChannel::ask(const char* host, ares_addrinfo_callback answered, void* argument) {
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT;  // sorting opens a socket for each address
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ++asked;
  ++outstanding;
  ares_getaddrinfo(channel_, host, nullptr, &hints, answered, argument);
  set_timer();
}

void DnsChannel::on_socket(void* data, ares_socket_t socket, int readable, int writable) {
  DnsChannel& channel = *static_cast<DnsChannel*>(data);
  if (readable == 0 && writable == 0) {
    channel.watches_.forget(socket);  // about to be closed
  } else {
    channel.watches_.watch(socket, readable != 0, writable != 0);
  }
}

void DnsChannel::process(ares_socket_t readable, ares_socket_t writable) {
  ares_process_fd(channel_, readable, writable);
  set_timer();
}

void DnsChannel::set_timer() {
  timeval storage{};
  const timeval* wait = ares_timeout(channel_, nullptr, &storage);
  if (wait == nullptr) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::chrono::seconds(wait->tv_sec) + std::chrono::microseconds(wait->tv_usec));
  timer_.async_wait([alive = alive_](boost::system::error_code error) {
    if (!error && *alive != nullptr) (*alive)->process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  });
}

}  // namespace feedmill
