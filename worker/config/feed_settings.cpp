#include "worker/config/feed_settings.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/feed/links.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/json_members.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/config/config.hpp"
#include "worker/config/config_values.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::uint64_t longest_interval_s = std::uint64_t{30} * 24 * 3600;  // limit of any due time
constexpr std::string_view header_prefix = "header.";

// --- readers of values; each returns the expected form ---------------------------------------------------------------

template <std::uint64_t Least, std::uint64_t Most>
std::string read_count(std::string_view text, std::optional<std::uint64_t>& into) {
  std::uint64_t number = 0;
  if (!read_number(text, number) || number < Least || number > Most) {
    return "expected a whole number from " + std::to_string(Least) + " to " + std::to_string(Most);
  }
  into = number;
  return {};
}

std::string read_interval(std::string_view text, std::optional<std::uint64_t>& into) {
  const auto duration = read_duration(text);
  const auto seconds = duration ? std::chrono::duration_cast<std::chrono::seconds>(*duration).count() : 0;
  if (seconds < 1 || static_cast<std::uint64_t>(seconds) > longest_interval_s) {
    return "expected a duration from 1s to 30d with its unit: 15min 24h 7d";
  }
  into = static_cast<std::uint64_t>(seconds);
  return {};
}

std::string read_age(std::string_view text, std::optional<std::uint64_t>& into) {
  const auto duration = read_duration(text);
  if (!duration || (duration->count() != 0 && *duration < std::chrono::seconds(1))) {
    return "expected a duration with its unit: 24h 30d, or 0 for no limit";
  }
  into = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(*duration).count());
  return {};
}

std::string read_bytes(std::string_view text, std::optional<std::uint64_t>& into) {
  const auto size = read_size(text);
  if (!size) return "expected a size with its unit: 512KiB 16MiB, or 0 for no limit";
  into = *size;
  return {};
}

std::string show_bytes(const std::optional<std::uint64_t>& bytes) {
  return bytes ? format_size(*bytes) : "";
}

std::string read_texts(std::string_view text, std::optional<std::uint64_t>& into) {
  if (text == "all") {
    into = FeedSettings::all_texts;
    return "";
  }
  const std::string remedy = read_count<0, FeedSettings::all_texts>(text, into);
  return remedy.empty() ? remedy : remedy + ", or all";
}

std::string as_number(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "";
}

std::string show_texts(const std::optional<std::uint64_t>& texts) {
  return texts && *texts >= FeedSettings::all_texts ? "all" : as_number(texts);
}

std::string show_interval(const std::optional<std::uint64_t>& seconds) {
  return seconds ? format_duration(std::chrono::seconds(*seconds)) : "";
}

std::string read_html(std::string_view text, std::optional<HtmlPolicy>& into) {
  if (text == "raw") {
    into = HtmlPolicy::raw;
    return {};
  }
  const std::string remedy = read_value(text, into);
  if (remedy.empty()) return {};
  into.reset();
  return remedy + " raw";
}

std::string show_html(const std::optional<HtmlPolicy>& policy) {
  return policy == HtmlPolicy::raw ? "raw" : show_value(policy);
}

std::string read_proxy_setting(std::string_view text, std::string& into) {
  const auto proxy = read_proxy(text);
  if (text != "none" && !proxy) return proxy.error() + ", or none";
  if (text.find('@') != std::string_view::npos) return "passwords are not stored with feeds: use fetch.proxy";
  into = proxy ? proxy->url : "none";
  return {};
}

// Each returns why a setting cannot be `text`, which is not empty; "" if it can.

std::string unfit_name(std::string_view) {
  return {};  // callers with the configuration check whether the name exists
}

/// RFC 9110 §10.1.5: products without comments. Must not imitate a browser (HTTP P19).
std::string unfit_user_agent(std::string_view text) {
  if (text.size() > 100 || !has_only_alnum_and(text, " /._+-") || text.front() == ' ' || text.back() == ' ') {
    return "expected products such as AcmeReader/2.1, at most 100 bytes";
  }
  for (const std::string_view browser : {"Mozilla", "AppleWebKit", "Chrome", "Safari", "Gecko"}) {
    if (text.find(browser) != std::string_view::npos) return "feedmill does not imitate browsers";
  }
  return {};
}

std::string unfit_http_version(std::string_view text) {
  return text == "1.1" ? "" : "expected 1.1";
}

std::string unfit_websub(std::string_view text) {
  return text == "off" ? "" : "expected off, or empty for on";
}

std::string unfit_republish(std::string_view text) {
  return text == "yes" || text == "no" ? "" : "expected yes or no";
}

/// A hub URL in the form accepted from documents (WEBSUB §2). Its addresses are checked when the hub is contacted.
std::string unfit_hub_url(std::string_view text) {
  if (is_hub_url(text) && text.find('#') == npos) return {};
  return "expected an absolute http or https URL without credentials and fragment, at most 2048 bytes";
}

std::string unfit_ca_file(std::string_view text) {
  return text.starts_with('/') ? "" : "expected the absolute path of a PEM file";
}

std::string unfit_pin(std::string_view text) {
  constexpr std::string_view scheme = "sha256//";
  constexpr std::size_t digits = 43;
  while (!text.empty()) {
    const std::string_view pin = take_until(text, ';');
    const bool good = pin.starts_with(scheme) && pin.size() == scheme.size() + digits + 1 && pin.ends_with('=') &&
                      has_only_alnum_and(pin.substr(scheme.size(), digits), "+/");
    if (!good) return "expected sha256//BASE64 of the server's public key; join several with ;";
  }
  return {};
}

// --- the table -------------------------------------------------------------------------------------------------------

std::string as_it_is(const std::string& text) {
  return text;
}

template <auto Member, auto Read, auto Show>
constexpr FeedSetting setting(std::string_view key, std::string_view unit, std::string_view meaning) {
  return {key, unit, meaning,
          [](std::string_view text, FeedSettings& settings) {
            settings.*Member = {};
            return text.empty() ? std::string() : Read(text, settings.*Member);
          },
          [](const FeedSettings& settings) { return Show(settings.*Member); }};
}

template <std::string (*Unfit)(std::string_view)>
std::string read_words(std::string_view text, std::string& into) {
  std::string remedy = Unfit(text);
  if (remedy.empty()) into = text;
  return remedy;
}

template <auto Member, auto Unfit>
constexpr FeedSetting words(std::string_view key, std::string_view unit, std::string_view meaning) {
  return setting<Member, read_words<Unfit>, as_it_is>(key, unit, meaning);
}

const FeedSetting setting_table[] = {
    setting<&FeedSettings::keep, read_count<1, 1'000'000>, as_number>("keep", "entries", "entries to keep"),
    setting<&FeedSettings::keep_age, read_age, show_interval>(
        "keep_age", "duration", "delete older entries, instead of retention.age; 0: no limit"),
    setting<&FeedSettings::keep_bytes, read_bytes, show_bytes>(
        "keep_bytes", "size", "maximum size of all entries, instead of retention.bytes; 0: no limit"),
    setting<&FeedSettings::texts, read_texts, show_texts>(
        "texts", "entries or all", "newest entries that keep content and summary, instead of retention.texts"),
    setting<&FeedSettings::backfill, read_count<1, 100'000>, as_number>(
        "backfill", "entries", "entries to read from older pages at the first fetch, and to keep at least"),
    setting<&FeedSettings::interval_min, read_interval, show_interval>("interval_min", "duration", "minimum interval"),
    setting<&FeedSettings::interval_max, read_interval, show_interval>(
        "interval_max", "duration", "maximum interval, except for Retry-After; at least 10min"),
    setting<&FeedSettings::html_policy, read_html, show_html>("html_policy", "strict/raw",
                                                              "which markup to keep; raw: all, unchanged"),
    words<&FeedSettings::auth, unfit_name>("auth", "name",
                                           "a [feed_auth] of the configuration, or a login: OWNER/NAME"),
    words<&FeedSettings::policy, unfit_name>("policy", "name", "an [egress.policy] of the configuration"),
    setting<&FeedSettings::proxy, read_proxy_setting, as_it_is>("proxy", "URL or none", "instead of fetch.proxy"),
    words<&FeedSettings::user_agent, unfit_user_agent>("user_agent", "products",
                                                       "put before feedmill in the User-Agent"),
    words<&FeedSettings::http_version, unfit_http_version>("http_version", "1.1", "the only HTTP version to use"),
    words<&FeedSettings::republish, unfit_republish>(
        "republish", "yes/no", "whether its posts may leave this store; default: only if the feed is public"),
    words<&FeedSettings::websub, unfit_websub>("websub", "off", "do not subscribe to its hub"),
    words<&FeedSettings::hub, unfit_hub_url>("hub", "URL", "hub to use instead of the one in its document"),
    words<&FeedSettings::topic, unfit_hub_url>("topic", "URL", "topic to subscribe to (default: the feed's self link)"),
    words<&FeedSettings::ca_file, unfit_ca_file>("ca_file", "path", "authorities trusted instead of the system's"),
    words<&FeedSettings::pin, unfit_pin>("pin", "sha256//…", "public keys; the server must have one"),
    setting<&FeedSettings::subscribers, read_count<0, 1'000'000'000>, as_number>(
        "subscribers", "number", "reported to the publisher when fetch.subscribers is on")};

std::string change_header(FeedSettings& settings, std::string_view name, std::string_view value) {
  for (std::string remedy : {refused_header(name), secret_header(name)}) {
    if (!remedy.empty()) return remedy;
  }
  const auto same = [&](const auto& header) {
    return std::ranges::equal(header.first, name, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  };
  std::erase_if(settings.headers, same);
  if (value.empty()) return {};
  if (!is_sendable_value(value)) return "a header value has only visible characters, at most 4096";
  if (settings.headers.size() >= 16) return "a feed has at most 16 headers";
  settings.headers.emplace_back(name, value);
  return {};
}

std::string unknown_key(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const FeedSetting& known : setting_table) keys.push_back(known.key);
  keys.push_back("header.NAME");
  const std::string_view near = nearest_name(key, keys);
  std::string remedy = near.empty() ? "no such setting" : "no such setting, did you mean " + std::string(near) + "?";
  remedy += "; one of:";
  for (const auto known : keys) remedy.append(" ").append(known);
  return remedy;
}

// --- JSON ------------------------------------------------------------------------------------------------------------

/// Settings that are strings in JSON, too.
constexpr std::array<std::pair<std::string_view, std::string FeedSettings::*>, 11> words_in_json{{
    {"auth", &FeedSettings::auth},
    {"policy", &FeedSettings::policy},
    {"proxy", &FeedSettings::proxy},
    {"user_agent", &FeedSettings::user_agent},
    {"http_version", &FeedSettings::http_version},
    {"republish", &FeedSettings::republish},
    {"websub", &FeedSettings::websub},
    {"hub", &FeedSettings::hub},
    {"topic", &FeedSettings::topic},
    {"ca_file", &FeedSettings::ca_file},
    {"pin", &FeedSettings::pin},
}};

constexpr std::array<std::pair<std::string_view, std::optional<std::uint64_t> FeedSettings::*>, 8> numbers_in_json{{
    {"keep", &FeedSettings::keep},
    {"keep_age", &FeedSettings::keep_age},
    {"keep_bytes", &FeedSettings::keep_bytes},
    {"texts", &FeedSettings::texts},
    {"backfill", &FeedSettings::backfill},
    {"interval_min", &FeedSettings::interval_min},
    {"interval_max", &FeedSettings::interval_max},
    {"subscribers", &FeedSettings::subscribers},
}};

void write_pairs(json::object& object, std::string_view name,
                 const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return;
  json::object& inner = object[name].emplace_object();
  for (const auto& [key, value] : pairs) inner[key] = value;
}

std::vector<std::pair<std::string, std::string>> read_pairs(const json::object& object, std::string_view name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const json::value* const found = object.if_contains(name);
  if (found == nullptr || !found->is_object()) return pairs;
  for (const auto& [key, inner] : found->as_object()) {
    if (inner.is_string()) pairs.emplace_back(std::string(key), std::string(inner.as_string()));
  }
  return pairs;
}

std::vector<std::vector<std::string>> read_folders(const json::object& object) {
  std::vector<std::vector<std::string>> paths;
  const json::value* const folders = object.if_contains("folders");
  if (folders == nullptr || !folders->is_array()) return paths;
  for (const json::value& path : folders->as_array()) {
    if (!path.is_array()) continue;
    std::vector<std::string>& names = paths.emplace_back();
    for (const json::value& name : path.as_array()) {
      if (name.is_string()) names.emplace_back(name.as_string());
    }
  }
  return paths;
}

}  // namespace

std::string settings_json(const FeedSettings& settings) {
  json::object object;
  for (const auto& [name, member] : numbers_in_json) {
    if (settings.*member) object[name] = *(settings.*member);
  }
  if (settings.html_policy) object["html_policy"] = show_html(settings.html_policy);
  for (const auto& [name, member] : words_in_json) {
    if (!(settings.*member).empty()) object[name] = settings.*member;
  }
  write_pairs(object, "headers", settings.headers);
  const bool only_top = settings.folders.empty() || (settings.folders.size() == 1 && settings.folders.front().empty());
  if (!only_top) {
    json::array folders;
    for (const std::vector<std::string>& path : settings.folders) folders.push_back(json::value_from(path));
    object["folders"] = std::move(folders);
  }
  write_pairs(object, "opml", settings.opml);
  write_pairs(object, "xmlns", settings.namespaces);
  return object.empty() ? std::string() : json::serialize(object);
}

FeedSettings read_settings(std::string_view text) {
  FeedSettings settings;
  if (text.empty()) return settings;
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return settings;
  const json::object& object = value.as_object();
  for (const auto& [name, member] : numbers_in_json) settings.*member = whole_member(object, name);
  for (auto* interval : {&settings.interval_min, &settings.interval_max}) {
    if (*interval) **interval = std::min(**interval, longest_interval_s);
  }
  for (const auto& [name, member] : words_in_json) settings.*member = string_member(object, name);
  if (const json::value* const html = object.if_contains("html_policy"); html != nullptr && html->is_string()) {
    const std::string remedy = read_html(html->as_string(), settings.html_policy);
    if (!remedy.empty()) settings.ignored = fmt::format("html_policy={} ({})", html->as_string().c_str(), remedy);
  }
  for (const auto& [name, header] : read_pairs(object, "headers")) {
    change_header(settings, name, header);  // drops headers that are no longer allowed
  }
  settings.folders = read_folders(object);
  settings.opml = read_pairs(object, "opml");
  settings.namespaces = read_pairs(object, "xmlns");
  return settings;
}

std::span<const FeedSetting> feed_setting_table() {
  return setting_table;
}

std::string change_setting(FeedSettings& settings, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) return "write key=value, or key= to remove a setting";
  const std::string_view key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  if (key.starts_with(header_prefix)) return change_header(settings, key.substr(header_prefix.size()), value);
  const auto known = std::ranges::find(setting_table, key, &FeedSetting::key);
  return known == std::end(setting_table) ? unknown_key(key) : known->change(value, settings);
}

std::string check_settings(const FeedSettings& settings) {
  const bool contradict =
      settings.interval_min && settings.interval_max && *settings.interval_min > *settings.interval_max;
  if (contradict) return "interval_min is longer than interval_max";
  return settings.hub.empty() && !settings.topic.empty() ? "topic needs hub: set hub as well" : "";
}

std::vector<std::string> setting_texts(const FeedSettings& settings) {
  std::vector<std::string> texts;
  for (const FeedSetting& setting : setting_table) {
    const std::string value = setting.show(settings);
    if (!value.empty()) texts.push_back(std::string(setting.key) + "=" + value);
  }
  for (const auto& [name, value] : settings.headers)
    texts.push_back(fmt::format("{}{}={}", header_prefix, name, value));
  return texts;
}

namespace {

constexpr std::size_t longest_name = 64, longest_value = 4096;

bool is_token(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && has_only_alnum_and(name, "!#$%&'*+-.^_`|~");
}

}  // namespace

std::string refused_header(std::string_view name) {
  static constexpr std::array forbidden{"host",
                                        "content-length",
                                        "transfer-encoding",
                                        "connection",
                                        "te",
                                        "upgrade",
                                        "forwarded",
                                        "remote-user",
                                        "x-remote-user",
                                        "x-webauth-user",
                                        "keep-alive",
                                        "trailer",
                                        "expect",
                                        "content-type",
                                        "content-encoding",
                                        "range",
                                        "user-agent",
                                        "accept-encoding",
                                        "if-none-match",
                                        "if-modified-since",
                                        "if-range",
                                        "if-match",
                                        "if-unmodified-since",
                                        "a-im",
                                        "referer"};
  if (!is_token(name)) return "a header name has only letters, digits and -";
  const std::string known = lower(name);
  if (known == "user-agent") return "use user_agent=… instead";
  if (std::ranges::find(forbidden, known) != forbidden.end() || known.starts_with("proxy-") ||
      known.starts_with("x-forwarded-")) {
    return "this header cannot be set";
  }
  return {};
}

std::string secret_header(std::string_view name) {
  static constexpr std::array words{"auth", "cookie", "token", "secret", "password", "key", "session", "signature"};
  const std::string known = lower(name);
  const bool smells = std::ranges::any_of(words, [&](const char* word) { return known.find(word) != known.npos; });
  return smells ? "secrets are not stored with feeds: put it in [feed_auth.\"NAME\"], or store it with feedmill login "
                  "set, and set auth=NAME"
                : "";
}

bool is_sendable_value(std::string_view value) {
  const auto visible = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
  return !value.empty() && value.size() <= longest_value && value.front() != ' ' && value.back() != ' ' &&
         std::ranges::all_of(value, visible);
}

HubAdvert chosen_hubs(const FeedSettings& settings, const FeedState& state, std::string_view feed_url) {
  const HubAdvert& advert = state.push.advert;
  if (settings.hub.empty()) return advert;
  std::string topic = !settings.topic.empty() ? settings.topic : advert.topic;
  if (topic.empty()) topic = state.address.fetch_url.empty() ? std::string(feed_url) : state.address.fetch_url;
  return {std::move(topic), {settings.hub}, 0};
}

bool wants_hub(const FeedSettings& settings, const HubAdvert& hubs) {
  return !hubs.hubs.empty() && hubs.missing < 3 && settings.websub != "off";
}

bool changes_hub(const FeedSettings& before, const FeedSettings& after) {
  return before.hub != after.hub || before.topic != after.topic || before.websub != after.websub;
}
namespace {

template <class Row>
std::string not_configured(std::string_view key, const std::string& name, std::string_view table,
                           const Named<Row>& rows) {
  std::string known;
  for (const auto& [row, value] : rows) known.append(known.empty() ? "" : " ").append(row);
  return fmt::format("{}: the configuration has no [{}.\"{}\"]; {}", key, table, visible(name),
                     known.empty() ? "defined: none" : "defined: " + known);
}

/// An interval below the minimum would be ignored; "" unless that is certain.
std::string too_short(const Config& config, const FeedSettings& before, const FeedSettings& settings) {
  const auto policy = config.egress_policies.find(settings.policy);
  if (!config.egress.allow.empty() || (policy != config.egress_policies.end() && !policy->second.allow.empty()))
    return {};
  constexpr auto least = static_cast<std::uint64_t>(std::chrono::seconds(least_interval).count());
  for (const auto& [name, member] :
       {std::pair("interval_min", &FeedSettings::interval_min), {"interval_max", &FeedSettings::interval_max}}) {
    const auto& interval = settings.*member;
    if (interval && interval != before.*member && *interval < least)
      return fmt::format("{}: at least {}, the minimum unless egress.allow opens the server", name,
                         format_duration(least_interval));
  }
  return {};
}

}  // namespace

std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings) {
  if (!settings.auth.empty() && settings.auth != before.auth && !names_login(settings.auth) &&
      !config.feed_auth.contains(settings.auth)) {
    return not_configured("auth", settings.auth, "feed_auth", config.feed_auth);
  }
  if (!settings.policy.empty() && settings.policy != before.policy &&
      !config.egress_policies.contains(settings.policy)) {
    return not_configured("policy", settings.policy, "egress.policy", config.egress_policies);
  }
  const bool proxied = !settings.proxy.empty() && settings.proxy != "none" && settings.proxy != before.proxy;
  if (proxied && !config.fetch.proxy_enforces_egress) {  // SECURITY E9
    return "proxy: feedmill cannot check addresses when using a proxy, so the proxy must reject private ones; if it "
           "does, set fetch.proxy_enforces_egress=true in the configuration";
  }
  return too_short(config, before, settings);
}

}  // namespace feedmill
