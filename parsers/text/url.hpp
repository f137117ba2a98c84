// URLs as feeds write them: resolves them (RFC 3986 §5) and decides which ones may be kept. Never fetches anything.
// Also the standard forms of language tags and media types.
#pragma once

#include <string>
#include <string_view>

#include "parsers/text/holders.hpp"

namespace feedmill {

/// The parts of a URI reference (RFC 3986 §3), as written; views into it. `has_*` distinguishes an empty part from a
/// missing one.
struct UrlParts {
  std::string_view scheme, authority, path, query, fragment;
  bool has_authority = false, has_query = false, has_fragment = false;
};

UrlParts split_url(std::string_view url);

/// The scheme before the colon, as written; "" if `url` is a relative reference.
std::string_view url_scheme(std::string_view url);

/// Resolves `reference` against `base` (RFC 3986 §5.2) after trimming it, removing line breaks and tabs, and escaping
/// spaces. Without an absolute base, returns the cleaned reference. Case, IDN and escapes stay as written.
std::string resolve_url(std::string_view base, std::string_view reference);

/// A base URL for many references, parsed and stored once.
class UrlBase {
 public:
  UrlBase() = default;
  explicit UrlBase(std::string url);

  const SharedText& url() const { return url_; }
  bool empty() const { return url_.empty(); }
  /// resolve_url() and resolve_safe_url() with this base.
  std::string resolve(std::string_view reference) const;
  std::string resolve_safe(std::string_view reference) const;

 private:
  SharedText url_;
  bool usable_ = false;                                            // absolute, so it can resolve references
  std::size_t scheme_ = 0, authority_ = 0, path_ = 0, query_ = 0;  // where each part ends
  std::string folder_;  // from the scheme up to, but not including, the last "/" of the path; without dot segments
};

/// Whether the text is an IPv4 address in four decimal parts.
bool is_ipv4(std::string_view text);

/// Whether the text is an IPv6 address (RFC 4291 §2.2): eight groups, or fewer around one "::".
bool is_ipv6(std::string_view text);

/// `url` in RFC 3986 form: bytes that URIs do not allow (spaces, quotes, < and >, controls, all non-ASCII) and any %
/// that escapes nothing are percent-encoded. "" if the authority contains such ASCII or is malformed (`host:port`,
/// `[zz]`), or if an http URL has no host, since no server can have such a name. At most three times as long; a valid
/// URI stays unchanged. Linear.
std::string uri_of(std::string url);

/// A language in BCP 47 form: `en-US` for `en_US`; "" if it is not well-formed (RFC 5646 §2.1; of the irregular tags
/// only i-… is accepted). The case stays as written.
std::string language_tag(std::string language);

/// A media type in RFC 6838 §4.2 form, lower case, without parameters: "application/rss+xml" for ` Application/RSS+XML;
/// charset=utf-8`. "" if it is not one or is longer than limits::word.
std::string media_type(std::string_view declared);

/// Whether a URL may be shown as a link: relative, or with one of the schemes http, https, ftp, gemini, gopher, mailto,
/// tel, magnet and bitcoin. Anything else before a colon in the first path segment is rejected: javascript, data, file,
/// ssh, feed …
bool is_safe_url(std::string_view url);

/// Whether a URL may be that of an image or media file, which reader programs load automatically: relative, http, https
/// or magnet.
bool is_safe_file_url(std::string_view url);

/// Removes the "feed:" prefix that browsers once used ("feed:https://…", "feed://…"); other references stay unchanged.
std::string without_feed_scheme(std::string_view reference);

/// Resolves a reference after without_feed_scheme(); "" if the reference is empty or the result is not safe.
std::string resolve_safe_url(std::string_view base, std::string_view reference);

/// Whether a URL is absolute, http or https, and has a host.
bool is_http_url(std::string_view url);

/// The URL without `user:password@`.
std::string without_credentials(std::string url);

/// `url` without its fragment and tracking parameters (utm_*, fbclid, gclid …): the identity of a link (DESIGN §5).
std::string canonical_url(std::string_view url);
/// Appends canonical_url(url) to `out`.
void append_canonical_url(std::string& out, std::string_view url);

/// The part of a web URL that identifies a page, however it is served: canonical_url() without scheme, user, `www.`,
/// default port and trailing slash, with the host in lower case. A fragment stays unless it consists of parameters. ""
/// for schemes other than http and https.
std::string link_key(std::string_view url);

/// Appends the form that all spellings of a web URL share: without scheme, user, `www.`, default port, trailing slashes
/// and tracking parameters; the host in lower case, hex digits of escapes in upper case. Other parameters and the
/// fragment stay. Appends nothing for schemes other than http and https. Linear.
void append_url_alias(std::string& out, std::string_view url);

/// Appends the URL of an embedded file without parameters that change between fetches: tracking, cache busters and
/// download signatures (`?ver=5`, `&cb=…`, `?1690000000`, `Expires`, `Signature` …).
void append_steady_url(std::string& out, std::string_view url);

/// Whether a query parameter (`name=value`, `&amp;` decoded) does not identify the target: tracking, cache busters,
/// temporary signatures.
bool is_transient_parameter(std::string_view parameter);

/// Whether a transient parameter can keep its old value without harm: tracking and random cache busters.
bool is_idle_parameter(std::string_view parameter);

/// Appends `url` without its idle parameters (is_idle_parameter).
void append_lasting_url(std::string& out, std::string_view url);

}  // namespace feedmill
