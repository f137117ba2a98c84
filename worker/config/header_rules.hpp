// Request headers that an operator may add, and their valid values (SECURITY K5, HTTP C2). Pure.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Why an operator's header `name` is rejected: not a token, part of the framing, added by proxies, or ours. "" if it
/// is allowed.
std::string refused_header(std::string_view name);

/// Why a header of that name belongs in [feed_auth], whose value comes from a file: it looks like a secret. "" if it
/// does not.
std::string secret_header(std::string_view name);

/// Visible ASCII, bytes from 0x80, and inner spaces; not empty, at most 4 KiB (HTTP C2).
bool is_sendable_value(std::string_view value);

}  // namespace feedmill
