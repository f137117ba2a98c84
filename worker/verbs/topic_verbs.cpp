#include <optional>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/push_out/subscribers.hpp"
#include "storage/push_out/topics.hpp"
#include "worker/base/redact.hpp"
#include "worker/command_line/push_verbs.hpp"
#include "worker/endpoints/topics.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/push_notes.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

constexpr std::size_t at_a_time = 200;  // records of a call

/// The one that is named.
Topic topic_of(const std::string& url, const std::string& channel, Terminal& terminal) {
  if (!channel.empty()) return {TopicKind::channel, channel};
  return {TopicKind::feed, feed_url(terminal, url)};
}

std::string words_of(const Topic& topic) {
  return topic.kind == TopicKind::feed ? topic.name : "channel " + topic.name;
}

void tell_topic(std::string_view result, const TopicAddress& address, const VerbContext& context) {
  const std::string base = context.config.url_of_partition(context.config.push_out.public_url);
  boost::json::object row{{"result", result}};
  for (const auto& [name, value] : topic_json(address, base)) row[name] = value;
  const TopicUrls urls = topic_urls(base, address.token);
  context.terminal.tell(std::move(row),
                        {{std::string(result), words_of(address.topic)},
                         {"Atom", urls.atom},
                         {"JSON Feed", urls.json},
                         {"hub", urls.hub},
                         {"live", urls.events}},
                        10);
}

}  // namespace

int run_verb(const TopicAddVerb& verb, const VerbContext& context) {
  const Topic topic = topic_of(verb.url, verb.channel, context.terminal);
  const auto objection = or_fail(objection_to(context.store, topic));
  if (objection) {
    throw VerbFailure{exits::no,
                      fmt::format("{} is not shared: {}", visible(words_of(topic)), visible(objection->detail))};
  }
  Topics topics(context.store);
  const bool present = or_fail(topics.find(topic)).has_value();
  tell_topic(present ? "present" : "added", or_fail(topics.share(topic)), context);
  context.terminal.flush();
  if (context.config.push_out.public_url.empty()) {
    context.terminal.note("not reachable from outside: set push_out.public_url and push_out.listen");
  }
  context.terminal.note("anyone with these URLs can read it");
  note_without_push_out(context);
  return exits::done;
}

int run_verb(const TopicListVerb&, const VerbContext& context) {
  const std::string base = context.config.url_of_partition(context.config.push_out.public_url);
  bool any = false;
  for (std::string after;;) {
    stop_if_interrupted();
    const Topics::Page page = or_fail(Topics(context.store).list(after, at_a_time));
    for (const TopicAddress& address : page.topics) {
      any = true;
      context.terminal.tell(topic_json(address, base), fmt::format("{}  {}", topic_urls(base, address.token).atom,
                                                                   visible(words_of(address.topic))));
    }
    if (page.next.empty()) break;
    after = page.next;
  }
  if (!any) context.terminal.note("nothing is shared yet: feedmill topic add URL, or --channel CHANNEL");
  return exits::done;
}

int run_verb(const TopicRemoveVerb& verb, const VerbContext& context) {
  const Topic topic = topic_of(verb.url, verb.channel, context.terminal);
  Topics topics(context.store);
  const VerbFailure none{exits::no,
                         fmt::format("{} is not shared (see feedmill topic list)", visible(words_of(topic)))};
  if (!or_fail(topics.find(topic))) throw none;
  if (!verb.yes) {
    confirm(context.terminal, fmt::format("Deny all subscribers of {}?", visible(words_of(topic))),
            "the URL stops working, and subscriptions are denied; use --yes", "nothing was changed");
  }
  std::string after;
  do {
    stop_if_interrupted();
    after = or_fail(deny_subscribers(context.store, topic, after, at_a_time));
  } while (!after.empty());
  if (!or_fail(topics.unshare(topic))) throw none;
  context.terminal.tell({{topic.kind == TopicKind::feed ? "url" : "channel", topic.name}, {"result", "removed"}},
                        fmt::format("removed {}", visible(words_of(topic))));
  return exits::done;
}

int run_verb(const TopicSubscribersVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  std::optional<Topic> only;
  if (!verb.url.empty() || !verb.channel.empty()) only = topic_of(verb.url, verb.channel, terminal);
  const Milliseconds now = or_fail(context.store.now());
  Columns table(terminal, {{"STATE", 9}, {"LEASE ENDS", 12}, {"FAILURES", 8, true}, {"TOPIC", 32}, {"CALLBACK", 0}});
  table.heading();
  bool any = false;
  for (std::string after;;) {
    stop_if_interrupted();
    const auto page = or_fail(Subscribers(context.store).list(Subscriber::Kind::hub, after, at_a_time));
    for (const Subscriber& one : page) {
      if (only && one.topic != *only) continue;
      any = true;
      table.row(hub_subscriber_json(one), {std::string(to_string(one.state)), from_now(one.lease_end, now),
                                           std::to_string(one.failures), words_of(one.topic), redact(one.url)});
    }
    if (page.size() < at_a_time) break;
    after = page.back().id;
  }
  if (!any) terminal.note("no subscribers");
  return exits::done;
}

}  // namespace feedmill
