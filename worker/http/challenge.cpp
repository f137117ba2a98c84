#include "worker/http/challenge.hpp"

#include <algorithm>
#include <array>

namespace feedmill {
namespace {

/// What challenge pages load or set, by vendor; excludes text that a feed or an error page could contain.
constexpr std::array<std::string_view, 16> marks{
    "/cdn-cgi/challenge-platform/",    // Cloudflare
    "window._cf_chl_opt",              //
    "id=\"cf-browser-verification\"",  // older versions
    "/.well-known/ddos-guard/",        // DDoS-Guard
    "sucuri_cloudproxy_js",            // Sucuri
    "/_Incapsula_Resource?",           // Imperva
    "captcha-delivery.com/",           // DataDome
    "window._pxAppId",                 // HUMAN (PerimeterX)
    "id=\"px-captcha\"",               //
    ".awswaf.com/",                    // AWS WAF
    "/_sec/cp_challenge/",             // Akamai
    "bm-verify=",                      //
    "id=\"anubis_challenge\"",         // Anubis
    "/.within.website/x/cmd/anubis/",  //
    "/_vercel/security/",              // Vercel
    "slowAES.decrypt(",                // testcookie
};

bool is_html(std::string_view body) {
  const std::string_view start = body.substr(0, 1024);
  return std::ranges::any_of(std::array<std::string_view, 4>{"<!DOCTYPE html", "<!doctype html", "<html", "<HTML"},
                             [&](std::string_view sign) { return start.find(sign) != start.npos; });
}

}  // namespace

bool says_challenge(int status, std::span<const Header> headers) {
  return (status == 403 || status == 503) && field(headers, "cf-mitigated") == "challenge";
}

bool is_challenge_page(std::string_view body) {
  constexpr std::size_t most = 64U << 10U;
  if (!is_html(body)) return false;
  const std::string_view page = body.substr(0, most);
  return std::ranges::any_of(marks, [&](std::string_view mark) { return page.find(mark) != page.npos; });
}

}  // namespace feedmill
