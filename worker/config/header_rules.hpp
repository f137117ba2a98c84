// Which request headers an operator may add, and what may stand in them (SECURITY K5, HTTP C2). Pure.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Why `name` may not be sent as a header of the operator's own: not a token, part of the framing, made up by proxies,
/// or ours. "" when it may.
std::string refused_header(std::string_view name);

/// Why a header of that name belongs into [feed_auth], whose value comes from a file: it smells of a secret. "" when it
/// does not.
std::string secret_header(std::string_view name);

/// Visible ASCII, bytes from 0x80, and spaces inside; not empty, at most 4 KiB (HTTP C2).
bool is_sendable_value(std::string_view value);

}  // namespace feedmill
