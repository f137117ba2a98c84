// Runs c-ares on an Asio event loop: its sockets and its timer. resolver.hpp has the interface for lookups.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ares.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/descriptor_watch.hpp"
#include "worker/http/c_guard.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

// Parses a name server's answer (RFC 1035 §4).

enum class AddressFamily { v4, v6 };

/// Addresses of one family.
struct HostAddresses {
  std::vector<std::string> addresses{};  ///< in the answer's order
  std::chrono::seconds ttl{};            ///< minimum along the alias chain
};

/// Addresses of `host` in `message`: follows aliases (CNAME), at most 16, and takes only addresses of the resulting
/// name (SECURITY T4). c-ares checks that `message` answers a question for `host`, but newer versions accept addresses
/// of any name. Without addresses the result has an empty list; a malformed message gives an empty optional. Reads the
/// first 256 records.
std::optional<HostAddresses> read_dns_answer(std::string_view message, std::string_view host, AddressFamily family);

/// One c-ares channel and its loop resources. Replaced regularly, because a channel keeps its source port and its view
/// of the system's configuration (HTTP D1).
class DnsChannel {
 public:
  DnsChannel(const boost::asio::any_io_executor& executor, const ResolverOptions& options);
  ~DnsChannel();
  DnsChannel(const DnsChannel&) = delete;
  DnsChannel& operator=(const DnsChannel&) = delete;

  /// Called once per question with its final ARES_ status; the addresses are set if it is ARES_SUCCESS. Must not throw.
  using Answered = void (*)(void* argument, int status, HostAddresses v6, HostAddresses v4);

  /// Looks up `host` in the hosts file, then asks the name servers. May call `answered` before it returns. If memory
  /// runs out, the status is ARES_ECANCELLED, possibly for all questions of this channel; failure() has the reason.
  void ask(const std::string& host, Answered answered, void* argument) noexcept;

  const CGuard& failure() const { return failure_; }

  unsigned asked = 0;
  unsigned outstanding = 0;
  const std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();

 private:
  struct Question;
  static void on_hosts_file(void* question, int status, int timeouts, ares_addrinfo* info);
  static void on_v6(void* question, int status, int timeouts, unsigned char* message, int size);
  static void on_v4(void* question, int status, int timeouts, unsigned char* message, int size);
  static void on_socket(void* channel, ares_socket_t socket, int readable, int writable);
  void process(ares_socket_t readable, ares_socket_t writable) noexcept;
  void set_timer();
  void settle() noexcept;

  DescriptorWatches watches_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<DnsChannel*> alive_;  ///< shared with timer callbacks; set to null on destruction
  CGuard guard_;                        ///< of the current c-ares callbacks, and of the timer
  CGuard failure_;                      ///< the most recent failure
  ares_channel channel_ = nullptr;
};

}  // namespace feedmill
