#include "worker/http/request_style.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "worker/base/log.hpp"

namespace feedmill {
namespace {

constexpr std::string_view accept_line =  // HTTP P17
    "Accept: application/atom+xml,application/rss+xml,application/xml,text/xml,*/*;q=0.1";

bool is_accept(const std::pair<std::string, std::string>& header) {
  return std::ranges::equal(header.first, std::string_view("accept"), [](char a, char b) { return (a | 0x20) == b; });
}

/// SECURITY E9: with a proxy, addresses cannot be checked here.
std::optional<UnusableSettings> take_proxy(RequestStyle& style, const FetchOptions& options,
                                           const std::string& wanted) {
  const std::string& url = wanted.empty() ? options.proxy : wanted;
  if (url.empty() || url == "none") return {};
  if (!options.proxy_enforces_egress) {
    return UnusableSettings{Reason::egress_blocked,
                            "its proxy is not declared to reject private addresses (fetch.proxy_enforces_egress)"};
  }
  auto proxy = read_proxy(url);
  if (!proxy) return UnusableSettings{Reason::egress_blocked, "its proxy cannot be read; " + proxy.error()};
  style.proxy = std::move(*proxy);
  return {};
}

/// Takes the secret that the feed names. It is for its origin only, not for a proxy that any program may have set:
/// that could read it on the way to an http origin. The operator's goes through such a proxy to https origins.
std::optional<UnusableSettings> take_auth(RequestStyle& style, const FetchOptions& options,
                                          const FetchRequest& request) {
  const FeedSettings& settings = request.settings;
  const bool is_login = names_login(settings.auth);
  if (is_login) {
    if (request.login) style.credential = &*request.login;
  } else if (const auto found = options.credentials.find(settings.auth); found != options.credentials.end()) {
    style.credential = &found->second;
  }
  if (style.credential == nullptr) {
    return UnusableSettings{
        Reason::status_auth,
        is_login ? fmt::format("its login {0} is not stored: feedmill login set {0}; nothing was sent", settings.auth)
                 : fmt::format("its auth {} is not configured: [feed_auth.\"NAME\"]; nothing was sent", settings.auth)};
  }
  const bool has_proxy = !settings.proxy.empty() && settings.proxy != "none";
  if (has_proxy && (is_login || style.credential->origin.scheme == "http")) {
    return UnusableSettings{
        Reason::status_auth,
        fmt::format("{} is not sent through a feed's own proxy: remove its setting proxy; nothing was sent",
                    is_login ? "a login" : "a secret for an http origin")};
  }
  return {};
}

}  // namespace

boost::system::result<RequestStyle, UnusableSettings> request_style(const FetchOptions& options,
                                                                    const FetchRequest& request) {
  const FeedSettings& settings = request.settings;
  RequestStyle style;
  style.options = &options;
  if (!settings.policy.empty() && !options.policies.contains(settings.policy)) {  // SECURITY E2: no policy, no request
    return UnusableSettings{Reason::egress_blocked,
                            "its policy " + settings.policy + " is not configured: [egress.policy.\"NAME\"]"};
  }
  style.policy = settings.policy;
  if (!settings.auth.empty()) {
    if (auto unusable = take_auth(style, options, request)) return std::move(*unusable);
  }
  if (auto unusable = take_proxy(style, options, settings.proxy)) return std::move(*unusable);
  style.user_agent = user_agent(options.contact, request.feed_url, settings.user_agent,
                                options.subscribers ? settings.subscribers : std::nullopt);
  style.ca_file = settings.ca_file;
  style.pin = settings.pin;
  style.http1 = settings.http_version == "1.1";
  style.headers = settings.headers;
  if (!style.headers.empty()) style.headers_origin = origin_of(std::string(request.feed_url));
  return style;
}

bool RequestStyle::dress(HttpRequest& hop, const Origin& origin, bool with_headers) const {
  hop.user_agent = user_agent;
  hop.proxy = proxy;
  hop.ca_file = ca_file;
  hop.pin = pin;
  hop.http1 = hop.http1 || http1 || options->http1_hosts.contains(origin.host);
  const bool own = with_headers && !headers.empty() && origin == headers_origin;  // HTTP R4
  if (!own || std::ranges::none_of(headers, is_accept)) hop.header_lines.emplace_back(accept_line);
  if (credential != nullptr && credential->origin == origin) hop.header_lines.push_back(credential->header_line);
  if (!own) return false;
  for (const auto& [name, value] : headers) hop.header_lines.push_back(fmt::format("{}: {}", name, value));
  return true;
}

std::string user_agent(std::string_view contact, std::string_view feed_url, std::string_view products,
                       std::optional<std::uint64_t> subscribers) {
  std::string text;
  text.reserve(products.size() + contact.size() + 80);
  text += products;
  if (!text.empty()) text += ' ';
  text += "feedmill/" FEEDMILL_VERSION;
  if (feed_url.empty()) return contact.empty() ? text : text.append(" (+").append(contact).append(")");
  text += " (";
  if (!contact.empty()) text.append("+").append(contact).append("; ");
  if (subscribers) text.append(std::to_string(*subscribers)).append(" subscribers; ");
  return text.append("feed-id=").append(feed_id(feed_url)).append(")");
}

void throw_exception_from_error(const UnusableSettings& unusable, const boost::source_location&) {
  throw std::runtime_error(unusable.detail);
}

}  // namespace feedmill
