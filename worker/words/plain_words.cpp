#include "worker/words/plain_words.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "worker/base/figure_text.hpp"
#include "worker/base/redact.hpp"
#include "worker/words/due_inputs.hpp"
#include "worker/words/due_text.hpp"

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

/// What has the last word about the time, beside the feed's own pace.
std::string decided_by(std::string_view code, const std::vector<DueInput>& inputs) {
  const auto at = [&](std::string_view name) { return span_of(seconds_of(inputs, name).value_or(0)); };
  if (code == "floor") return fmt::format("It is held to every {}: schedule.floor allows no more.", at("floor"));
  if (code == "ceiling")
    return "It is asked more often than its pace asks for: schedule.ceiling is the longest interval.";
  if (code == "dormant") return "It has been silent for so long that it is asked as rarely as schedule.ceiling allows.";
  if (code == "gap") return "It is asked twice as often for now: posts were missed between the last two fetches.";
  if (code == "override") return "That is its own interval_min, or its host's min_interval.";
  if (code == "max_age" || code == "expires")
    return fmt::format("Its server says that the answer is fresh for {}.", at(code));
  if (code == "fresh_clamped") return "Its server asks for longer than is believed.";
  if (code == "ttl" || code == "sy") return fmt::format("Its document asks for {} between two fetches.", at(code));
  if (code == "skip_hours" || code == "skip_days") return "Its document asks to leave these hours or days out.";
  if (code == "retry_after") return "Its server asked to be left alone until then (Retry-After).";
  if (code == "retry_after_clamped") return "Its server asked for a longer pause than is believed (Retry-After).";
  if (code == "rate_limited") return "Its server says that it is asked too often (429).";
  if (code == "host_spacing") return "Other feeds of the same host go before it, one at a time.";
  if (code == "host_backoff") return "Its host asks to be left alone, so all its feeds wait.";
  if (code == "second_look") return "A push came before its post did: it is looked at once more.";
  if (code == "pages") return "Pages of its older posts are read, one after the other.";
  if (code == "websub_fallback") return "Its hub pushes what is new; polling only makes certain.";
  if (code == "first" || code == "spread") return "It has not been fetched yet; new feeds take turns.";
  if (code == "manual") return "Somebody asked for it.";
  return "";
}

}  // namespace

std::string schedule_words(std::string_view why, std::string_view due_reason) {
  if (due_reason == "paused") return "It is paused by its operator; feedmill resume lets it go on.";
  if (due_reason == "orphaned") {
    return "It is paused because it is in no channel any more; when that has gone on for feeds.orphan_after it is "
           "removed. "
           "A channel that it is put into, feedmill add or feedmill resume let it go on.";
  }
  const std::vector<DueInput> inputs = decode_due_inputs(why);
  if (due_reason == "second_look") return decided_by(due_reason, inputs);  // whatever its pace
  std::string text;
  const auto add = [&text](const std::string& sentence) {
    if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
  };
  for (const DueInput& input : inputs) {
    if (input.code == "adaptive")
      add(fmt::format("By its pace about every {}: {}.", span_of(input.seconds), pace_words(input.from)));
    if (input.from.starts_with("n="))
      add(fmt::format("Tried again after {}: failure number {} in a row.", span_of(input.seconds),
                      input.from.substr(2)));
  }
  add(decided_by(due_reason, inputs));
  const auto floor = seconds_of(inputs, "floor");
  if (floor && due_reason != "floor") add(fmt::format("Never more often than every {}.", span_of(*floor)));
  const auto phase = seconds_of(inputs, "phase");
  if (phase && *phase >= 60) add(fmt::format("And {} later, so that feeds do not come due together.", span_of(*phase)));
  return text;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string remedy_words(std::string_view reason, std::string_view url) {
  const std::string feed_url = shell_word(redact(url));  // SECURITY K1
  const auto starts = [&](std::string_view group) { return reason.starts_with(group); };
  if (reason == "tls.verify") {
    return fmt::format(
        "Its certificate is not trusted. Is it expired or for another name, the publisher must mend it; is it of an "
        "authority of your own: feedmill set {} ca_file=FILE.",
        feed_url);
  }
  if (starts("tls.")) return "The server speaks no TLS that is safe today; the publisher must mend that.";
  if (reason == "egress.port")
    return "Feeds may not use this port. If it is meant: egress.ports, or a policy for this feed "
           "([egress.policy.NAME]).";
  if (starts("egress.")) {
    return fmt::format(
        "The address is private, and closed to feeds. If it is meant: egress.allow for all, or [egress.policy.NAME] "
        "and "
        "feedmill set {} policy=NAME.",
        feed_url);
  }
  if (reason == "status.forbidden" || reason == "status.challenge") {
    return fmt::format(
        "The server refuses us. Set fetch.contact, so that it can see who asks, and ask the publisher to let feed "
        "readers in; feedmill check {} shows the whole answer.",
        feed_url);
  }
  if (reason == "status.auth")
    return fmt::format("It wants a password: feedmill set {} auth=NAME, with [feed_auth.NAME] in the configuration.",
                       feed_url);
  if (reason == "status.not_found" || reason == "dns.not_found" || reason == "url.invalid") {
    return fmt::format(
        "Is the address right? feedmill discover finds the feeds of a site's page. Of a feed that was never read: "
        "feedmill remove {0}, then add the right one; else feedmill move {0} NEW.",
        feed_url);
  }
  if (reason == "status.rate_limited") {
    return fmt::format(
        "Nothing: it is asked again after the pause it wants. Does it go on: feedmill set {} interval_min=6h.",
        feed_url);
  }
  if (reason == "status.gone") {
    return fmt::format(
        "Its server says that it has ended. It is asked again, and called gone when that is still so after a day; once "
        "it is: feedmill remove {}.",
        feed_url);
  }
  if (reason == "parse.not_a_feed")
    return fmt::format("There is a page, and no feed: feedmill discover {} lists those it names.", feed_url);
  if (starts("dns.")) return "Are the name servers right? feedmill doctor tries them.";
  if (reason == "limit.body") return "It is larger than fetch.max_body, which may be 64MiB at most.";
  if (reason == "limit.header") return "Its server sends more header than is read; the publisher must mend that.";
  if (reason == "limit.ratio")
    return "It unpacks to suspiciously many times what was sent, as bombs do; the publisher must mend that.";
  if (reason == "limit.coding")
    return "Its server packs it in a way that was not asked for, or twice (Content-Encoding); the publisher must mend "
           "that: gzip, br and zstd are read.";
  return "";
}

}  // namespace feedmill
