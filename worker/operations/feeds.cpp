// Requests that change feeds (docs/REQUESTS.md).
#include "storage/feeds/feeds.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/logins.hpp"
#include "storage/records/event_record.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/operations/families.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {
namespace feed_operations {
namespace {

namespace json = boost::json;
using Kind = OperationField::Kind;

constexpr std::size_t longest_offer = 200;  // bytes of the title of a feed offered by a page
constexpr std::array<std::string_view, 3> page_choices{"yes", "first", "no"};

constexpr OperationField channel{.name = "channel",
                                 .kind = Kind::new_channel,
                                 .unit = "CHANNEL",
                                 .about = "Also put the feed into this channel, which is created if it does not exist",
                                 .told = true};
constexpr OperationField title{
    .name = "title",
    .unit = "TEXT",
    .about = "Title of the feed in this channel, empty: its own; without a channel, until it is read",
    .clears = true,
    .most = longest_title};
constexpr OperationField page{
    .name = "page",
    .kind = Kind::choice,
    .unit = "CHOICE",
    .about = "Whether the URL may be a web page: yes adds its only feed, first the first of several (default: no)",
    .choices = page_choices};
constexpr OperationField settings{
    .name = "settings", .kind = Kind::settings, .unit = "SETTINGS", .about = "Settings as of feedmill set"};
constexpr OperationField changes = [] {
  OperationField field = settings;
  field.required = true;
  return field;
}();
constexpr OperationField to{
    .name = "to", .kind = Kind::url, .unit = "URL", .about = "URL to fetch from now on", .told = true};
constexpr OperationField undo{
    .name = "undo", .kind = Kind::truth, .about = "Instead: fetch again from the URL before the last move"};

constexpr std::array of_one{feed_field};
constexpr std::array of_add{in_body(feed_field, "Absolute http or https URL"), channel, title, page, settings};
constexpr std::array of_set{feed_field, changes};
constexpr std::array of_move{feed_field, to, undo};

std::string offers_json(const std::vector<FoundFeed>& feeds) {
  json::array offers;
  for (const FoundFeed& one : feeds) {
    offers.push_back({{"url", one.url},
                      {"title", visible(utf8_prefix(one.title, longest_offer))},
                      {"format", one.format},
                      {"entries", one.entries}});
  }
  return json::serialize(offers);
}

/// Only the owner of a login may use it. Every client of the stream can write any `app`, so the API must have vouched
/// for a queued request (SECURITY K7).
void check_owner(const RequestCall& call, const std::string& login) {
  const Asked& asked = call.request.asked;
  const bool owns =
      owner_of_login(login) == asked.app && (asked.id.empty() || answered(RequestStream(call.store).is_vouched(asked)));
  if (owns) return;
  throw OperationRefused{"bad_value",
                         fmt::format("auth: only the API token {} may use its login {}, over HTTP; an operator may: "
                                     "feedmill set",
                                     visible(owner_of_login(login)), visible(login))};
}

/// Applies the settings in the request to `stored`. Throws OperationRefused.
void change(FeedSettings& stored, const RequestCall& call) {
  const FeedSettings before = stored;
  std::string remedy;
  for (const auto& [name, value] : call.given().object("settings")) {
    if (remedy.empty())
      remedy = change_setting(stored, fmt::format("{}={}", std::string(name), std::string(value.as_string())));
  }
  if (remedy.empty() && !stored.ca_file.empty() && stored.ca_file != before.ca_file)
    remedy = "ca_file: programs cannot name files on the workers' machines; an operator sets it: feedmill set";
  if (remedy.empty()) remedy = check_settings(stored);
  if (remedy.empty()) remedy = unusable_names(call.rules.config, before, stored);
  if (!remedy.empty()) throw OperationRefused{"bad_value", remedy};
  if (!names_login(stored.auth) || stored.auth == before.auth) return;
  check_owner(call, stored.auth);
  remedy = missing_login(call.store, before, stored);
  if (!remedy.empty()) throw OperationRefused{"bad_value", remedy};
}

/// Refuses a URL that would not be fetched. Does not resolve names, which is done only when fetching.
void check_address(const std::string& url, const FeedSettings& its, const RequestRules& rules) {
  const EgressView view = rules.egress.of_text({url, its});
  if (view.verdict == EgressView::Verdict::refused)
    throw OperationRefused{"refused_address", view.reason + ": " + view.detail};
}

/// The feed to add for a page. Empty while the page is probed, or if the request was answered here.
std::optional<std::string> feed_of_page(const RequestCall& call) {
  const std::string url = call.given().text("url");
  const auto record = answered(Feeds(call.store).records(std::span(&url, 1))).front();
  // A feed that was fetched, but never read, may be a page that was added by mistake.
  const bool is_doubtful = record && record->state.last.at.count() != 0 && record->state.last.success.count() == 0;
  if (record && !is_doubtful) return url;
  const FoundPage* const found = call.page(call.request);
  if (found == nullptr) return std::nullopt;
  if (record && found->feeds.empty()) return url;
  if (found->feeds.empty()) throw OperationRefused{found->reason, found->detail};
  if (found->feeds.size() == 1 || call.given().text("page") == "first") return found->feeds.front().url;
  Asked asked = call.request.asked;
  asked.members += "\"feeds\":" + offers_json(found->feeds) + ",";
  answered(call.requests.fail(asked, "many_feeds", "the page has several feeds: add one, or use page first"));
  return std::nullopt;
}

void add(const RequestCall& call) {
  FeedSettings its;
  change(its, call);
  const std::string url = call.given().text("url");
  check_address(url, its, call.rules);
  Asked asked = call.request.asked;
  NewFeed one{url, Milliseconds(0), settings_json(its)};
  if (call.given().has("title")) one.title = fold_space(call.given().text("title"));
  if (is_page(call.request)) {
    const auto found = feed_of_page(call);
    if (!found) return;
    check_address(*found, its, call.rules);
    refuse_elsewhere(call.store, *found);
    one.feed_url = *found;
    asked.feed_url = *found;
    asked.members += fmt::format("\"feed\":{},", json_string(*found));
  }
  const Requests::Step step(call.requests, asked, call.request.op);
  answered(
      Feeds(call.store).add(std::span(&one, 1), call.given().text("channel"), call.rules.config.schedule.import_rate));
}

void remove(const RequestCall& call) {
  const auto step = call.step();
  const std::string url = call.given().text("url");
  Feeds feeds(call.store);
  // After the first step, a registered feed with that URL is one that was added since.
  call.note.empty() ? answered(feeds.remove(url, call.parts)) : answered(feeds.finish_removal(url, call.parts));
}

void set(const RequestCall& call) {
  const std::string url = call.given().text("url");
  Feeds feeds(call.store);
  for (;;) {  // retry if another call changed the settings
    const auto record = answered(feeds.records(std::span(&url, 1))).front();
    if (!record) throw OperationRefused{"no_such_feed", ""};
    const std::string& stored = record->state.settings;
    const FeedSettings before = read_settings(stored);
    FeedSettings its = before;
    change(its, call);
    const auto step = call.step();
    if (answered(feeds.change_settings(url, stored, settings_json(its), changes_hub(before, its))) !=
        SettingsChange::outdated) {
      return;
    }
  }
}

void pause(const RequestCall& call) {
  const auto step = call.step();
  const std::string url = call.given().text("url");
  answered(Feeds(call.store).pause(std::span(&url, 1)));
}

void resume(const RequestCall& call) {
  const auto step = call.step();
  const ResumedFeed one{call.given().text("url"), Milliseconds(0)};
  answered(Feeds(call.store).resume(std::span(&one, 1), call.rules.config.schedule.floor));
}

void refresh(const RequestCall& call) {
  const auto step = call.step();
  const std::string url = call.given().text("url");
  answered(Feeds(call.store).wake(std::span(&url, 1), call.rules.config.schedule.manual_floor, false));
}

void check_move(const OperationValues& given) {
  if (given.has("to") == given.truth("undo"))
    throw OperationRefused{"missing_field", "a move needs either to, or undo yes"};
}

void move(const RequestCall& call) {
  const std::string url = call.given().text("url"), target = call.given().text("to");
  Feeds feeds(call.store);
  const auto record = answered(feeds.records(std::span(&url, 1))).front();
  const FeedSettings its = read_settings(record ? record->state.settings : "");
  if (names_login(its.auth)) check_owner(call, its.auth);
  if (!target.empty()) check_address(target, its, call.rules);
  MoveResult became = MoveResult::busy;
  while (became == MoveResult::busy) {
    const auto step = call.step();
    became = answered(target.empty() ? feeds.undo_move(url) : feeds.move(url, target));
  }
  // If move() found this out before running its script, the request is not answered yet.
  if (became == MoveResult::same) answered(call.requests.done(call.request.asked, "same"));
  if (became == MoveResult::nothing) throw OperationRefused{"not_moved", ""};
  if (became == MoveResult::unknown) {
    const auto told = call.requests.fail(call.request.asked, "no_such_feed");
    if (!told && !Requests::is_in_other_hands(told.error())) throw StoreFailure{told.error()};
  }
}

constexpr std::array operations = {
    request(RequestOp::add, "POST", "/feeds", "Add a feed", of_add, add),
    request(RequestOp::set, "PATCH", "/feed", "Change settings of a feed; an empty value removes a setting", of_set,
            set),
    request(RequestOp::remove, "DELETE", "/feed", "Remove a feed and everything stored for it", of_one, remove),
    request(RequestOp::pause, "POST", "/feed/pause", "Stop fetching a feed until it is resumed", of_one, pause),
    request(RequestOp::resume, "POST", "/feed/resume", "Fetch a paused feed again", of_one, resume),
    request(RequestOp::refresh, "POST", "/feed/refresh", "Fetch a feed soon", of_one, refresh),
    request(RequestOp::move, "POST", "/feed/move", "Fetch a feed from another URL; its keys and entries stay", of_move,
            move, check_move),
};

}  // namespace
}  // namespace feed_operations

OperationFamily feed_family() {
  return {.operations = feed_operations::operations};
}

}  // namespace feedmill
