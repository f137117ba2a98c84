#include "worker/egress/proxy.hpp"

#include <algorithm>

#include "worker/egress/web_url.hpp"

namespace feedmill {

boost::system::result<Proxy, std::string> read_proxy(std::string_view text) {
  const auto refused = [] {
    return boost::system::result<Proxy, std::string>(boost::system::in_place_error,
                                                     "write a proxy as http://host:port");
  };
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return refused();
  std::string_view rest = text.substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto at = rest.rfind('@');
  const std::string_view credentials = at == std::string_view::npos ? std::string_view() : rest.substr(0, at + 1);
  const std::string_view authority = rest.substr(credentials.size());
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != '?' && c != '#'; };
  const auto colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && colon + 1 < authority.size() &&
                        authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (!has_port || !std::ranges::all_of(rest, plain)) return refused();
  const auto address = canonical_feed_url(std::string(scheme) + std::string(authority) + "/");
  if (!address) return refused();
  const Origin origin = origin_of(*address);
  if (origin.port == 0) return refused();
  Proxy proxy;
  proxy.host = origin.host;
  proxy.port = origin.port;
  proxy.url = std::string(scheme).append(credentials).append(origin.host).append(":") + std::to_string(origin.port);
  return proxy;
}

}  // namespace feedmill
