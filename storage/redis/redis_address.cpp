#include "storage/redis/redis_address.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/redis/redis_tls.hpp"

namespace feedmill {
namespace {

/// An address, or the error in the URL.
using ReadAddress = boost::system::result<RedisAddress, std::string>;

ReadAddress bad_url(std::string_view what) {
  return ReadAddress(boost::system::in_place_error, what);
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* first = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(first, first + 2, value, 16).ptr != first + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

/// Takes "user:password@" off the front of `rest`, which ends before any path; returns the error, "" if none.
std::string_view read_login(std::string_view& rest, RedisAddress& address) {
  const auto at = rest.rfind('@');
  if (at == std::string_view::npos) return {};
  const std::string_view login = rest.substr(0, at);
  const auto colon = login.find(':');
  const auto user = percent_decoded(login.substr(0, colon));
  const auto password = percent_decoded(colon == std::string_view::npos ? std::string_view() : login.substr(colon + 1));
  if (!user || !password) return "bad %-escape in user or password";
  address.user = *user;
  address.password = *password;
  rest = rest.substr(at + 1);
  return {};
}

ReadAddress parse_unix(std::string_view rest) {
  RedisAddress address;
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const auto slash = std::min(rest.find('/'), rest.size());
    std::string_view login = rest.substr(0, slash);
    if (const auto wrong = read_login(login, address); !wrong.empty()) return bad_url(wrong);
    rest = login.empty() ? rest.substr(slash) : rest;
  }
  if (const auto query = rest.find('?'); query != std::string_view::npos) {
    const std::string_view db = rest.substr(query + 1);
    if (!db.starts_with("db=") || !read_number(db.substr(3), address.database)) {
      return bad_url("after '?' only db=N is understood");
    }
    rest = rest.substr(0, query);
  }
  if (!rest.starts_with('/')) return bad_url("a unix socket needs an absolute path, as in unix:///run/redis.sock");
  address.socket = rest;
  return address;
}

/// Parses "host[:port]"; returns the error, "" if none.
std::string_view read_endpoint(std::string_view text, std::string& host, std::uint16_t& port) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return "'[' without ']'";
    host = text.substr(1, close - 1);
    text = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (!text.empty() && (text[0] != ':' || !read_number(text.substr(1), port) || port == 0)) return "bad port";
  if (host.empty()) host = "127.0.0.1";
  return {};
}

/// Parses the comma-separated nodes in `hosts`; returns the error, "" if none.
std::string_view read_nodes(std::string_view hosts, std::uint16_t port, std::vector<NodeAddress>& nodes) {
  for (std::size_t at = 0; at <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    NodeAddress& one = nodes.emplace_back(NodeAddress{"", port});
    if (const auto wrong = read_endpoint(hosts.substr(at, end - at), one.host, one.port); !wrong.empty()) return wrong;
    at = end + 1;
  }
  return {};
}

/// The error in the login of a URL with several servers, "" if none.
std::string_view objection_to_login(std::string_view hosts) {
  const bool has_two = hosts.find('@') != hosts.rfind('@');
  return has_two ? "one login is for all servers, before the first; an '@' within it is written %40" : "";
}

/// Parses the sentinels in `hosts` and takes their service off the front of `path`; returns the error, "" if none.
std::string_view read_sentinels(std::string_view hosts, std::string_view& path, RedisAddress& address) {
  address.service = path.substr(0, path.find('/'));
  path = path.substr(std::min(address.service.size() + 1, path.size()));
  const auto may_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  if (address.service.empty() || !std::all_of(address.service.begin(), address.service.end(), may_name)) {
    return "after the sentinels: the primary's name, as in redis+sentinel://host:26379/mymaster";
  }
  return read_nodes(hosts, 26379, address.sentinels);
}

ReadAddress parse_url(std::string_view url) {
  if (url.starts_with("unix:")) return parse_unix(url.substr(5));
  const std::string_view scheme = url.substr(0, std::min(url.find("://"), url.size()));
  RedisAddress address;
  address.tls = scheme.starts_with("rediss");
  const bool by_sentinels = scheme == "redis+sentinel" || scheme == "rediss+sentinel";
  const bool in_cluster = scheme == "redis+cluster" || scheme == "rediss+cluster";
  if (!by_sentinels && !in_cluster && scheme != "redis" && scheme != "rediss") {
    return bad_url(
        "write redis://host:port/db, rediss://host:port/db for TLS, redis+sentinel://host:port/service, "
        "redis+cluster://host:port, or unix:///path/to/socket");
  }
  if (address.tls && !remedy_without_tls().empty()) return bad_url(remedy_without_tls());
  std::string_view rest = url.substr(std::min(scheme.size() + 3, url.size())), path;
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    path = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  if (by_sentinels || in_cluster) {
    if (const auto wrong = objection_to_login(rest); !wrong.empty()) return bad_url(wrong);
  }
  if (const auto wrong = read_login(rest, address); !wrong.empty()) return bad_url(wrong);
  for (const std::string_view part : {rest, path}) {
    if (part.find('?') != std::string_view::npos) return bad_url("it takes no query: leave out '?' and what follows");
  }
  if (!by_sentinels && !in_cluster && rest.find(',') != std::string_view::npos) {
    const std::string several(scheme);
    return bad_url("several servers are " + several + "+sentinel://HOST:PORT,HOST:PORT/SERVICE or " + several +
                   "+cluster://HOST:PORT,HOST:PORT");
  }
  const auto wrong = by_sentinels ? read_sentinels(rest, path, address)
                     : in_cluster ? read_nodes(rest, address.port, address.cluster)
                                  : read_endpoint(rest, address.host, address.port);
  if (!wrong.empty()) return bad_url(wrong);
  if (in_cluster && !path.empty() && path != "0") {
    return bad_url("a cluster has no databases; end the URL after the port, as in redis+cluster://host:6379");
  }
  if (!path.empty() && (!read_number(path, address.database) || address.database < 0)) {
    return bad_url(by_sentinels ? "after the name: a database number, as in redis+sentinel://host/mymaster/0"
                                : "the path must be a database number, as in redis://host/0");
  }
  return address;
}

}  // namespace

boost::system::result<RedisAddress, StoreError> parse_redis_url(std::string_view url) {
  auto address = parse_url(url);
  if (address.has_value()) return std::move(*address);
  return StoreError{StoreError::Code::unsupported, "redis.url: " + address.error()};
}

std::string objection_to_redis_url(std::string_view url) {
  const auto address = parse_url(url);
  return address.has_value() ? "" : address.error();
}

}  // namespace feedmill
