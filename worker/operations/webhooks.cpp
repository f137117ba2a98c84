// Webhooks: URLs that receive events as signed POSTs (OPERATIONS B4 to B6).
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/records/tokens.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/operations/families.hpp"
#include "worker/republish/topic_page.hpp"
#include "worker/republish/webhook_message.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {

namespace webhook_operations {
namespace {

namespace json = boost::json;
using Access = Operation::Access;
using Kind = OperationField::Kind;

constexpr std::size_t most_notes = 5, most_names = 1000, records_at_once = 10;
constexpr std::size_t most_examined = 1000, examined_at_once = 200;  // feeds, to count private ones
constexpr int most_tries = 10;
constexpr std::int64_t longest_rotation = std::int64_t{30} * 24 * 3600 * 1000;
constexpr std::array<std::string_view, 2> signatures{"v1", "v1a"};

constexpr OperationField id{.name = "id",
                            .kind = Kind::webhook,
                            .unit = "ID",
                            .about = "Webhook id (see webhook list)",
                            .required = true,
                            .is_key = true};
constexpr OperationField url{.name = "url",
                             .kind = Kind::url,
                             .unit = "URL",
                             .about = "Absolute http or https URL that accepts POSTs",
                             .required = true};
constexpr OperationField signature{.name = "signature",
                                   .kind = Kind::choice,
                                   .flag = "--signature",
                                   .unit = "SCHEME",
                                   .about =
                                       "v1: HMAC-SHA256 with a shared secret (default); v1a: ed25519, where the "
                                       "receiver gets only the public key",
                                   .choices = signatures};
constexpr OperationField feeds{.name = "feeds",
                               .kind = Kind::feed,
                               .flag = "--feed",
                               .unit = "URL",
                               .about = "Only events of this feed; may be repeated",
                               .repeats = true,
                               .most = most_names};
constexpr OperationField channels{.name = "channels",
                                  .kind = Kind::channel,
                                  .flag = "--channel",
                                  .unit = "CHANNEL",
                                  .about = "Only events of feeds in this channel; may be repeated",
                                  .repeats = true,
                                  .most = most_names};
constexpr OperationField types{.name = "types",
                               .kind = Kind::choice,
                               .flag = "--type",
                               .unit = "TYPE",
                               .about = "Only events of this type; may be repeated",
                               .repeats = true,
                               .most = most_names,
                               .choices = outside_event_types};
constexpr OperationField initial{.name = "initial",
                                 .kind = Kind::truth,
                                 .flag = "--initial",
                                 .about = "Also send the posts that a new feed starts with"};
constexpr OperationField with_private{
    .name = "private",
    .kind = Kind::truth,
    .flag = "--private",
    .about = "Also events of feeds that are not re-published: those with credentials or a secret URL"};
constexpr OperationField name{.name = "name", .flag = "--name", .unit = "NAME", .about = "Display name", .most = 200};
constexpr OperationField at_once{.name = "at_once",
                                 .kind = Kind::number,
                                 .flag = "--at-once",
                                 .unit = "N",
                                 .about = "Concurrent requests (default 1, which keeps the order)",
                                 .least = 1,
                                 .most = 100};
constexpr OperationField old_for{.name = "old_for",
                                 .kind = Kind::duration,
                                 .flag = "--old-for",
                                 .unit = "DURATION",
                                 .about = "How long the old secret also signs (default 24h, at most 30d)",
                                 .most = longest_rotation};

constexpr std::array of_one{id};
constexpr std::array of_add{url, feeds, channels, types, initial, with_private, name, at_once, signature};
constexpr OperationField new_url = [] {
  OperationField field = url;
  field.required = false;
  return field;
}();
constexpr std::array of_set{id, new_url, name, feeds, channels, types, initial, with_private, at_once};
constexpr std::array of_rotate{id, old_for};
constexpr std::array columns{OperationColumn{"id", 29},           OperationColumn{"state", 9},
                             OperationColumn{"last_success", 20}, OperationColumn{"failures", 8, {}, true},
                             OperationColumn{"name", 16},         OperationColumn{"url", 0}};

json::array redacted(const std::vector<std::string>& texts) {
  json::array all;
  for (const std::string& text : texts) all.emplace_back(json::string(redact(text)));
  return all;
}

/// A webhook without its secret and the secrets in its URL (SECURITY K1).
json::object row_of(const Subscriber& webhook, Milliseconds now) {
  const std::string public_key = public_key_of(webhook.secret);
  const bool signs_with_old = secrets_in_use(webhook, now).size() > 1;
  json::object row;
  row["id"] = webhook.id;
  row["name"] = text_or_null(webhook.name);
  row["url"] = redact(webhook.url);
  row["state"] = to_string(webhook.state);
  row["feeds"] = redacted(webhook.filter.feeds);
  row["channels"] = redacted(webhook.filter.channels);
  row["types"] = redacted(webhook.filter.types);
  row["initial"] = webhook.filter.initial;
  row["private"] = webhook.with_private;
  row["at_once"] = webhook.at_once;
  row["signature"] = public_key.empty() ? "v1" : "v1a";
  row["public_key"] = text_or_null(public_key);
  row["old_until"] = signs_with_old ? time_json(webhook.old_until) : json::value();
  row["created"] = time_json(webhook.created);
  row["cursor"] = text_or_null(webhook.cursor);
  row["due"] = webhook.due ? time_json(*webhook.due) : json::value();
  row["delivered"] = webhook.delivered;
  row["withheld"] = webhook.withheld;
  row["last_success"] = time_json(webhook.last_success);
  row["failures"] = webhook.failures;
  row["failing_since"] = time_json(webhook.failing_since);
  row["last_error"] = text_or_null(redact(webhook.last_error));
  return row;
}

OperationRefused no_such_webhook(const OperationContext& context, const std::string& its_id) {
  const std::string_view where = context.store.is_of_all() ? " in the merged stream; name a partition for its own" : "";
  return {"no_such_webhook", fmt::format("no such webhook: {}{}", its_id, where)};
}

Subscriber known(const OperationContext& context, const OperationValues& given) {
  auto webhook = answered(Subscribers(context.store).get(given.text("id")));
  if (!webhook) throw no_such_webhook(context, given.text("id"));
  return std::move(*webhook);
}

/// Refuses an address that the egress policy forbids. Does not resolve host names, which is done for each request.
void check_address(const OperationContext& context, const std::string& address, std::vector<std::string>& notes) {
  const EgressView view = EgressViewer(context.fetching).of_text({address, {}});
  if (view.verdict == EgressView::Verdict::refused) {
    throw OperationRefused{"refused_address",
                           fmt::format("events will not be sent to {}: {}: {}; addresses closed to feeds are closed to "
                                       "webhooks (egress.allow)",
                                       redact(address), view.reason, view.detail)};
  }
  if (address.starts_with("http:")) notes.emplace_back("the URL is not https: events are sent in clear text");
}

/// Like Feeds::records(), but across partitions for a merged store.
std::vector<std::optional<FeedRecord>> records_of(Store& store, const std::vector<std::string>& urls) {
  if (!store.is_of_all()) return answered(Feeds(store).records(urls));
  std::vector<std::optional<FeedRecord>> all(urls.size());
  for (const auto& [partition, places] : shares_of(urls, store.options_at(0).partition.count)) {
    std::vector<std::string> share;
    for (const std::size_t place : places) share.push_back(urls[place]);
    Store home(store.options_at(partition));
    auto found = answered(Feeds(home).records(share));
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(found[i]);
  }
  return all;
}

/// Runs `work(store)`; for a merged store in each partition, until it returns true. Returns whether it did.
template <class Work>
bool any_store(Store& store, const Work& work) {
  if (!store.is_of_all()) return work(store);
  for (unsigned i = 0; i < store.options_at(0).partition.count; ++i) {
    Store one(store.options_at(i));
    if (work(one)) return true;
  }
  return false;
}

bool is_known_channel(Store& store, const std::string& uid) {
  return any_store(store, [&](Store& at) { return answered(Channels(at).is_known(uid)); });
}

/// Private feeds among those that a filter names through channels, or among all. Stops after most_examined feeds.
class PrivateFeeds {
 public:
  explicit PrivateFeeds(Store& store) : store_(store) {}

  void count_in(const std::string& channel) {
    count([&](Store& at, const std::string& after, std::size_t most) {
      return Channels(at).feeds_after(channel, after, most);
    });
  }
  void count_all() {
    count([](Store& at, const std::string& after, std::size_t most) { return Feeds(at).urls_after(after, most); });
  }
  /// The note that counts private feeds; "" without any. `where`: "in its channels".
  std::string note(std::string_view where) const {
    if (private_ == 0) return {};
    return fmt::format(
        "{} of {}{} feed{} {} {} private: no events of {} are sent without \"private\" (--private, private=yes); {}: "
        "{}",
        private_, is_full() ? "the first " : "", examined_, examined_ == 1 ? "" : "s", where,
        private_ == 1 ? "is" : "are", private_ == 1 ? "it" : "them", redact(first_), why_not_);
  }

 private:
  bool is_full() const { return examined_ >= most_examined; }

  template <class Page>
  void count(const Page& page) {
    any_store(store_, [&](Store& at) {
      for (std::string after; !is_full();) {
        const auto urls = answered(page(at, after, std::min(examined_at_once, most_examined - examined_)));
        if (urls.empty()) break;
        const auto republishing = answered(read_republishing(at, urls));
        for (std::size_t i = 0; i < urls.size(); ++i) note_feed(urls[i], republishing[i]);
        after = urls.back();
      }
      return is_full();
    });
  }
  void note_feed(const std::string& feed_url, const Republishing& republishing) {
    if (!republishing.registered) return;
    ++examined_;
    if (republishing.allowed || private_++ > 0) return;
    first_ = feed_url;
    why_not_ = republishing.why_not;
  }

  Store& store_;
  std::size_t examined_ = 0, private_ = 0;
  std::string first_, why_not_;
};

/// Refuses unknown feeds. Adds notes for private feeds, which are counted in channels, and for channels that do not
/// exist yet.
void check_filter(Store& store, const Subscriber& webhook, std::vector<std::string>& notes) {
  std::size_t left_out = 0;
  const auto note = [&](std::string text) {
    if (notes.size() < most_notes)
      notes.push_back(std::move(text));
    else
      ++left_out;
  };
  const auto& urls = webhook.filter.feeds;
  const auto records = records_of(store, urls);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const std::string feed = redact(urls[i]);
    if (!records[i]) {
      const auto its = store.is_of_all() ? std::nullopt : store.elsewhere(urls[i]);
      throw OperationRefused{"no_such_feed",
                             its ? fmt::format("partition {} has {}, but the webhook belongs to another", *its, feed)
                                 : fmt::format("no such feed: {}; add it first", feed)};
    }
    const Republishing republishing = republishing_of(*records[i]);
    if (!webhook.with_private && !republishing.allowed)
      note(fmt::format("no events of {} are sent without \"private\" (--private, private=yes): {}", feed,
                       republishing.why_not));
  }
  PrivateFeeds others(store);
  for (const std::string& uid : webhook.filter.channels) {
    if (!is_known_channel(store, uid))
      note(fmt::format("no channel {} yet: no events are sent until it exists", uid));
    else if (!webhook.with_private)
      others.count_in(uid);
  }
  if (webhook.filter.of_all_feeds() && !webhook.with_private) others.count_all();
  if (std::string text = others.note(webhook.filter.of_all_feeds() ? "in the store" : "in its channels"); !text.empty())
    note(std::move(text));
  if (left_out > 0) notes.push_back(fmt::format("and {} more", left_out));
}

/// Applies the arguments to `webhook`. Returns notes for people.
std::vector<std::string> take(const OperationContext& context, const OperationValues& given, Subscriber& webhook) {
  if (given.has("url")) webhook.url = given.text("url");
  if (given.has("name")) webhook.name = given.text("name");
  if (given.has("feeds")) webhook.filter.feeds = given.texts("feeds");
  if (given.has("channels")) webhook.filter.channels = given.texts("channels");
  if (given.has("types")) webhook.filter.types = given.texts("types");
  if (given.has("initial")) webhook.filter.initial = given.truth("initial");
  if (given.has("private")) webhook.with_private = given.truth("private");
  webhook.at_once = static_cast<std::uint32_t>(given.number("at_once", webhook.at_once));
  if (const std::string wrong = objection_to(webhook.filter); !wrong.empty())
    throw OperationRefused{"bad_value", wrong};
  std::vector<std::string> notes;
  if (given.has("url")) check_address(context, webhook.url, notes);
  const bool is_new = webhook.id.empty();
  if (is_new || given.has("feeds") || given.has("channels") || given.has("private"))
    check_filter(context.store, webhook, notes);
  return notes;
}

/// The outcome of a change: the webhook as it is stored now.
OperationOutcome changed(std::string_view result, const OperationContext& context, const std::string& its_id) {
  const auto webhook = answered(Subscribers(context.store).get(its_id));
  if (!webhook) throw no_such_webhook(context, its_id);
  return {.result = result, .rows = {row_of(*webhook, answered(context.store.now()))}};
}

/// Shows the key that the receiver needs, which is shown only once.
void show_key(OperationOutcome& outcome, const std::string& secret) {
  const std::string public_key = public_key_of(secret);
  const std::string_view member = public_key.empty() ? "secret" : "public_key";
  outcome.rows.front()[member] = public_key.empty() ? secret : public_key;
  outcome.shown = {member};
  if (public_key.empty()) outcome.notes.emplace_back("the secret will not be shown again: give it to the receiver now");
}

std::string new_secret(bool is_pair) {
  return is_pair ? new_signing_key() : new_shared_secret();
}

OperationOutcome add(const OperationContext& context, const OperationValues& given) {
  Subscriber webhook;
  std::vector<std::string> notes = take(context, given, webhook);
  webhook.secret = new_secret(given.text("signature") == "v1a");
  const auto made = Subscribers(context.store).add(webhook);
  if (!made && made.error().code == StoreError::Code::unsupported)
    throw OperationRefused{"too_many", made.error().detail};
  const std::string its_id = answered(made);
  OperationOutcome outcome = changed("added", context, its_id);
  outcome.made = "/webhook?id=" + its_id;
  show_key(outcome, webhook.secret);
  outcome.notes.insert(outcome.notes.end(), notes.begin(), notes.end());
  note_without_push_out(context.store, outcome.notes);
  return outcome;
}

OperationOutcome list(const OperationContext& context, const OperationValues& given) {
  OperationOutcome outcome;
  const auto most = static_cast<std::size_t>(given.number("limit", usual_page));
  const std::string after = given.text("after");
  if (!after.empty() && !is_webhook_id(after))
    throw OperationRefused{"bad_parameter", "after: expected `next` of the previous page"};
  const Milliseconds now = answered(context.store.now());
  outcome.next = after;
  for (std::size_t bytes = 0; outcome.rows.size() < most && bytes < enough_bytes;) {
    const std::size_t wanted = std::min(records_at_once, most - outcome.rows.size());
    const auto page = answered(Subscribers(context.store).list(Subscriber::Kind::webhook, outcome.next, wanted));
    for (const Subscriber& webhook : page) {
      bytes += to_json(webhook.filter).size();
      outcome.rows.push_back(row_of(webhook, now));
    }
    outcome.next = page.size() < wanted ? "" : page.back().id;
    if (outcome.next.empty()) break;
  }
  return outcome;
}

OperationOutcome show(const OperationContext& context, const OperationValues& given) {
  const Subscriber webhook = known(context, given);
  OperationOutcome outcome{.rows = {row_of(webhook, answered(context.store.now()))}};
  if (webhook.withheld > 0 && !webhook.with_private) {
    outcome.notes.push_back(fmt::format(
        "{} event{} of private feeds {} withheld; to send later ones: feedmill webhook set {} private=yes",
        webhook.withheld, webhook.withheld == 1 ? "" : "s", webhook.withheld == 1 ? "was" : "were", webhook.id));
  }
  return outcome;
}

OperationOutcome set(const OperationContext& context, const OperationValues& given) {
  for (int i = 0; i < most_tries; ++i) {  // retry if another call changed the webhook
    const Subscriber was = known(context, given);
    Subscriber webhook = was;
    std::vector<std::string> notes = take(context, given, webhook);
    if (!answered(Subscribers(context.store).edit(webhook, was))) continue;
    OperationOutcome outcome = changed("set", context, webhook.id);
    outcome.notes = std::move(notes);
    return outcome;
  }
  throw OperationRefused{"busy", "other calls keep changing this webhook; try again"};
}

OperationOutcome rotate(const OperationContext& context, const OperationValues& given) {
  const Subscriber webhook = known(context, given);
  const std::string secret = new_secret(!public_key_of(webhook.secret).empty());
  const Milliseconds span = given.duration("old_for", std::chrono::hours(24));
  const bool had_two = secrets_in_use(webhook, answered(context.store.now())).size() > 1;
  if (!answered(Subscribers(context.store).rotate(webhook.id, secret, span)))
    throw no_such_webhook(context, webhook.id);
  OperationOutcome outcome = changed("rotated", context, webhook.id);
  show_key(outcome, secret);
  if (had_two) {
    outcome.notes.push_back(
        fmt::format("only the newest two secrets sign: the previous one, valid until {}, no longer signs",
                    rfc3339(webhook.old_until)));
  }
  return outcome;
}

OperationOutcome resume(const OperationContext& context, const OperationValues& given) {
  const std::string its_id = given.text("id");
  if (!answered(Subscribers(context.store).resume(its_id))) throw no_such_webhook(context, its_id);
  OperationOutcome outcome = changed("resumed", context, its_id);
  note_without_push_out(context.store, outcome.notes);
  return outcome;
}

OperationOutcome remove(const OperationContext& context, const OperationValues& given) {
  const std::string its_id = given.text("id");
  if (!answered(Subscribers(context.store).remove(its_id))) throw no_such_webhook(context, its_id);
  return {.result = "removed", .rows = {{{"id", its_id}}}};
}

/// Sends a sample message. `fetcher` must outlive the call; its egress policy applies, and redirects are not followed.
/// `now`: Redis' time, for the timestamp and the secrets in use. `patience`: time limit of the response. The outcome
/// contains no secret.
boost::asio::awaitable<OperationOutcome> send_sample(Fetcher& fetcher, Subscriber webhook, Milliseconds now,
                                                     std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const WebhookMessage message = sample_message(std::chrono::floor<std::chrono::seconds>(now).count());
  const auto secrets = secrets_in_use(webhook, now);
  Fetcher::Outbound outbound;
  outbound.url = webhook.url;
  outbound.header_lines = webhook_headers(message, secrets);
  outbound.body = std::make_shared<const std::string>(message.body);
  outbound.deadline = begun + patience;
  const HttpResult result = co_await fetcher.send(std::move(outbound));
  const auto took = std::chrono::floor<std::chrono::milliseconds>(Clock::now() - begun);
  const auto* const response = std::get_if<HttpResponse>(&result);
  const auto* const failure = std::get_if<HttpFailure>(&result);
  const int status = response != nullptr ? response->status : failure->status;
  std::string trouble;
  if (failure != nullptr) trouble = visible(redact(std::string(to_string(failure->reason)) + ": " + failure->detail));
  const bool is_taken = status >= 200 && status < 300;
  json::object row{{"id", webhook.id}, {"webhook_id", message.id}};
  row["status"] = status == 0 ? json::value() : json::value(status);
  row["trouble"] = text_or_null(trouble);
  row["took_ms"] = took.count();
  co_return OperationOutcome{.result = is_taken ? "taken" : "not_taken",
                             .rows = {std::move(row)},
                             .shown = {"status", "trouble", "took_ms"},
                             .is_no = !is_taken};
}

OperationOutcome test(const OperationContext& context, const OperationValues& given) {
  OperationOutcome outcome;
  outcome.then = [webhook = known(context, given), now = answered(context.store.now()),
                  patience = context.patience](Fetcher& fetcher) -> boost::asio::awaitable<OperationOutcome> {
    return send_sample(fetcher, webhook, now, patience);
  };
  return outcome;
}

constexpr Operation operations[] = {
    {.verb = "webhook add",
     .method = "POST",
     .path = "/webhooks",
     .about = "Register a webhook; prints its id and, once, its signing secret",
     .example = "feedmill webhook add https://example.org/hook --type post_created --channel anna/news",
     .access = Access::change,
     .fields = of_add,
     .run = add},
    {.verb = "webhook list",
     .method = "GET",
     .path = "/webhooks",
     .about = "List all webhooks, one per line",
     .example = "feedmill webhook list --json",
     .access = Access::read,
     .run = list,
     .rows = "webhooks",
     .columns = columns,
     .none = "no webhooks yet: feedmill webhook add URL"},
    {.verb = "webhook show",
     .method = "GET",
     .path = "/webhook",
     .about = "Show everything about one webhook except its secret",
     .example = "feedmill webhook show wh_aaaaaaaaaaaaaaaaaaaaaaaaaa",
     .access = Access::read,
     .fields = of_one,
     .run = show},
    {.verb = "webhook set",
     .method = "PATCH",
     .path = "/webhook",
     .about =
         "Change a webhook: key=value; values given for a key replace all its old ones, key= clears a list or the name",
     .example = "feedmill webhook set wh_aaaaaaaaaaaaaaaaaaaaaaaaaa type=post_created type=post_modified feed=",
     .access = Access::change,
     .fields = of_set,
     .run = set,
     .assigns = true},
    {.verb = "webhook rotate",
     .method = "POST",
     .path = "/webhook/rotate",
     .about = "Create a new secret, printed once; the old one also signs for a while",
     .example = "feedmill webhook rotate wh_aaaaaaaaaaaaaaaaaaaaaaaaaa --old-for 7d",
     .access = Access::change,
     .fields = of_rotate,
     .run = rotate},
    {.verb = "webhook resume",
     .method = "POST",
     .path = "/webhook/resume",
     .about = "Resume a suspended webhook where it stopped",
     .example = "feedmill webhook resume wh_aaaaaaaaaaaaaaaaaaaaaaaaaa",
     .access = Access::change,
     .fields = of_one,
     .run = resume},
    {.verb = "webhook remove",
     .method = "DELETE",
     .path = "/webhook",
     .about = "Delete a webhook",
     .example = "feedmill webhook remove wh_aaaaaaaaaaaaaaaaaaaaaaaaaa --yes",
     .access = Access::change,
     .fields = of_one,
     .run = remove,
     .question = "Delete webhook {}?",
     .unasked = "this deletes a webhook with its cursor"},
    {.verb = "webhook test",
     .method = "POST",
     .path = "/webhook/test",
     .about = "Send a signed sample to a webhook now, from this machine",
     .example = "feedmill webhook test wh_aaaaaaaaaaaaaaaaaaaaaaaaaa",
     .access = Access::ask,
     .fields = of_one,
     .run = test,
     .exits = "1 when it is not accepted: no answer, or a status outside 200 to 299"},
};

}  // namespace
}  // namespace webhook_operations

bool is_webhook_id(std::string_view text) {
  return text.starts_with("wh_") && is_token(text.substr(3));
}

void note_without_push_out(Store& store, std::vector<std::string>& notes) {
  const auto led = Subscribers(store).is_led();
  if (led.has_error() || *led) return;
  notes.emplace_back(store.is_of_all() ? "no worker that serves all partitions pushes out yet: feedmill run --push-out "
                                         "(worker.push_out, without --partition)"
                                       : "no worker pushes out yet: feedmill run --push-out (worker.push_out)");
}

OperationFamily webhook_family() {
  return {.verb = "webhook",
          .about = "Send events to webhooks as signed POSTs",
          .group = "Pushing out",
          .of_all = true,
          .operations = webhook_operations::operations};
}

}  // namespace feedmill
