// URLs as feeds write them: resolving (RFC 3986 §5), and which may be kept. Nothing is ever fetched.
#pragma once

#include <string>
#include <string_view>

#include "parsers/text/shared.hpp"

namespace feedmill {

/// The parts of a URI reference (RFC 3986 §3), as written. `has_*` tells "" from absent.
struct UrlParts {
  std::string_view scheme, authority, path, query, fragment;
  bool has_authority = false, has_query = false, has_fragment = false;
};

UrlParts split_url(std::string_view url);

/// The scheme in front of a colon, as written; "" when `url` is a relative reference.
std::string_view url_scheme(std::string_view url);

/// `reference` as seen from `base` (RFC 3986 §5.2), trimmed, with line breaks and tabs inside removed and spaces
/// escaped. Without a base that is absolute the reference itself. Case, IDN and escapes stay as written.
std::string resolve_url(std::string_view base, std::string_view reference);

/// A URL that many references are resolved against: taken apart once, held once.
class UrlBase {
 public:
  UrlBase() = default;
  explicit UrlBase(std::string url);

  const SharedText& url() const { return url_; }
  bool empty() const { return url_.empty(); }
  /// What resolve_url and resolve_safe_url say of this base.
  std::string resolve(std::string_view reference) const;
  std::string resolve_safe(std::string_view reference) const;

 private:
  SharedText url_;
  bool usable_ = false;  // absolute, so that something can be resolved against it
  std::size_t scheme_ = 0, authority_ = 0, path_ = 0, query_ = 0;  // where each of them ends
  std::string folder_;  // from scheme to the last "/" of the path, that one apart, without dot segments
};

/// `url` as RFC 3986 spells it: bytes that may not stand in a URI (spaces, quotes, < and >, controls, everything beyond
/// ASCII) percent-encoded, and a % that escapes nothing. "" where the authority holds such ASCII or is malformed
/// (`host:port`, `[zz]`), and for http and https without a host, since no server has that name. At most three times as long; what is a URI stays as it is.
/// Linear.
std::string uri_of(std::string url);

/// A language as BCP 47 spells it: `en-US` of `en_US`, "" for what is not well-formed (RFC 5646 §2.1, of the irregular
/// tags only i-…). Case stays.
std::string language_tag(std::string language);

/// Whether a URL may be shown as a link, by whatever road it came: relative, or of the closed list of schemes http,
/// https, ftp, gemini, gopher, mailto, tel, magnet and bitcoin. Whatever else stands before a colon in the first path
/// segment is refused: javascript, data, file, ssh, feed …
bool is_safe_url(std::string_view url);

/// Whether it may be the address of something that readers' programs load by themselves, an image or a file of media:
/// relative, http, https or magnet.
bool is_safe_file_url(std::string_view url);

/// "feed:https://…" and "feed://…", as browsers once had them, as what they mean; all else as it is.
std::string without_feed_scheme(std::string_view reference);

/// resolve_url of the reference without_feed_scheme() when the result is safe, else "". An empty reference is no URL.
std::string resolve_safe_url(std::string_view base, std::string_view reference);

/// An absolute http or https URL with a host.
bool is_http_url(std::string_view url);

/// The URL without `user:password@`.
std::string without_credentials(std::string url);

/// `url` without fragment and tracking parameters (utm_*, fbclid, gclid …): what tells links apart (DESIGN §5).
std::string canonical_url(std::string_view url);
void append_canonical_url(std::string& out, std::string_view url);

/// What of a web address names a page, wherever and however it is served: canonical_url without scheme, user, `www.`,
/// usual port and trailing slash, host in lower case. A fragment stays unless it is made of parameters. "" for anything
/// but http and https.
std::string link_key(std::string_view url);

/// What all spellings of one web address have in common: it is without scheme, user, `www.`, usual port, trailing
/// slashes and tracking parameters, its host in lower case, the digits of its escapes in upper case. All other
/// parameters and the fragment count. Appends nothing for anything but http and https, which has no other spelling.
/// Linear.
void append_url_alias(std::string& out, std::string_view url);

/// Appends the address of an embedded file without what changes from one fetch to the next: tracking parameters, and
/// those that only get past caches or sign a download (`?ver=5`, `&cb=…`, `?1690000000`, `Expires`, `Signature` …).
void append_steady_url(std::string& out, std::string_view url);

/// Whether a query parameter (`name=value`, `&amp;` undone) says nothing about what it leads to: tracking, what gets
/// past caches, a signature for a while.
bool is_transient_parameter(std::string_view parameter);

/// The narrower set whose old value is as good as a new one: tracking, and random numbers that get past caches.
bool is_idle_parameter(std::string_view parameter);

/// Appends `url` without its idle parameters.
void append_lasting_url(std::string& out, std::string_view url);

}  // namespace feedmill
