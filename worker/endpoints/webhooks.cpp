#include "worker/endpoints/webhooks.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/records/tokens.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/republish/republishing.hpp"
#include "worker/webhooks/secret.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_name = 200, most_notes = 5;
constexpr std::array<std::string_view, 8> keys = {"url",  "name",    "feed",    "channel",
                                                  "type", "initial", "private", "at_once"};

std::string set_truth(std::string_view key, std::string_view value, std::optional<bool>& to) {
  if (value != "yes" && value != "no") return fmt::format("{} must be yes or no", key);
  to = value == "yes";
  return {};
}

std::string set_number(std::uint64_t value, std::optional<std::uint32_t>& to) {
  if (value < 1 || value > most_requests_at_once) return fmt::format("at_once must be 1 to {}", most_requests_at_once);
  to = static_cast<std::uint32_t>(value);
  return {};
}

/// One more of a list; "" empties it.
void add_to(std::optional<std::vector<std::string>>& list, std::string_view value) {
  if (!list) list.emplace();
  if (!value.empty()) list->emplace_back(value);
}

std::string read_texts(std::string_view member, const json::value& value, std::optional<std::vector<std::string>>& to) {
  to.emplace();
  if (value.is_null()) return {};
  auto wrong = fmt::format("{}: expected a list of strings", member);
  if (!value.is_array()) return wrong;
  for (const json::value& one : value.get_array()) {
    if (!one.is_string()) return wrong;
    to->emplace_back(one.get_string());
  }
  return {};
}

json::array array_of(std::span<const std::string> texts) {
  json::array all;
  for (const std::string& text : texts) all.emplace_back(json::string(redact(text)));
  return all;
}

std::string counted(std::size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

json::value text_or_none(const std::string& text) {
  return text.empty() ? json::value() : json::value(json::string(text));
}

bool signs_with_old(const Subscriber& webhook, Milliseconds now) {
  return secrets_in_use(webhook, now).size() > 1;
}

}  // namespace

std::string change_webhook(WebhookSettings& settings, std::string_view assignment) {
  const std::size_t sign = assignment.find('=');
  const std::string_view key = assignment.substr(0, sign);
  if (sign == std::string_view::npos || std::ranges::find(keys, key) == keys.end()) {
    return fmt::format("\"{}\" cannot be set: write key=value; keys: {}", key.substr(0, 100), fmt::join(keys, " "));
  }
  const std::string_view value = assignment.substr(sign + 1);
  if (key == "url") settings.url = value;
  if (key == "name") settings.name = value;
  if (key == "feed") add_to(settings.feeds, value);
  if (key == "channel") add_to(settings.channels, value);
  if (key == "type") add_to(settings.types, value);
  if (key == "initial") return set_truth(key, value, settings.initial);
  if (key == "private") return set_truth(key, value, settings.with_private);
  if (key == "at_once") {
    std::uint64_t number = 0;
    read_number(value, number);
    return set_number(number, settings.at_once);
  }
  return {};
}

std::string read_webhook(const json::object& object, WebhookSettings& settings, bool& unknown) {
  for (const auto& [key, value] : object) {
    const std::string_view name = key;
    std::string wrong;
    if (name == "feeds" || name == "channels" || name == "types") {
      auto& list = name == "feeds" ? settings.feeds : name == "channels" ? settings.channels : settings.types;
      wrong = read_texts(name, value, list);
    } else if (name == "url" || name == "name") {
      if (!value.is_string()) return fmt::format("{}: expected a string", name);
      (name == "url" ? settings.url : settings.name) = std::string(value.get_string());
    } else if (name == "initial" || name == "private") {
      if (!value.is_bool()) return fmt::format("{}: expected true or false", name);
      (name == "initial" ? settings.initial : settings.with_private) = value.get_bool();
    } else if (name == "at_once") {
      const bool is_number = value.is_int64() && value.get_int64() > 0;
      wrong = set_number(is_number ? static_cast<std::uint64_t>(value.get_int64()) : 0, settings.at_once);
    } else {
      unknown = true;
      wrong = fmt::format("{} is not a member of a webhook", name.substr(0, 100));
    }
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string set_webhook(const WebhookSettings& settings, Subscriber& webhook) {
  if (settings.url) {
    const auto url = canonical_feed_url(*settings.url);
    if (!url) return fmt::format("\"{}\" is not a webhook URL: {}", redact(*settings.url), url.error());
    webhook.url = *url;
  }
  if (settings.name) {
    if (settings.name->size() > longest_name || !is_clean_text(*settings.name)) {
      return fmt::format("a name is at most {} bytes of valid UTF-8", longest_name);
    }
    webhook.name = *settings.name;
  }
  if (settings.feeds) {
    webhook.filter.feeds.clear();
    for (const std::string& feed : *settings.feeds) {
      const auto url = canonical_feed_url(feed);
      if (!url) return fmt::format("\"{}\" is not a feed URL: {}", redact(feed), url.error());
      auto& feeds = webhook.filter.feeds;
      if (std::ranges::find(feeds, *url) == feeds.end()) feeds.push_back(*url);
    }
  }
  if (settings.channels) {
    for (const std::string& uid : *settings.channels) {
      const std::string_view wrong = unfit_text_name(uid);
      if (!wrong.empty()) return fmt::format("invalid channel name \"{}\": {}", uid, wrong);
    }
    webhook.filter.channels = *settings.channels;
  }
  if (settings.types) webhook.filter.types = *settings.types;
  if (settings.initial) webhook.filter.initial = *settings.initial;
  if (settings.with_private) webhook.with_private = *settings.with_private;
  if (settings.at_once) webhook.at_once = *settings.at_once;
  return objection_to(webhook.filter);
}

namespace {

/// As Feeds::records(), each from the partition that has it.
StoreResult<std::vector<std::optional<FeedRecord>>> records_of(Store& store, const std::vector<std::string>& feeds) {
  if (!store.is_of_all()) return Feeds(store).records(feeds);
  std::vector<std::optional<FeedRecord>> all(feeds.size());
  for (const auto& [partition, places] : shares_of(feeds, store.options_at(0).partition.count)) {
    std::vector<std::string> share;
    for (const std::size_t place : places) share.push_back(feeds[place]);
    Store home(store.options_at(partition));
    auto found = Feeds(home).records(share);
    if (!found) return found.error();
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move((*found)[i]);
  }
  return all;
}

/// Whether there is a channel of that name, in any partition where it is asked of all.
StoreResult<bool> is_known_channel(Store& store, const std::string& uid) {
  if (!store.is_of_all()) return Channels(store).is_known(uid);
  for (unsigned i = 0; i < store.options_at(0).partition.count; ++i) {
    Store one(store.options_at(i));
    auto known = Channels(one).is_known(uid);
    if (!known || *known) return known;
  }
  return false;
}

}  // namespace

StoreResult<FilterRemarks> remarks_on(Store& store, const Subscriber& webhook) {
  FilterRemarks remarks;
  const auto& feeds = webhook.filter.feeds;
  const auto records = records_of(store, feeds);
  if (!records) return records.error();
  std::size_t left_out = 0;
  const auto note = [&](std::string text) {
    if (remarks.notes.size() < most_notes)
      remarks.notes.push_back(std::move(text));
    else
      ++left_out;
  };
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (!(*records)[i]) {
      const auto its = store.is_of_all() ? std::nullopt : store.elsewhere(feeds[i]);
      remarks.unknown_feed =
          its ? fmt::format("partition {} has {}, but the webhook belongs to another", *its, redact(feeds[i]))
              : fmt::format("no such feed: {}; add it first", redact(feeds[i]));
      return remarks;
    }
    if (webhook.with_private) continue;
    const Republishing republishing = republishing_of(*(*records)[i]);
    if (republishing.allowed) continue;
    note(fmt::format("no events of {} are sent without \"private\": {}", redact(feeds[i]), republishing.why_not));
  }
  for (const std::string& uid : webhook.filter.channels) {
    const auto known = is_known_channel(store, uid);
    if (!known) return known.error();
    if (!*known) note(fmt::format("no channel {} yet: no events are sent until it exists", uid));
  }
  if (left_out > 0) remarks.notes.push_back(fmt::format("and {} more", left_out));
  return remarks;
}

bool is_webhook_id(std::string_view id) {
  return id.starts_with("wh_") && is_token(id.substr(3));
}

json::object webhook_json(const Subscriber& webhook, Milliseconds now) {
  const std::string public_key = public_key_of(webhook.secret);
  json::object row;
  row["id"] = webhook.id;
  row["name"] = text_or_none(webhook.name);
  row["url"] = redact(webhook.url);
  row["state"] = to_string(webhook.state);
  row["feeds"] = array_of(webhook.filter.feeds);
  row["channels"] = array_of(webhook.filter.channels);
  row["types"] = array_of(webhook.filter.types);
  row["initial"] = webhook.filter.initial;
  row["private"] = webhook.with_private;
  row["at_once"] = webhook.at_once;
  row["signature"] = public_key.empty() ? "v1" : "v1a";
  row["public_key"] = text_or_none(public_key);
  row["old_until"] = signs_with_old(webhook, now) ? time_json(webhook.old_until) : json::value();
  row["created"] = time_json(webhook.created);
  row["cursor"] = text_or_none(webhook.cursor);
  row["due"] = webhook.due ? time_json(*webhook.due) : json::value();
  row["delivered"] = webhook.delivered;
  row["last_success"] = time_json(webhook.last_success);
  row["failures"] = webhook.failures;
  row["failing_since"] = time_json(webhook.failing_since);
  row["last_error"] = text_or_none(redact(webhook.last_error));
  return row;
}

std::vector<std::pair<std::string, std::string>> webhook_lines(const Subscriber& webhook, Milliseconds now) {
  std::vector<std::pair<std::string, std::string>> lines{{"id", webhook.id}};
  const auto add = [&](std::string_view name, std::string value) {
    if (!value.empty()) lines.emplace_back(name, std::move(value));
  };
  add("name", webhook.name);
  add("url", redact(webhook.url));
  add("state", std::string(to_string(webhook.state)));
  add("told of", filter_words(webhook.filter));
  for (const std::string& feed : webhook.filter.feeds) add("feed", redact(feed));
  for (const std::string& uid : webhook.filter.channels) add("channel", uid);
  add("private feeds", webhook.with_private ? "yes" : "no");
  add("at once", std::to_string(webhook.at_once));
  const std::string public_key = public_key_of(webhook.secret);
  add("signed with", public_key.empty() ? "HMAC-SHA256" : "ed25519, " + public_key);
  if (signs_with_old(webhook, now)) add("old secret", "also signs, until " + rfc3339(webhook.old_until));
  add("created", rfc3339(webhook.created));
  add("cursor", webhook.cursor);
  if (webhook.due) add("next request", from_now(*webhook.due, now));
  add("delivered", std::to_string(webhook.delivered));
  if (webhook.last_success.count() > 0) add("last success", rfc3339(webhook.last_success));
  if (webhook.failures > 0) {
    add("failing", fmt::format("{} in a row, since {}", webhook.failures, rfc3339(webhook.failing_since)));
  }
  add("last error", redact(webhook.last_error));
  return lines;
}

std::string filter_words(const EventFilter& filter) {
  std::string words = filter.types.empty() ? "all events" : fmt::format("{}", fmt::join(filter.types, " "));
  if (!filter.of_all_feeds()) words += " of ";
  if (!filter.feeds.empty()) words += counted(filter.feeds.size(), "feed");
  if (!filter.feeds.empty() && !filter.channels.empty()) words += " and ";
  if (!filter.channels.empty()) words += counted(filter.channels.size(), "channel");
  return filter.initial ? words + ", including first imports" : words;
}

ReceiverKey receiver_key(std::string_view secret) {
  std::string public_key = public_key_of(secret);
  if (!public_key.empty()) return {"public_key", std::move(public_key)};
  return {"secret", std::string(secret)};
}

}  // namespace feedmill
