// The verbs of pushing out: who is told of events, and what others may subscribe to. What each is called, takes and
// needs.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "storage/records/event_filter.hpp"
#include "worker/base/terminal.hpp"
#include "worker/command_line/arguments.hpp"
#include "worker/command_line/verb_row.hpp"
#include "worker/endpoints/webhooks.hpp"

namespace feedmill {

struct WebhookVerb {
  static constexpr VerbRow family{"webhook", "Send events to webhooks as signed POSTs", ""};
  static constexpr std::string_view fails_as = family.name;
  static constexpr bool is_of_all = true;

 protected:
  static void take_id(Arguments& line, std::string& id) {
    line.required("ID", id, "Webhook id (see webhook list)");
    line.check([&id] {
      if (!is_webhook_id(id)) refuse("ID is not a webhook id (see feedmill webhook list)");
    });
  }
};

struct WebhookAddVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook add", "Register a webhook; prints its id and, once, its signing secret",
                               "feedmill webhook add https://example.org/hook --type post_created --channel anna/news"};
  WebhookSettings settings;
  std::string url;
  bool ed25519 = false;

  void take(Arguments& line) {
    line.required("URL", url, "Absolute http or https URL that accepts POSTs");
    const auto set = [&](const std::string& name, const std::string& key, const std::string& unit, const char* about) {
      const auto read = [this, name, key](const std::string& text) {
        const std::string wrong = change_webhook(settings, key + "=" + text);
        if (!wrong.empty()) refuse(name + ": " + visible(wrong));
      };
      line.values(name, unit, read, about);
    };
    const auto flag = [&](const std::string& name, const std::string& key, const char* about) {
      line.flag(
          name, [this, key] { change_webhook(settings, key + "=yes"); }, about);
    };
    set("--feed", "feed", "URL", "Only events of this feed; may be repeated");
    set("--channel", "channel", "CHANNEL", "Only events of feeds in this channel; may be repeated");
    line.among_channels();
    set("--type", "type", "TYPE", "Only events of this type; may be repeated");
    line.among(outside_event_types);
    flag("--initial", "initial", "Also send the posts that a new feed starts with");
    flag("--private", "private",
         "Also events of feeds that are not re-published: those with credentials or a secret URL");
    set("--name", "name", "NAME", "Display name");
    set("--at-once", "at_once", "N", "Concurrent requests (default 1, which keeps the order)");
    line.flag("--ed25519", ed25519, "Sign with a key pair; the receiver gets only the public key");
    line.check([this] {
      settings.url = url;
      Subscriber scratch;
      const std::string wrong = set_webhook(settings, scratch);
      if (!wrong.empty()) refuse(visible(wrong));
    });
  }
};
int run_verb(const WebhookAddVerb& verb, const VerbContext& context);

struct WebhookListVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook list", "List all webhooks, one per line", "feedmill webhook list --json"};
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const WebhookListVerb& verb, const VerbContext& context);

struct WebhookShowVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook show", "Show everything about one webhook except its secret",
                               "feedmill webhook show wh_aaaaaaaaaaaaaaaaaaaaaaaaaa"};
  std::string id;

  void take(Arguments& line) { take_id(line, id); }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const WebhookShowVerb& verb, const VerbContext& context);

struct WebhookSetVerb : WebhookVerb {
  static constexpr VerbRow row{
      "webhook set", "Change a webhook: key=value; values given for a key replace all its old ones, key= clears it",
      "feedmill webhook set wh_aaaaaaaaaaaaaaaaaaaaaaaaaa type=post_created type=post_modified feed="};
  static constexpr std::array<std::string_view, 8> keys = {"url",  "name",    "feed",    "channel",
                                                           "type", "initial", "private", "at_once"};
  std::string id;
  std::vector<std::string> changes;
  WebhookSettings settings;  ///< what they say

  void take(Arguments& line) {
    take_id(line, id);
    line.required("KEY=VALUE", changes, "Keys: url name feed channel type initial private at_once");
    line.among(keys, "=");
    line.check([this] {
      for (const std::string& change : changes) {
        const std::string wrong = change_webhook(settings, change);
        if (!wrong.empty()) refuse(visible(wrong));
      }
      Subscriber scratch;
      const std::string wrong = set_webhook(settings, scratch);
      if (!wrong.empty()) refuse(visible(wrong));
    });
  }
};
int run_verb(const WebhookSetVerb& verb, const VerbContext& context);

struct WebhookRotateVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook rotate",
                               "Create a new secret, printed once; the old one also signs for a while",
                               "feedmill webhook rotate wh_aaaaaaaaaaaaaaaaaaaaaaaaaa --old-for 7d"};
  std::string id;
  std::chrono::milliseconds old_for = usual_rotation;

  void take(Arguments& line) {
    take_id(line, id);
    const auto read = [this](const std::string& text) {
      old_for = duration("--old-for", text, std::chrono::milliseconds(0), longest_rotation, "24h");
    };
    line.value("--old-for", "DURATION", read, "How long the old secret also signs (default 24h, at most 30d)");
  }
};
int run_verb(const WebhookRotateVerb& verb, const VerbContext& context);

struct WebhookResumeVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook resume", "Resume a suspended webhook where it stopped",
                               "feedmill webhook resume wh_aaaaaaaaaaaaaaaaaaaaaaaaaa"};
  std::string id;

  void take(Arguments& line) { take_id(line, id); }
};
int run_verb(const WebhookResumeVerb& verb, const VerbContext& context);

struct WebhookRemoveVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook remove", "Delete a webhook",
                               "feedmill webhook remove wh_aaaaaaaaaaaaaaaaaaaaaaaaaa --yes"};
  std::string id;
  bool yes = false;

  void take(Arguments& line) {
    take_id(line, id);
    line.flag("--yes", yes, "Do not ask");
  }
};
int run_verb(const WebhookRemoveVerb& verb, const VerbContext& context);

struct WebhookTestVerb : WebhookVerb {
  static constexpr VerbRow row{"webhook test", "Send a signed sample to a webhook now, from this machine",
                               "feedmill webhook test wh_aaaaaaaaaaaaaaaaaaaaaaaaaa",
                               "1 when it is not accepted: no answer, or a status outside 200 to 299"};
  std::string id;

  void take(Arguments& line) { take_id(line, id); }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const WebhookTestVerb& verb, const VerbContext& context);

struct TopicVerb {
  static constexpr VerbRow family{"topic", "Share feeds and channels at unguessable URLs", ""};
  static constexpr std::string_view fails_as = family.name;
  std::string url, channel;  ///< one of them, "" = the other

 protected:
  void take_topic(Arguments& line, bool required) {
    line.optional("URL", url, "Address of a feed");
    line.value("--channel", "CHANNEL", channel, "This channel instead");
    line.among_channels();
    line.check([this, required] {
      if (!channel.empty()) check_name("channel", channel);
      if (required && url.empty() && channel.empty()) refuse("URL is missing (or --channel)");
      if (!url.empty() && !channel.empty()) refuse("URL and --channel exclude each other");
    });
  }
};

struct TopicAddVerb : TopicVerb {
  static constexpr VerbRow row{"topic add", "Share a feed's or a channel's posts; prints their URLs",
                               "feedmill topic add https://example.org/feed.xml"};

  void take(Arguments& line) {
    take_topic(line, true);
    line.check([this] {
      if (!channel.empty()) check_name("channel", channel, unfit_text_name);
    });
  }
};
int run_verb(const TopicAddVerb& verb, const VerbContext& context);

struct TopicListVerb : TopicVerb {
  static constexpr VerbRow row{"topic list", "List all shared topics with their URLs", "feedmill topic list --json"};
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const TopicListVerb& verb, const VerbContext& context);

struct TopicRemoveVerb : TopicVerb {
  static constexpr VerbRow row{"topic remove", "Stop sharing: the URL stops working, subscriptions are denied",
                               "feedmill topic remove --channel anna/news --yes"};
  bool yes = false;

  void take(Arguments& line) {
    take_topic(line, true);
    line.flag("--yes", yes, "Do not ask");
  }
};
int run_verb(const TopicRemoveVerb& verb, const VerbContext& context);

struct TopicSubscribersVerb : TopicVerb {
  static constexpr VerbRow row{"topic subscribers", "List hub subscribers of all topics or of one",
                               "feedmill topic subscribers --channel anna/news"};

  void take(Arguments& line) { take_topic(line, false); }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const TopicSubscribersVerb& verb, const VerbContext& context);

struct PushVerbs {
  static constexpr std::string_view group = "Pushing out";
  using List = std::tuple<WebhookAddVerb, WebhookListVerb, WebhookShowVerb, WebhookSetVerb, WebhookRotateVerb,
                          WebhookResumeVerb, WebhookRemoveVerb, WebhookTestVerb, TopicAddVerb, TopicListVerb,
                          TopicRemoveVerb, TopicSubscribersVerb>;
};

}  // namespace feedmill
