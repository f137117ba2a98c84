#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/units.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

std::string span_of(std::int64_t seconds) {
  return span_text(std::chrono::seconds(seconds));
}

std::optional<std::int64_t> seconds_of(const std::vector<DueInput>& inputs, std::string_view code) {
  for (const DueInput& input : inputs) {
    if (input.code == code) return input.seconds;
  }
  return {};
}

/// "S=12.00" → "12 posts a week"
std::string pace_words(std::string_view from) {
  const std::string rate = posts_a_week(from);
  if (rate.empty()) return std::string(from);
  return rate == "0" ? "no new post for a long time" : rate == "1" ? "1 post a week" : rate + " posts a week";
}

/// A code that explains a due time, and its sentence. `timed`: the sentence up to its interval, used if the interval is
/// known; "" if it has none.
struct DueCode {
  std::string_view code, words, timed{};
};

constexpr std::array due_code_table{
    // The feed's own interval
    DueCode{"adaptive", "It follows its own pace."},
    DueCode{"floor", "schedule.floor does not allow a shorter interval.",
            "schedule.floor does not allow a shorter interval than"},
    DueCode{"ceiling", "Its own pace is slower than schedule.ceiling, the longest interval."},
    DueCode{"dormant", "It has been silent for so long that it is fetched only as often as schedule.ceiling requires."},
    DueCode{"gap", "Posts were missed between the last two fetches, so it is fetched twice as often."},
    DueCode{"override",
            "An interval you configured applies: its interval_min or interval_max, or its host's min_interval."},
    // Requested by its publisher
    DueCode{"max_age", "Its server gives a freshness lifetime (max-age).", "Its server declares the answer fresh for"},
    DueCode{"expires", "Its server gives an expiry time (Expires).", "Its server declares the answer fresh for"},
    DueCode{"ttl", "Its document asks for this interval.", "Its document asks for an interval of"},
    DueCode{"sy", "Its document gives an update interval.", "Its document gives an update interval of"},
    DueCode{"fresh_clamped", "Its server or document asks for a longer interval than feedmill accepts."},
    DueCode{"skip_hours", "Its document asks readers to skip these hours."},
    DueCode{"skip_days", "Its document asks readers to skip these days."},
    DueCode{"retry_after", "Its server asked for no requests before then (Retry-After)."},
    DueCode{"quota", "Its server reported that the request quota is used up until then (RateLimit)."},
    DueCode{"retry_after_clamped", "Its server asked for a longer pause than feedmill accepts (Retry-After)."},
    // Failures
    DueCode{"backoff", "Its last fetch failed; it is retried after a pause."},
    DueCode{"auth", "Its server asks for a password (401)."},
    DueCode{"forbidden", "Its server refuses us (403)."},
    DueCode{"challenge", "Its server requires a browser."},
    DueCode{"not_found", "Its server cannot find it (404)."},
    DueCode{"gone", "Its server reports it as gone (410)."},
    DueCode{"legal", "Its server withholds it for legal reasons (451)."},
    DueCode{"rate_limited", "Its server reports too many requests (429)."},
    DueCode{"quarantine", "It is in quarantine and is retried after a long pause."},
    // Its host
    DueCode{"host_spacing", "Other feeds of its host are fetched first, one at a time."},
    DueCode{"host_backoff", "Its host asked for a pause, so all its feeds wait."},
    // Pushes and pages
    DueCode{"websub_push", "Its hub announced a change."},
    DueCode{"websub_fallback", "Its hub pushes new posts; polling is only a safety net.",
            "Its hub pushes new posts, so it is polled only every"},
    DueCode{"second_look", "A push arrived before its post did, so it is fetched once more."},
    DueCode{"pushed", "Its hub pushed its content; the scheduled poll is unchanged."},
    DueCode{"ping", "A ping announced a change."},
    DueCode{"pages", "Pages of its older posts are read one after the other."},
    // User actions
    DueCode{"first", "It was added and has not been fetched yet."},
    DueCode{"spread", "It has not been fetched yet; new feeds take turns."},
    DueCode{"manual", "A refresh was requested."},
    DueCode{"claimed", "A worker was fetching it, and that fetch may still finish."},
    DueCode{"released", "A worker released it without fetching it, as workers do when they stop or lack memory."},
    DueCode{"paused", "Its operator paused it; resume it with feedmill resume."},
    DueCode{"orphaned",
            "It is paused because it is in no channel, and is removed after another feeds.orphan_after. To keep it, "
            "add it to a channel, or use feedmill add or feedmill resume."},
};

constexpr auto all_due_codes = [] {
  std::array<std::string_view, due_code_table.size()> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = due_code_table[i].code;
  return codes;
}();

constexpr std::string_view refuses_us =
    "The server refuses us. Set fetch.contact to identify yourself, and ask the publisher to allow feed readers; "
    "feedmill check {0} shows the whole answer.";
constexpr std::string_view check_url =
    "Check the URL; feedmill discover lists the feeds of a web page. If the feed was never read: feedmill remove {0}, "
    "then add the right one; else feedmill move {0} NEW.";

/// What to do about failures for a reason that begins with `reason`; in `words`, {0} is the feed's URL.
struct Remedy {
  std::string_view reason, words;
};

/// The first row that fits applies.
constexpr std::array remedies{
    Remedy{"tls.verify",
           "Its certificate is not trusted. If it has expired or names another host, the publisher must fix it. If "
           "your own CA issued it: feedmill set {0} ca_file=FILE."},
    Remedy{"tls.", "The server supports only outdated TLS; the publisher must fix this."},
    Remedy{"egress.port",
           "Feeds may not use this port. To allow it: egress.ports, or a policy for this feed ([egress.policy.NAME])."},
    Remedy{"egress.",
           "The address is private and blocked for feeds. To allow it: egress.allow for all, or [egress.policy.NAME] "
           "and feedmill set {0} policy=NAME."},
    Remedy{"status.forbidden", refuses_us},
    Remedy{"status.challenge", refuses_us},
    Remedy{
        "status.auth",
        "It requires a password: store it with feedmill login set OWNER/NAME, then feedmill set {0} auth=OWNER/NAME."},
    Remedy{"status.not_found", check_url},
    Remedy{"dns.not_found", check_url},
    Remedy{"url.invalid", check_url},
    Remedy{"status.rate_limited",
           "Nothing; feedmill retries after the requested pause. If it persists: feedmill set {0} interval_min=6h."},
    Remedy{"status.gone",
           "Its server reports it as gone. feedmill retries, and marks it gone if this persists for a day; then: "
           "feedmill remove {0}."},
    Remedy{"parse.not_a_feed",
           "The document is not a feed. feedmill check {0} shows the whole answer; if the feed has moved: feedmill "
           "move {0} NEW."},
    Remedy{"dns.", "Check the name servers; feedmill doctor tests them."},
    Remedy{"limit.body", "It is larger than fetch.max_body, which can be raised to at most 64MiB."},
    Remedy{"limit.header", "Its server sends too large a header; the publisher must fix this."},
    Remedy{"limit.ratio",
           "Its compression ratio is suspiciously high, as in a decompression bomb; the publisher must fix this."},
    Remedy{"limit.coding",
           "Its server uses an unsupported or repeated Content-Encoding; the publisher must fix this: gzip, br and "
           "zstd are supported."},
};

/// The sentence for a code used in several situations, chosen by its input; "" for other codes.
std::string special_words(std::string_view code, const DueInput& input) {
  const std::string span = span_of(input.seconds);
  if (input.from == "resumed") {
    if (code == "spread")
      return input.seconds > 0 ? "It was resumed; feeds that are resumed together take turns." : "It was resumed.";
    if (code == "floor") return "It was resumed too soon after its last fetch (schedule.floor).";
    if (code == "claimed") return "It was resumed while a worker was still fetching it.";
    if (code == "quarantine") return "It was resumed, but is in quarantine.";
  }
  if (code == "manual" && input.from == "moved") return "It was moved to a new address.";
  if (code == "manual" && input.from == "wanted")
    return "It was paused because it was in no channel; it is in a channel again.";
  if (code != "quarantine") return {};
  if (input.from == "killed the worker")
    return fmt::format("It is in quarantine for {}: workers crashed while fetching it.", span);
  if (input.from == "one at a time")
    return "A worker crashed while fetching this feed; such feeds are fetched one at a time.";
  if (input.from.starts_with("n="))
    return fmt::format("It is in quarantine for {}: its document exceeded a limit of the parser several times.", span);
  return {};
}

/// The sentence about the input that determined the time. `whole`: `inputs` has all inputs of the interval, so their
/// numbers are intervals; otherwise the number of the only input is the remaining time.
std::string decided_by(std::string_view code, const std::vector<DueInput>& inputs, bool whole) {
  const auto known = std::ranges::find(due_code_table, code, &DueCode::code);
  if (known == due_code_table.end()) return code.empty() ? "" : fmt::format("Because of {}.", code);
  const auto input = std::ranges::find(inputs, code, &DueInput::code);
  if (input == inputs.end()) return std::string(known->words);
  if (std::string words = special_words(code, *input); !words.empty()) return words;
  if (whole && !known->timed.empty()) return fmt::format("{} {}.", known->timed, span_of(input->seconds));
  return std::string(known->words);
}

/// The number of the failure an input refers to; "" if none.
std::string_view failure_number(const DueInput& input) {
  const std::string_view from = input.from;
  if (!from.starts_with("n=") || input.code == "quarantine" || input.code == "host_spacing") return {};
  return from.substr(2);
}

/// "S=54.50" → "S = 54.5"; other text is unchanged.
std::string readable(std::string_view from) {
  const std::string rate = posts_a_week(from);
  return rate.empty() ? std::string(from) : "S = " + rate;
}

std::string input_text(const DueInput& input) {
  std::string text = fmt::format("{} {}{} s", input.code, input.code == "phase" ? "+" : "", grouped(input.seconds));
  if (!input.from.empty()) text += fmt::format(" ({})", readable(input.from));
  return text;
}

}  // namespace

std::span<const std::string_view> due_codes() {
  return all_due_codes;
}

std::string schedule_words(std::string_view why, std::string_view due_reason) {
  const std::vector<DueInput> inputs = decode_due_inputs(why);
  const bool is_paused = due_reason == "paused" || due_reason == "orphaned";
  if (is_paused || due_reason == "second_look") return decided_by(due_reason, {}, false);  // regardless of its pace
  std::string text;
  const auto add = [&text](const std::string& sentence) {
    if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
  };
  for (const DueInput& input : inputs) {
    if (input.code == "adaptive" && !input.from.empty())
      add(fmt::format("At its own pace about every {}: {}.", span_of(input.seconds), pace_words(input.from)));
    if (const std::string_view number = failure_number(input); !number.empty())
      add(fmt::format("Retried after {}: failure number {} in a row.", span_of(input.seconds), number));
  }
  const bool whole = !text.empty();
  if (!whole || (due_reason != "adaptive" && due_reason != "backoff")) add(decided_by(due_reason, inputs, whole));
  const auto floor = seconds_of(inputs, "floor");
  if (whole && floor && due_reason != "floor") add(fmt::format("At most once every {}.", span_of(*floor)));
  const auto phase = seconds_of(inputs, "phase");
  if (phase && *phase >= 60)
    add(fmt::format("Delayed by {} so that feeds do not all come due together.", span_of(*phase)));
  return text.empty() ? "No reason is stored for its due time." : text;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string remedy_words(std::string_view reason, std::string_view url) {
  const auto* const row =
      std::ranges::find_if(remedies, [&](const Remedy& one) { return reason.starts_with(one.reason); });
  if (row == remedies.end()) return "";
  return fmt::format(fmt::runtime(row->words), shell_word(redact(url)));  // SECURITY K1
}

std::string remedy_words(const FeedRecord& record) {
  const FeedState& state = record.state;
  const std::string auth = read_settings(state.settings).auth, url = shell_word(redact(record.feed_url));
  if (state.last.error == "status.auth" && !auth.empty()) {
    if (state.last.status == 0) return "";  // nothing was sent; the detail has the remedy
    return fmt::format(
        "Correct the secret of {}, or its origin, if the feed has moved. {}Then: feedmill refresh {}.", auth,
        names_login(auth) ? "" : "If it is new in the configuration, reload the workers (SIGHUP). ", url);
  }
  if (state.last.error == "parse.not_a_feed" && state.last.detail == "an HTML page")
    return fmt::format("The URL is a web page, not a feed: feedmill discover {} lists the feeds it links to.", url);
  return remedy_words(state.last.error, record.feed_url);
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > 3 + sign;) digits.insert(at -= 3, 1, ' ');
  return digits;
}

std::string posts_a_week(std::string_view from) {
  if (!from.starts_with("S=")) return {};
  std::string rate(from.substr(2));
  if (rate.find('.') != std::string::npos) {
    while (rate.ends_with('0')) rate.pop_back();
    if (rate.ends_with('.')) rate.pop_back();
  }
  return rate;
}

std::string due_inputs_text(std::string_view why) {
  std::string text;
  for (const DueInput& input : decode_due_inputs(why)) text += (text.empty() ? "" : "  ") + input_text(input);
  return text;
}

boost::json::value due_inputs_json(std::string_view why) {
  if (why.empty()) return {};
  boost::json::array rows;
  for (const DueInput& input : decode_due_inputs(why)) {
    boost::json::object& row = rows.emplace_back(boost::json::object()).get_object();
    row["code"] = input.code;
    row["s"] = input.seconds;
    if (!input.from.empty()) row["from"] = cleaned_text(input.from);
  }
  return rows;
}

std::string due_text(Milliseconds due, Milliseconds now, std::string_view due_reason) {
  return fmt::format("{}, {}{}{}", rfc3339(due), from_now(due, now), due_reason.empty() ? "" : ", because of ",
                     due_reason);
}

std::string encode_due_inputs(std::span<const DueInput> inputs) {
  std::string text;
  for (const DueInput& input : inputs) {
    if (!text.empty()) text += '\n';
    text += input.code;
    text += ' ';
    text += std::to_string(input.seconds);
    if (input.from.empty()) continue;
    text += ' ';
    for (const char c : utf8_prefix(input.from, 120)) text += c == '\n' ? ' ' : c;
  }
  return text;
}

std::vector<DueInput> decode_due_inputs(std::string_view why) {
  std::vector<DueInput> inputs;
  while (!why.empty()) {
    const std::string_view line = why.substr(0, why.find('\n'));
    why.remove_prefix(std::min(line.size() + 1, why.size()));
    const auto space = line.find(' ');
    if (space == std::string_view::npos) continue;
    DueInput input{line.substr(0, space), 0, ""};
    const char* const last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data() + space + 1, last, input.seconds);
    if (error != std::errc() || (end != last && *end != ' ')) continue;
    if (end != last) input.from.assign(end + 1, last);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace feedmill
