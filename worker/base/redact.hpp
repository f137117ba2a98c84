// Removes secrets from everything that is shown (SECURITY K1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// Replacement of a secret.
inline constexpr std::string_view redacted = "<redacted>";

/// `text` without its secrets: credentials in URLs, values of parameters such as token= or password=, Authorization and
/// Cookie headers, callback paths. Every sink redacts before it truncates: half a secret is not recognized. The
/// placeholders of our own messages, "key=value" and "auth=NAME", are kept. Linear time.
std::string redact(std::string_view text);

/// Whether redact() changes `text`.
bool has_secret(std::string_view text);

/// Default of set_secret_parameters().
inline constexpr std::string_view usual_secret_parameters =
    "token,key,apikey,api_key,auth,secret,sig,signature,password,access_token";

/// Replaces the names of the parameters to redact (`log.redact_params`), on all threads. Process-wide, because every
/// sink redacts.
void set_secret_parameters(std::vector<std::string> names);

}  // namespace feedmill
