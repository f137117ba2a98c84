// Memory runs out while libcurl, c-ares and OpenSSL are in our callbacks: no exception passes through their frames, the
// fetch ends with a reason, and the next one works (SECURITY T37).
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/ssl.h>

#include "tests/support/certificates.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/http_server.hpp"
#include "worker/http/fetch.hpp"

namespace {

/// Allocations of this thread; the servers' threads are not affected.
struct Allocations {
  long until_failure = 0;  ///< 0: none
  bool failed = false;
  long made = 0, live = 0;
  long live_bytes = 0, most_bytes = 0;
  void* stack[64]{};
  int depth = 0;  ///< of the stack at the failure
};
thread_local Allocations allocations;

/// Counts an allocation; true if it is the one to fail.
bool is_refused() {
  Allocations& here = allocations;
  ++here.made;
  if (here.until_failure == 0 || --here.until_failure > 0) return false;
  here.failed = true;
  here.depth = backtrace(here.stack, 64);
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
  if (is_refused()) return nullptr;
  Allocations& here = allocations;
  void* const memory = alignment <= alignof(std::max_align_t) ? std::malloc(size) : memalign(alignment, size);
  if (memory == nullptr) return nullptr;
  ++here.live;
  here.live_bytes += static_cast<long>(malloc_usable_size(memory));
  here.most_bytes = std::max(here.most_bytes, here.live_bytes);
  return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  --allocations.live;
  allocations.live_bytes -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate_or_throw(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1);
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give_back(memory);
}
// Asio allocates its operations here and releases them with free(): simulates failures, but tracks no live memory.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (is_refused()) return nullptr;
  return memalign(alignment, size);
}

namespace feedmill::out_of_memory_test {
namespace {

namespace asio = boost::asio;
using test::Response;

struct Callback {
  const char* name;
  const char* mangled;
  unsigned failures = 0;  ///< failed allocations within its frames
};
Callback callbacks[] = {
    {"HttpTransfer::on_header", "12HttpTransfer9on_header"},
    {"HttpTransfer::on_body", "12HttpTransfer7on_body"},
    {"HttpTransfer::on_open", "12HttpTransfer7on_open"},
    {"HttpTransfer::on_tls", "12HttpTransfer6on_tls"},
    {"HttpEngine::watch_socket", "10HttpEngine12watch_socket"},
    {"HttpEngine::set_timer", "10HttpEngine9set_timer"},
    {"DnsChannel::on_socket", "10DnsChannel9on_socket"},
    {"DnsChannel::on_hosts_file", "10DnsChannel13on_hosts_file"},
    {"DnsChannel::on_v6", "10DnsChannel5on_v6"},
    {"DnsChannel::on_v4", "10DnsChannel5on_v4"},
    {"Resolver::on_answer", "8Resolver9on_answer"},
    {"TlsSessions::on_new_session", "11TlsSessions5Hooks14on_new_session"},
    {"TlsSessions::on_progress", "11TlsSessions5Hooks11on_progress"},
};

void count_callbacks_on_stack() {
  for (int i = 0; i < allocations.depth; ++i) {
    Dl_info symbol{};
    if (dladdr(allocations.stack[i], &symbol) == 0 || symbol.dli_sname == nullptr) continue;
    for (Callback& callback : callbacks) {
      if (std::strstr(symbol.dli_sname, callback.mangled) != nullptr) ++callback.failures;
    }
  }
}

struct Ending {
  std::optional<FetchResult> result;
  std::exception_ptr thrown;
  bool escaped = false;  ///< bad_alloc left the loop: Asio had no memory to wait with
};

class OutOfMemory : public testing::Test {
 protected:
  OutOfMemory()
      : server(authority.issue(wish)),
        old_server(authority.issue(wish), [](SSL_CTX* tls) { SSL_CTX_set_max_proto_version(tls, TLS1_2_VERSION); }) {
    void* warm_up[4];
    backtrace(warm_up, 4);
    names.serve_rest([](const std::string&) {
      return test::DnsAnswer{.addresses = {"127.0.0.1", "fd00:1:2:3:4:5:6:7"}};
    });
    const Response feed{.headers = {{"ETag", std::string(100, 'e')}}, .body = body, .end = Response::End::close};
    server.serve("/from", Response{.status = 302,
                                   .headers = {{"Location", server.url("b.example", "/feed")}, {"Set-Cookie", "a=1"}},
                                   .end = Response::End::close});
    server.serve("/feed", feed);
    old_server.serve("/feed", feed);
  }

  FetchOptions options() {
    FetchOptions wanted;
    wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
    wanted.resolver.servers = names.address();
    wanted.ca_bundle = authority.file();
    return wanted;
  }

  /// Fetches `url`; allocation number `failing` fails (0: none).
  Ending fetch(asio::io_context& context, Fetcher& by, const std::string& url, long failing) {
    Ending ending;
    bool ended = false;
    asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                   [&](const std::exception_ptr& thrown, FetchResult result) {
                     allocations.until_failure = 0;
                     ended = true;
                     ending.thrown = thrown;
                     if (!thrown) ending.result = std::move(result);
                   });
    context.restart();
    allocations.failed = false;
    allocations.until_failure = failing;
    while (!ended) {
      try {
        if (context.run_one() == 0) break;
      } catch (const std::bad_alloc&) {
        ending.escaped = true;
      }
    }
    allocations.until_failure = 0;
    return ending;
  }

  /// Repeats a fetch until each of its allocations has failed in turn. `before`: number of successful fetches before
  /// it.
  void sweep(const std::string& url, unsigned before = 0) {
    unsigned errors = 0, answers = 0, escaped = 0;
    long number = 0, live_before = 0;
    do {
      if (++number == 2) live_before = allocations.live;
      asio::io_context context;
      Fetcher by(context.get_executor(), options());
      for (unsigned i = 0; i < before; ++i) fetch(context, by, url, 0);
      const Ending ending = fetch(context, by, url, number);
      const bool failed = allocations.failed;
      if (failed) count_callbacks_on_stack();
      EXPECT_FALSE(ending.thrown) << "allocation " << number;
      if (ending.escaped) {
        ++escaped;
      } else if (ending.result) {
        const auto* error = std::get_if<FetchError>(&*ending.result);
        ++(error != nullptr ? errors : answers);
        if (error != nullptr) {
          EXPECT_EQ(error->reason, Reason::worker_memory) << number << ": " << error->detail;
        }
      } else {
        ADD_FAILURE() << "no end of it, allocation " << number;
      }
      const Ending next = fetch(context, by, url, 0);
      ASSERT_TRUE(next.result) << "after allocation " << number;
      const auto* answer = std::get_if<FetchResponse>(&*next.result);
      ASSERT_NE(answer, nullptr) << "after allocation " << number << ": " << std::get<FetchError>(*next.result).detail;
      EXPECT_EQ(answer->body.size(), body.size());
      allocations.failed = failed;
    } while (allocations.failed);
    EXPECT_LE(allocations.live, live_before + 8) << "leaks";
    std::printf("%ld allocations: %u errors, %u answers, %u escaped; live at first %ld, at last %ld\n", number - 1,
                errors, answers, escaped, live_before, allocations.live);
  }

  const test::CertificateWish wish{.names = {"DNS:long-name.a.example", "DNS:b.example", "IP:127.0.0.1"}};
  test::Authority authority;
  test::DnsServer names;
  const std::string body = std::string(40'000, 'x');
  test::HttpServer server, old_server;
};

TEST_F(OutOfMemory, EndsTheFetchAndNothingElse) {
  sweep(server.url("long-name.a.example", "/from"));
  sweep(server.url("/feed"));                                // no look-up, no redirect
  sweep(old_server.url("long-name.a.example", "/feed"), 1);  // resumes a session of TLS 1.2
  for (const Callback& callback : callbacks) {
    std::printf("%-28s failed %u times\n", callback.name, callback.failures);
    EXPECT_GT(callback.failures, 0U) << callback.name;
  }
}

}  // namespace
}  // namespace feedmill::out_of_memory_test
