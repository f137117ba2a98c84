// URLs as feeds write them: resolving (RFC 3986 §5), and which may be kept. Nothing is ever fetched.
#pragma once

#include <string>
#include <string_view>

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

/// Whether a URL may be stored or linked to at all: relative, or of a scheme known to be inert (http, https, ftp,
/// mailto, tel, magnet …). `javascript:`, `data:`, `vbscript:`, `file:`, unknown ones and whatever else stands before a
/// colon in the first path segment are not.
bool is_safe_url(std::string_view url);

/// resolve_url when the result is safe, else "". An empty reference is no URL.
std::string resolve_safe_url(std::string_view base, std::string_view reference);

/// An absolute http or https URL with a host.
bool is_http_url(std::string_view url);

/// The URL without `user:password@`.
std::string without_credentials(std::string_view url);

/// `url` without fragment and tracking parameters (utm_*, fbclid, gclid …): what tells links apart (DESIGN §5).
std::string canonical_url(std::string_view url);

}  // namespace feedmill
