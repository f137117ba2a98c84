#include "worker/http/http_shared.hpp"

#include <string>
#include <utility>

#include <curl/curl.h>

#include "worker/egress/address_guard.hpp"

namespace feedmill {

using std::chrono::steady_clock;

HttpShared::HttpShared(boost::asio::any_io_executor executor, HttpClientOptions given, HttpEngine::Finished finished)
    : options(std::move(given)),
      networks(options.max_per_network),
      posts(options.max_posts_per_network),
      resumes(std::string_view(curl_version_info(CURLVERSION_NOW)->ssl_version).starts_with("OpenSSL")),
      own_until(steady_clock::now()),
      nat64_until(own_until),
      engine(std::move(executor), options.max_connections, options.keep_alive, std::move(finished)) {}

const EgressPolicy& HttpShared::egress() {
  const steady_clock::time_point now = steady_clock::now();
  if (now >= own_until) {
    if (const auto own = interface_addresses()) {
      options.egress.close_own(*own);
      own_until = now + own_addresses_age;
    }
  }
  return options.egress;
}

Refusal refusal_of(Egress verdict, std::string_view address, unsigned port) {
  if (verdict == Egress::blocked_port) {
    return {Reason::egress_port, "port " + std::to_string(port) + " is not open for requests"};
  }
  return {Reason::egress_blocked, std::string(address) + " is not a public address"};
}

}  // namespace feedmill
