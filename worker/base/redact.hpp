// Secrets are taken out of whatever is shown (SECURITY K1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// What stands in place of a secret.
inline constexpr std::string_view redacted = "<redacted>";

/// Text without its secrets: credentials in URLs, values of parameters such as token= or password=,
/// Authorization and Cookie headers, paths of callbacks. Every sink uses it, before it cuts: half a secret is not known
/// one. What stands for a value in our own words, "key=value" and "auth=NAME", stays. Linear.
std::string redact(std::string_view text);

/// Parameters whose values redact() takes out, until it is told of others.
inline constexpr std::string_view usual_secret_parameters =
    "token,key,apikey,api_key,auth,secret,sig,signature,password,access_token";

/// Others in their place from now on, on every thread: `log.redact_params`. For the whole process, because texts are
/// redacted wherever they are shown.
void set_secret_parameters(std::vector<std::string> names);

}  // namespace feedmill
