#include "worker/http/answer_head.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "parsers/text/strings.hpp"
#include "storage/redis/test_point.hpp"

namespace feedmill {
namespace {

constexpr std::size_t usual_fields = 12;

/// RFC 9112 §4; the protocol name in any case, and "HTTP/2" as libcurl writes it.
bool is_status_line(std::string_view line) {
  constexpr std::string_view protocol = "http/";
  if (lower(line.substr(0, protocol.size())) != protocol) return false;
  line.remove_prefix(protocol.size());
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view version = line.substr(0, space);
  if (version != "1.0" && version != "1.1" && version != "2") return false;
  line.remove_prefix(space);
  const bool has_status =
      line.size() > 4 && line[1] >= '1' && is_digit(line[1]) && is_digit(line[2]) && is_digit(line[3]);
  return has_status && (line[4] == ' ' || line[4] == '\r' || line[4] == '\n');
}

}  // namespace

std::optional<Refusal> AnswerHead::take(std::string_view line, int status) {
  bytes_ += line.size();
  ++lines_;
  if (bytes_ > most_ || lines_ > options_.max_header_lines || line.size() > options_.max_header_line_bytes) {
    return Refusal{Reason::limit_header, "more header than is read"};
  }
  if (whole_) return std::nullopt;  // a trailer
  if (!begun_) {                    // lines before it were of 1xx responses
    if (!is_status_line(line)) return Refusal{Reason::http_malformed, "does not begin with a status line"};
    begun_ = true;
    fields_.clear();
    fields_.reserve(usual_fields);
    status_ = status;
    test_point("S3");
    return std::nullopt;
  }
  const std::string_view text = trim_field(line);
  if (text.empty()) {
    begun_ = false;
    whole_ = status >= 200;
    if (whole_) test_point("S4");
    if (whole_ && !is_framed_clearly()) {
      return Refusal{Reason::http_malformed, "has an ambiguous body length"};
    }
    return std::nullopt;
  }
  if (line.front() == ' ' || line.front() == '\t') {  // folded: RFC 9112 §5.2
    if (fields_.empty()) return Refusal{Reason::http_malformed, "begins its header with a partial line"};
    fields_.back().second.append(" ").append(text);
    return std::nullopt;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return std::nullopt;
  fields_.emplace_back(lower(trim_field(line.substr(0, colon))), std::string(trim_field(line.substr(colon + 1))));
  return std::nullopt;
}

/// RFC 9112 §6.3: an intermediary may read the body differently if its end is stated twice and inconsistently, or if it
/// uses a coding unknown to us.
bool AnswerHead::is_framed_clearly() const {
  const std::string coding = lower(joined_field(fields_, "transfer-encoding"));
  if (!coding.empty() && coding != "chunked" && coding != "identity") return false;
  const std::string_view length = field(fields_, "content-length");
  for (const auto& [name, value] : fields_) {
    if (name == "content-length" && (value != length || coding == "chunked")) return false;
  }
  return length.find_first_not_of("0123456789") == length.npos;
}

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
