#include "worker/http/dns_channel.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <array>
#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <utility>

#include <ares.h>

#include "parsers/text/strings.hpp"
#include "worker/egress/address_guard.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;

void need_cares() {
  static const int once = ares_library_init(ARES_LIB_INIT_ALL);
  if (once != ARES_SUCCESS) throw std::runtime_error("c-ares cannot be initialised");
}

std::string_view as_text(const unsigned char* message, int size) {
  return {reinterpret_cast<const char*>(message), static_cast<std::size_t>(size)};
}

}  // namespace

DnsChannel::DnsChannel(const asio::any_io_executor& executor, const ResolverOptions& options)
    : watches_(
          executor,
          [this](int socket, Ready ready) {
            process(ready.readable ? socket : ARES_SOCKET_BAD, ready.writable ? socket : ARES_SOCKET_BAD);
          },
          [this](const std::exception_ptr& error) {
            guard_.keep(error);
            settle();
          }),
      timer_(executor),
      alive_(std::make_shared<DnsChannel*>(this)) {
  need_cares();
  std::array<char, 2> lookups{'f', '\0'};  // the hosts file only: ask() queries name servers itself
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

/// A name and the answers for it so far.
struct DnsChannel::Question {
  DnsChannel& channel;
  std::string host;
  Answered answered;
  void* argument;
  unsigned outstanding = 0;
  std::array<int, 2> statuses{};
  HostAddresses v6{}, v4{};
  CGuard guard{};  ///< of the callbacks

  void end(int status) noexcept {
    const std::unique_ptr<Question> owned(this);
    if (guard && status != ARES_EDESTRUCTION) {
      channel.failure_ = guard;
      status = ARES_ECANCELLED;
    }
    answered(argument, status, std::move(v6), std::move(v4));
  }

  /// Takes one of the two answers; the last one deletes `this`.
  void take(HostAddresses& into, AddressFamily family, int status, std::string_view message) noexcept {
    if (status == ARES_SUCCESS) {
      status = guard.run(static_cast<int>(ARES_ECANCELLED), [&]() -> int {
        auto read = read_dns_answer(message, host, family);
        if (!read) return ARES_EBADRESP;
        into = std::move(*read);
        return into.addresses.empty() ? ARES_ENODATA : ARES_SUCCESS;
      });
    }
    statuses[--outstanding] = status;
    if (outstanding == 0) end(outcome());
  }

  /// Addresses of one family suffice, unless the other query was aborted: half an answer would be cached as a whole
  /// one. Otherwise "no such name" holds for both families, but "no data" in one says nothing about the other.
  int outcome() const {
    for (const int telling : {ARES_EDESTRUCTION, ARES_ECANCELLED, ARES_SUCCESS, ARES_ENOTFOUND}) {
      if (std::ranges::find(statuses, telling) != statuses.end()) return telling;
    }
    return statuses[0] == ARES_ENODATA ? statuses[1] : statuses[0];
  }
};

void DnsChannel::ask(const std::string& host, Answered answered, void* argument) noexcept {
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT;  // sorting would open a socket for each address
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ++asked;
  ++outstanding;
  CGuard guard;
  Question* const question = guard.run(static_cast<Question*>(nullptr), [&] {
    return std::make_unique<Question>(Question{*this, host, answered, argument}).release();
  });
  if (guard) {
    failure_ = guard;
    answered(argument, ARES_ECANCELLED, {}, {});
    return;
  }
  ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, &DnsChannel::on_hosts_file, question);
  settle();
}

/// If the hosts file has no entry, queries the name servers with ares_query(), because newer versions of
/// ares_getaddrinfo() also accept addresses of other names.
void DnsChannel::on_hosts_file(void* data, int status, int, ares_addrinfo* info) {
  const std::unique_ptr<ares_addrinfo, void (*)(ares_addrinfo*)> owned(info, ares_freeaddrinfo);
  Question& question = *static_cast<Question*>(data);
  if (status != ARES_SUCCESS && status != ARES_EDESTRUCTION) {
    const ares_channel channel = question.channel.channel_;
    const std::string host = question.guard.run(std::string(), [&] { return question.host; });
    if (question.guard) {
      question.end(status);
      return;
    }
    question.outstanding = 2;  // may be deleted after the second
    ares_query(channel, host.c_str(), ns_c_in, ns_t_aaaa, &DnsChannel::on_v6, &question);
    ares_query(channel, host.c_str(), ns_c_in, ns_t_a, &DnsChannel::on_v4, &question);
    return;
  }
  question.guard.run([&] {
    for (const ares_addrinfo_node* node = info == nullptr ? nullptr : info->nodes; node != nullptr;
         node = node->ai_next) {
      const bool is_v6 = node->ai_family == AF_INET6;
      (is_v6 ? question.v6 : question.v4).addresses.push_back(text_of(node->ai_addr));
    }
  });
  question.end(status);
}

void DnsChannel::on_v6(void* data, int status, int, unsigned char* message, int size) {
  Question& question = *static_cast<Question*>(data);
  question.take(question.v6, AddressFamily::v6, status, as_text(message, size));
}

void DnsChannel::on_v4(void* data, int status, int, unsigned char* message, int size) {
  Question& question = *static_cast<Question*>(data);
  question.take(question.v4, AddressFamily::v4, status, as_text(message, size));
}

void DnsChannel::on_socket(void* data, ares_socket_t socket, int readable, int writable) {
  DnsChannel& channel = *static_cast<DnsChannel*>(data);
  if (readable == 0 && writable == 0) {
    channel.watches_.forget(socket);  // about to be closed
    return;
  }
  channel.guard_.run([&] { channel.watches_.watch(socket, readable != 0, writable != 0); });
}

void DnsChannel::process(ares_socket_t readable, ares_socket_t writable) noexcept {
  ares_process_fd(channel_, readable, writable);
  settle();
}

/// Runs after c-ares returns. If setting the timer or a watch failed, queries would never finish, so cancels them.
void DnsChannel::settle() noexcept {
  guard_.run([&] { set_timer(); });
  if (!guard_) return;
  failure_ = std::exchange(guard_, CGuard());
  ares_cancel(channel_);
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

namespace {

constexpr std::size_t header_bytes = 12, most_records = 256;
constexpr int most_aliases = 16;
constexpr std::uint16_t type_a = 1, type_cname = 5, type_aaaa = 28, class_in = 1;

/// Reads a message from its start; reading past its end fails it permanently.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : message_(message) {}

  bool failed() const { return failed_; }
  std::size_t position() const { return at_; }

  std::uint16_t number() {
    const std::string_view two = bytes(2);
    if (failed_) return 0;
    return static_cast<std::uint16_t>(static_cast<unsigned char>(two[0]) << 8 | static_cast<unsigned char>(two[1]));
  }
  std::string_view bytes(std::size_t count) {
    failed_ = failed_ || count > message_.size() - at_;
    if (failed_) return "";
    const std::string_view read = message_.substr(at_, count);
    at_ += count;
    return read;
  }
  /// A name in lower case without a trailing dot. c-ares follows its compression pointers.
  std::string name() {
    if (failed_ || at_ >= message_.size()) failed_ = true;
    if (failed_) return "";
    const auto* const whole = reinterpret_cast<const unsigned char*>(message_.data());
    char* text = nullptr;
    long length = 0;
    const int status = ares_expand_name(whole + at_, whole, static_cast<int>(message_.size()), &text, &length);
    failed_ = status != ARES_SUCCESS;
    if (failed_) return "";
    const std::unique_ptr<char, void (*)(void*)> owned(text, &ares_free_string);
    at_ += static_cast<std::size_t>(length);
    return lower(text);
  }

 private:
  std::string_view message_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

struct Record {
  std::string owner;
  bool is_alias = false;
  std::string value{};  ///< an address, or the name that `owner` is an alias of
  std::chrono::seconds ttl{};
};

/// RFC 2181 §8: a number above 2³¹ - 1 counts as 0.
std::chrono::seconds ttl_of(std::uint32_t value) {
  return std::chrono::seconds(value > 0x7fffffffu ? 0 : value);
}

/// Ignores bytes beyond an address's length, as c-ares does. "" if there are too few.
std::string address_text(std::string_view data, AddressFamily family) {
  const bool is_v6 = family == AddressFamily::v6;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (data.size() < (is_v6 ? sizeof(in6_addr) : sizeof(in_addr))) return "";
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, data.data(), text.data(), text.size());
  return text.data();
}

/// Aliases and addresses of `family`; empty if the message is malformed.
std::optional<std::vector<Record>> read_event_records(std::string_view message, AddressFamily family) {
  const std::uint16_t type_wanted = family == AddressFamily::v6 ? type_aaaa : type_a;
  MessageReader reader(message);
  reader.bytes(4);
  const std::size_t questions = reader.number(), answers = reader.number();
  reader.bytes(4);
  for (std::size_t i = 0; i < questions && !reader.failed(); ++i) {
    reader.name();
    reader.bytes(4);
  }
  std::vector<Record> records;
  for (std::size_t i = 0; i < std::min(answers, most_records) && !reader.failed(); ++i) {
    Record record{.owner = reader.name()};
    const std::uint16_t type = reader.number(), internet = reader.number();
    const std::uint32_t ttl_high = reader.number(), ttl_low = reader.number();
    record.ttl = ttl_of(ttl_high << 16 | ttl_low);
    const std::size_t length = reader.number(), begin = reader.position();
    const std::string_view data = reader.bytes(length);
    if (reader.failed() || internet != class_in) continue;
    record.is_alias = type == type_cname;
    if (record.is_alias) {
      MessageReader alias(message.substr(0, begin + length));
      alias.bytes(begin);
      record.value = alias.name();
    } else if (type == type_wanted) {
      record.value = address_text(data, family);
    } else {
      continue;
    }
    if (record.value.empty()) return std::nullopt;
    records.push_back(std::move(record));
  }
  if (reader.failed()) return std::nullopt;
  return records;
}

}  // namespace

std::optional<HostAddresses> read_dns_answer(std::string_view message, std::string_view host, AddressFamily family) {
  if (message.size() < header_bytes) return std::nullopt;
  const auto records = read_event_records(message, family);
  if (!records) return std::nullopt;
  std::string name = lower(host);
  if (name.ends_with('.')) name.pop_back();
  HostAddresses found{.ttl = std::chrono::seconds::max()};
  for (int aliases = 0; aliases <= most_aliases; ++aliases) {
    const Record* alias = nullptr;
    for (const Record& record : *records) {
      if (record.owner != name) continue;
      if (record.is_alias) {
        alias = &record;
        continue;
      }
      found.addresses.push_back(record.value);
      found.ttl = std::min(found.ttl, record.ttl);
    }
    if (!found.addresses.empty() || alias == nullptr) break;
    found.ttl = std::min(found.ttl, alias->ttl);
    name = alias->value;
  }
  return found;
}

}  // namespace feedmill
