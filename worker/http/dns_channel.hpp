// c-ares on an Asio event loop: its sockets and its timer. What is asked, and what an answer means, is resolver.hpp's.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <ares.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/descriptor_watch.hpp"
#include "worker/http/c_guard.hpp"
#include "worker/http/dns_answer.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

/// One c-ares channel with what it needs of the loop. Replaced now and then: a channel keeps its source port and its
/// view of the system's configuration (HTTP D7, D8).
class DnsChannel {
 public:
  DnsChannel(const boost::asio::any_io_executor& executor, const ResolverOptions& options);
  ~DnsChannel();
  DnsChannel(const DnsChannel&) = delete;
  DnsChannel& operator=(const DnsChannel&) = delete;

  /// Told once of each question, with the ARES_ status it ended with: there are addresses when it is ARES_SUCCESS. Must
  /// not throw.
  using Answered = void (*)(void* argument, int status, HostAddresses v6, HostAddresses v4);

  /// `answered` may be called before this returns. The hosts file comes first, then the name servers. Where memory runs
  /// out, the answer is ARES_ECANCELLED, perhaps for all that is asked for on this channel, and failure() says why.
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
  std::shared_ptr<DnsChannel*> alive_;  ///< what timer callbacks hold; null inside once we are gone
  CGuard guard_;                        ///< of the callbacks that c-ares is in, and of the timer
  CGuard failure_;                      ///< what they came to the last time
  ares_channel channel_ = nullptr;
};

}  // namespace feedmill
