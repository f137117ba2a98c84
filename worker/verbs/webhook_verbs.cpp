#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/push_out/subscribers.hpp"
#include "worker/base/redact.hpp"
#include "worker/command_line/push_verbs.hpp"
#include "worker/endpoints/sample.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/push_notes.hpp"
#include "worker/webhooks/secret.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/plain_words.hpp"

namespace feedmill {
namespace {

constexpr std::size_t webhooks_a_call = 200;  // records of a call

VerbFailure no_such_webhook(const VerbContext& context, const std::string& id) {
  const std::string_view beside = context.store.is_of_all()       ? ", or --partition for one partition's"
                                  : context.config.signals.merged ? ", or without --partition for all"
                                                                  : "";
  return {exits::no, fmt::format("no such webhook: {} (see feedmill webhook list{})", id, beside)};
}

Subscriber known_webhook(const VerbContext& context, const std::string& id) {
  auto webhook = or_fail(Subscribers(context.store).get(id));
  if (!webhook) throw no_such_webhook(context, id);
  return std::move(*webhook);
}

/// Ends the verb where nothing would ever be sent: names are looked up, nothing is asked.
void check_address(const std::string& url, const VerbContext& context) {
  constexpr std::chrono::seconds patience{2};
  const EgressQuestion question{url, {}};
  const EgressView view = EgressViewer(look_options(context.config)).of({&question, 1}, patience).front();
  if (view.verdict == EgressView::Verdict::refused) {
    throw VerbFailure{exits::bad_input, fmt::format("events will not be sent to {}: {}: {}; {}", visible(redact(url)),
                                                    view.reason, visible(view.detail),
                                                    "addresses closed to feeds are closed to webhooks (egress.allow)")};
  }
  if (url.starts_with("http:")) {
    context.terminal.note("the URL is not https: events are sent in clear text");
  }
}

/// Ends the verb where it would be told of a feed that is none, and notes what else it will not be told of.
void check_filter(const Subscriber& webhook, const VerbContext& context) {
  const FilterRemarks remarks = or_fail(remarks_on(context.store, webhook));
  if (!remarks.unknown_feed.empty()) {
    throw VerbFailure{exits::no, visible(remarks.unknown_feed)};
  }
  for (const std::string& note : remarks.notes) context.terminal.note(visible(note));
}

/// What the receiver is configured with, which is told this once.
void tell_key(std::string_view result, const std::string& id, const std::string& secret, Terminal& terminal) {
  const ReceiverKey key = receiver_key(secret);
  terminal.tell({{"result", result}, {"id", id}, {key.name, key.value}},
                {{std::string(result), id}, {key.name == "secret" ? "secret" : "public key", key.value}}, 10);
  if (key.name == "secret") terminal.note("the secret will not be shown again: give it to the receiver now");
}

void tell_result(std::string_view result, const std::string& id, Terminal& terminal) {
  terminal.tell({{"id", id}, {"result", result}}, fmt::format("{} {}", result, id));
}

}  // namespace

void note_without_push_out(const VerbContext& context) {
  const auto led = Subscribers(context.store).is_led();
  if (led.has_error() || *led) return;
  context.terminal.note(context.store.is_of_all()
                            ? "no worker that serves all partitions pushes out yet: feedmill run --push-out "
                              "(worker.push_out, without --partition)"
                            : "no worker pushes out yet: feedmill run --push-out (worker.push_out)");
}

int run_verb(const WebhookAddVerb& verb, const VerbContext& context) {
  Subscriber webhook;
  set_webhook(verb.settings, webhook);  // it was checked when it was read
  check_address(webhook.url, context);
  check_filter(webhook, context);
  webhook.secret = verb.ed25519 ? new_signing_key() : new_shared_secret();
  const std::string id = or_fail(Subscribers(context.store).add(webhook));
  tell_key("added", id, webhook.secret, context.terminal);
  context.terminal.flush();
  note_without_push_out(context);
  return exits::done;
}

int run_verb(const WebhookListVerb&, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const Milliseconds now = or_fail(context.store.now());
  Columns table(terminal,
                {{"ID", 29}, {"STATE", 9}, {"LAST SUCCESS", 14}, {"FAILURES", 8, true}, {"NAME", 16}, {"URL", 0}});
  table.heading();
  bool any = false;
  for (std::string after;;) {
    stop_if_interrupted();
    const auto page = or_fail(Subscribers(context.store).list(Subscriber::Kind::webhook, after, webhooks_a_call));
    for (const Subscriber& webhook : page) {
      any = true;
      table.row(webhook_json(webhook, now),
                {webhook.id, std::string(to_string(webhook.state)), from_now(webhook.last_success, now),
                 std::to_string(webhook.failures), webhook.name.empty() ? "-" : webhook.name, redact(webhook.url)});
    }
    if (page.size() < webhooks_a_call) break;
    after = page.back().id;
  }
  if (!any) {
    terminal.note(context.config.redis.partition ? "no webhooks of this partition yet"
                                                 : "no webhooks yet: feedmill webhook add URL");
  }
  return exits::done;
}

int run_verb(const WebhookShowVerb& verb, const VerbContext& context) {
  const Subscriber webhook = known_webhook(context, verb.id);
  const Milliseconds now = or_fail(context.store.now());
  context.terminal.tell(webhook_json(webhook, now), webhook_lines(webhook, now), 14);
  return exits::done;
}

int run_verb(const WebhookSetVerb& verb, const VerbContext& context) {
  Subscriber webhook = known_webhook(context, verb.id);
  const std::string wrong = set_webhook(verb.settings, webhook);  // too many names together with those there
  if (!wrong.empty()) throw VerbFailure{exits::bad_input, visible(wrong)};
  if (verb.settings.url) check_address(webhook.url, context);
  if (verb.settings.feeds || verb.settings.channels || verb.settings.with_private) check_filter(webhook, context);
  if (!or_fail(Subscribers(context.store).edit(webhook))) throw no_such_webhook(context, verb.id);
  tell_result("set", verb.id, context.terminal);
  return exits::done;
}

int run_verb(const WebhookRotateVerb& verb, const VerbContext& context) {
  const Subscriber webhook = known_webhook(context, verb.id);
  const bool had_two = secrets_in_use(webhook, or_fail(context.store.now())).size() > 1;
  const std::string secret = public_key_of(webhook.secret).empty() ? new_shared_secret() : new_signing_key();
  if (!or_fail(Subscribers(context.store).rotate(verb.id, secret, verb.old_for)))
    throw no_such_webhook(context, verb.id);
  tell_key("rotated", verb.id, secret, context.terminal);
  if (had_two) {
    context.terminal.note(
        fmt::format("only the newest two secrets sign: the previous one, valid until {}, no longer signs",
                    rfc3339(webhook.old_until)));
  }
  return exits::done;
}

int run_verb(const WebhookResumeVerb& verb, const VerbContext& context) {
  if (!or_fail(Subscribers(context.store).resume(verb.id))) throw no_such_webhook(context, verb.id);
  tell_result("resumed", verb.id, context.terminal);
  note_without_push_out(context);
  return exits::done;
}

int run_verb(const WebhookRemoveVerb& verb, const VerbContext& context) {
  known_webhook(context, verb.id);
  if (!verb.yes) {
    confirm(context.terminal, fmt::format("Delete webhook {}?", verb.id),
            "this deletes a webhook with its cursor; use --yes", "nothing was deleted");
  }
  if (!or_fail(Subscribers(context.store).remove(verb.id))) throw no_such_webhook(context, verb.id);
  tell_result("removed", verb.id, context.terminal);
  return exits::done;
}

int run_verb(const WebhookTestVerb& verb, const VerbContext& context) {
  const Subscriber webhook = known_webhook(context, verb.id);
  const Milliseconds now = or_fail(context.store.now());
  const SampleAnswer answer =
      send_sample_now(look_options(context.config), webhook, now, context.config.push_out.timeout);
  boost::json::object row{{"result", answer.taken() ? "taken" : "not_taken"}};
  for (const auto& [name, value] : sample_json(verb.id, answer)) row[name] = value;
  const std::string why = answer.trouble();
  const std::string what =
      answer.status == 0 ? why : fmt::format("status {}{}", answer.status, why.empty() ? "" : ", " + why);
  context.terminal.tell(std::move(row), fmt::format("{} {} in {} ms", answer.taken() ? "taken:" : "not accepted:", what,
                                                    answer.took.count()));
  return answer.taken() ? exits::done : exits::no;
}

}  // namespace feedmill
