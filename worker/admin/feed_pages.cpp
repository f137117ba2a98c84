#include "worker/admin/feed_pages.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/records/json_members.hpp"
#include "storage/store/deployment.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t entries_shown = 20, signals_shown = 20;

/// Labels for the lines of `feedmill explain`.
std::string_view line_name(std::string_view name) {
  if (name == "detail") return "Server message";
  if (name == "next") return "Next";
  if (name == "why") return "Because";
  if (name == "do") return "What to do";
  if (name == "held") return "Held back";
  if (name == "websub") return "Push (WebSub)";
  if (name == "cache") return "Validators";
  if (name == "identity") return "Entries identified by";
  if (name == "fetched") return "Fetched";
  if (name == "settings") return "Settings";
  if (name == "host") return "Host";
  if (name == "pages") return "Older pages";
  if (name == "state") return "State";
  return name;
}

Html head_section(const FeedStory& story) {
  const FeedRecord& record = story.explained.record;
  const std::string title = readable_field(record.feed, "title"),
                    description = readable_field(record.feed, "description");
  const std::string_view link = field_of(record.feed, "link");
  Html html(
      "<section aria-labelledby=\"feed\"><h1 id=\"feed\"><bdi>{}</bdi></h1>\n<p>{}</p>\n<p>{} <span "
      "class=\"soft\">{}</span></p>\n",
      short_text(title.empty() ? record.feed_url : title, 300), outside_link(record.feed_url, record.feed_url),
      state_word(record.state.state), state_meaning(record.state.state));
  if (!description.empty()) html.add("<p class=\"soft\"><bdi>{}</bdi></p>\n", short_text(description, 400));
  if (!link.empty()) html.add("<p>Site: {}</p>\n", outside_link(link, short_text(link, 200)));
  return std::move(html.add("<p class=\"sub\">More feeds on {}</p></section>\n", host_link(story.explained.host.name)));
}

std::vector<PushFact> pushes_of(const Explained& explained) {
  return push_facts(explained.record, explained.subscription, explained.now);
}

/// Commands to copy; empty if the URL contains a secret.
Html commands_section(const FeedStory& story) {
  const std::string& url = story.explained.record.feed_url;
  if (redact(url) != url) return {};
  const std::string word = shell_word(url);
  const bool paused = story.explained.record.state.state == "paused";
  Html html("<ul class=\"commands\">\n");
  if (!paused) html.add("<li>Fetch it now <code>feedmill refresh --ignore-floor {}</code></li>\n", word);
  if (story.explained.record.state.state == "never_read")
    html.add("<li>Fetch it from another URL <code>feedmill move {} NEW</code></li>\n", word);
  html.add("<li>Trace every step of a fetch <code>feedmill check {}</code></li>\n", word);
  html.add("<li>{} <code>feedmill {} {}</code></li>\n", paused ? "Fetch it again" : "Stop fetching it until resumed",
           paused ? "resume" : "pause", word);
  html.add(
      "<li>Limit how often it is fetched <code>feedmill set {} interval_min=6h</code></li>\n"
      "<li>Remove it and its posts <code>feedmill remove {}</code></li>\n"
      "</ul>",
      word, word);
  return section("commands", "Commands", html);
}

/// Empty without a hub or subscription.
Html pushes_section(const Explained& explained) {
  Html facts;
  for (const PushFact& fact : pushes_of(explained)) add_fact(facts, fact.name, short_text(fact.value, 1'000));
  if (facts.empty()) return {};
  const std::string& state = explained.record.state.push.standing.state;
  const auto meaning = std::ranges::find(push_state_texts(), state, &PushStateText::name);
  Html html = facts_list(facts);
  if (meaning != push_state_texts().end()) html.add("\n<p class=\"sub\">{}</p>", meaning->meaning);
  return section("pushes", "Push (WebSub)", html);
}

Html story_section(const FeedStory& story) {
  const Explained& explained = story.explained;
  const bool has_pushes = !pushes_of(explained).empty();
  Html facts;
  for (const auto& [name, value] : explain_lines(explained)) {
    if (name == "websub" && has_pushes) continue;  // it has its own section
    add_fact(facts, line_name(name), short_text(value, 1'000));
  }
  Html html = facts_list(facts);
  if (redact(explained.record.feed_url) == explained.record.feed_url)
    html.add("\n<p class=\"sub\"><a href=\"/explain?url={}\">As JSON</a></p>",
             percent_encoded(explained.record.feed_url));
  return section("story", "Its story", html);
}

Html figures_section(const FeedStory& story) {
  const FeedState& state = story.explained.record.state;
  const PollCounts& counts = state.counts;
  const auto count = [](std::uint64_t number) { return grouped(static_cast<std::int64_t>(number)); };
  Html html;
  add_fact(html, "Polls",
           fmt::format("{}: {} found something new, {} were not modified, {} failed", count(counts.polls),
                       percent_text(counts.polls_with_new, counts.polls),
                       percent_text(counts.polls_not_modified, counts.polls),
                       percent_text(counts.polls_failed, counts.polls)));
  add_fact(html, "Entries",
           fmt::format("{} kept, {} seen, {:.1f} a week", count(story.explained.record.entries),
                       count(counts.total_new), state.rhythm.new_per_week));
  add_fact(html, "Document",
           state.document.body_bytes == 0 ? ""
                                          : fmt::format("{}, {} on the wire", bytes_text(state.document.body_bytes),
                                                        bytes_text(state.document.wire_bytes)));
  add_fact(html, "Received", bytes_text(counts.total_wire_bytes));
  if (state.quarantine.count > 0) add_fact(html, "Quarantines", count(state.quarantine.count));
  return section("figures", "Since it was added", facts_list(html));
}

Html entries_section(const FeedStory& story) {
  std::vector<Html> items;
  for (const StoredEntry& entry : story.entries) {
    const std::string title = readable_field(entry.fields, "title");
    const std::string &link = entry.get("link"), &author = entry.get("author");
    Html& item = items.emplace_back();
    item.add("<p>{} <span class=\"soft\">{}</span></p>",
             outside_link(link, short_text(title.empty() ? (link.empty() ? "without a title" : link) : title, 300)),
             time_ago(Milliseconds(place_of(entry).score * 1000), story.explained.now));
    item.add("<p class=\"sub\">{}{}{}", entry.id, author.empty() ? "" : ", by ", short_text(author, 100));
    item.add(", guid <bdi>{}</bdi></p>", short_text(entry.get("guid"), 200));
  }
  return section("entries", "Latest entries",
                 items.empty() ? nothing("No entries are kept.") : items_list(items, items.size()));
}

/// Empty without moves.
Html moves_section(const FeedStory& story) {
  const FeedAddress& address = story.explained.record.state.address;
  std::vector<Html> items;
  if (!address.moving.to.empty()) {
    items.emplace_back().add("<p>May be moving to <bdi>{}</bdi></p><p class=\"sub\">seen {} times since {}</p>",
                             short_text(address.moving.to, 300), address.moving.sightings,
                             time_ago(address.moving.since, story.explained.now));
  }
  for (auto move = address.moves.rbegin(); move != address.moves.rend(); ++move) {
    items.emplace_back().add(
        "<p>To <bdi>{}</bdi> <span class=\"soft\">{}</span></p><p class=\"sub\">from <bdi>{}</bdi></p>",
        short_text(move->to, 300), time_ago(move->at, story.explained.now), short_text(move->from, 300));
  }
  return items.empty() ? Html() : section("moves", "Moves", items_list(items, items.size()));
}

std::string_view signal_word(std::string_view type) {
  if (type == "post_created") return "New entry";
  if (type == "post_modified") return "Entry changed";
  if (type == "post_deleted") return "Entry deleted";
  if (type == "post_trimmed") return "Entry trimmed";
  if (type == "post_mended") return "Entry form changed";
  if (type == "post_same_as") return "Entry also published elsewhere";
  if (type == "feed_created") return "First read";
  if (type == "feed_modified") return "Feed changed";
  if (type == "feed_mended") return "Feed form changed";
  if (type == "feed_removed") return "Removed";
  if (type == "feed_moved") return "Moved";
  if (type == "feed_failing") return "Failing";
  if (type == "feed_recovered") return "Recovered";
  if (type == "feed_gone") return "Gone";
  if (type == "feed_rekeyed") return "New ids for old entries";
  if (type == "feed_gap") return "Entries were missed";
  if (type == "feed_paused") return "Paused";
  if (type == "request_done") return "Request done";
  if (type == "request_failed") return "Request refused";
  return type;
}

/// The title of the event's post, or else the data of the event in words.
std::string about(const json::object& event) {
  const json::value* const data = event.if_contains("data");
  if (data == nullptr || !data->is_object()) return {};
  const std::string_view title = string_member(data->get_object(), "title");
  return title.empty() ? event_words(data->get_object()) : std::string(title);
}

Html signals_section(const FeedStory& story) {
  std::vector<Html> items;
  for (const EventRecord& record : story.events) {
    boost::system::error_code bad;
    const json::value value = json::parse(record.json, bad);
    const json::object event = bad || !value.is_object() ? json::object() : value.get_object();
    items.emplace_back().add("<p>{} <bdi>{}</bdi> <span class=\"soft\">{}</span></p>", signal_word(record.type),
                             short_text(about(event), 200), time_ago(timestamp_of(event), story.explained.now));
  }
  return section("signals", "Events",
                 items.empty()
                     ? Html("<p class=\"empty\">None among the newest {} of all feeds.</p>", signals_looked_at)
                     : Html("{}<p class=\"sub\">Of the newest {} of all feeds.</p>", items_list(items, items.size()),
                            signals_looked_at));
}

}  // namespace

std::optional<FeedStory> read_feed_story(Store& store, const HostRules& rules, const std::string& feed_url) {
  auto explained = answered(read_explained(store, rules, feed_url));
  if (!explained) return std::nullopt;
  FeedStory story{std::move(*explained), {}, {}};
  story.entries = answered(Entries(store).all_by_order(feed_url, entries_shown));
  story.events = answered(EventStream(store).of_feed(feed_url, signals_looked_at, signals_shown));
  return story;
}

Html feed_page(const FeedStory& story) {
  return Html("{}<div class=\"columns\">\n{}{}{}{}{}{}{}</div>\n", head_section(story), story_section(story),
              pushes_section(story.explained), entries_section(story), figures_section(story), commands_section(story),
              moves_section(story), signals_section(story));
}

namespace {

constexpr std::size_t feeds_on_page = 50;
constexpr std::size_t longest_part = 200;

/// Removes spaces at both ends and cuts the text to at most `longest` bytes of whole characters.
std::string trimmed(std::string_view text, std::size_t longest) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(utf8_prefix(text, longest));
}

/// Parses a cursor such as "1763690000000-3".
std::optional<FeedPlace> read_place(std::string_view text) {
  const auto dash = text.rfind('-');
  FeedPlace place;
  if (dash == std::string_view::npos || !read_number(text.substr(0, dash), place.score) ||
      !read_number(text.substr(dash + 1), place.behind))
    return {};
  return place;
}

/// The URL of the list with these filters.
std::string address(const FeedListQuery& query) {
  std::string text = "/status/feeds";
  char sign = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text += sign;
    text.append(name).append("=").append(percent_encoded(value));
    sign = '&';
  };
  add("state", query.state);
  add("host", query.host);
  add("q", query.part);
  if (query.after) add("after", fmt::format("{}-{}", query.after->score, query.after->behind));
  return text;
}

void add_chip(Html& html, const FeedListQuery& query, std::string_view state, std::string_view name,
              std::uint64_t count) {
  html.add("<li><a href=\"{}\"{}>{} {}</a></li>\n", address({std::string(state), query.host, query.part, {}}),
           query.state == state ? Html(" aria-current=\"true\"") : Html(), name, count);
}

Html chips(const FeedListQuery& query, const FleetFigures& fleet) {
  Html html("<nav aria-label=\"Feeds by state\"><ul class=\"chips\">\n");
  add_chip(html, query, "", "all", fleet.feeds);
  for (const auto& [state, meaning] : all_states()) {
    const std::uint64_t count = feeds_in(fleet.states, state);
    if (count > 0 || query.state == state) add_chip(html, query, state, state, count);
  }
  return std::move(html.add("</ul></nav>\n"));
}

/// A GET form for the list that keeps the filters set by links.
Html search_form(const FeedListQuery& query) {
  Html html(
      "<form action=\"/status/feeds\" role=\"search\"><label for=\"q\">Part of the title or URL</label>"
      "<input id=\"q\" name=\"q\" type=\"search\" maxlength=\"200\" value=\"{}\">",
      query.part);
  if (!query.state.empty()) html.add("<input type=\"hidden\" name=\"state\" value=\"{}\">", query.state);
  if (!query.host.empty()) html.add("<input type=\"hidden\" name=\"host\" value=\"{}\">", query.host);
  return std::move(html.add("<button>Search</button></form>\n"));
}

bool searches(const FeedListQuery& query) {
  return !query.host.empty() || !query.part.empty();
}

/// "status: not found" for "status.not_found".
std::string reason_text(std::string_view code) {
  std::string text;
  for (const char c : short_text(code, 40)) {
    if (c == '.') text += ':';
    text += c == '.' || c == '_' ? ' ' : c;
  }
  return text;
}

Html name_cell(const FeedRecord& feed) {
  const std::string title = readable_field(feed.feed, "title");
  Html html = feed_link(feed.feed_url, short_text(title.empty() ? feed.feed_url : title, 120));
  if (!title.empty()) html.add(" <span class=\"sub\">{}</span>", short_text(feed.feed_url, 160));
  return html;
}

Html due_cell(const FeedRecord& feed, Milliseconds now) {
  if (!feed.claim.empty()) return Html("being fetched");
  if (feed.in_line) return Html("in line <span class=\"sub\">{}</span>", time_ago(*feed.due, now));
  if (!feed.due) return Html("never");
  return with_remark(time_ago(*feed.due, now), reason_text(feed.state.due.reason));
}

Html feeds_table(const FeedListQuery& query, const FeedList& list) {
  Table table({{"Feed"}, {"State", "words"}, {"Due", "words"}}, list.exact ? "The feed with this URL."
                                                                : query.state.empty() || query.state == "healthy"
                                                                    ? "Sorted by due time, soonest first."
                                                                    : "Sorted by state change, latest first.");
  for (const FeedRecord& feed : list.page.feeds) {
    const LastRefresh& last = feed.state.last;
    table.row(name_cell(feed),
              with_remark(state_word(feed.state.state),
                          last.at.count() == 0 ? "never fetched" : reason_text(last_result(last))),
              due_cell(feed, list.fleet.now));
  }
  return table.html();
}

Html said_of_none(const FeedListQuery& query, const FeedList& list) {
  if (list.fleet.feeds == 0)
    return Html("No feeds yet: <code>feedmill add URL</code> or <code>feedmill import FILE</code>.");
  if (list.page.next) return Html("None among the {} feeds checked so far.", list.page.looked_at);
  if (searches(query) || query.after) return Html("No further matching feeds.");
  return Html("No feed is {}.", query.state);
}

}  // namespace

FeedListQuery read_feed_list_query(std::string_view query) {
  FeedListQuery wanted;
  const std::string state = parameter(query, "state").value_or("");
  if (!state_meaning(state).empty()) wanted.state = state;
  wanted.host = lower(trimmed(parameter(query, "host").value_or(""), 255));
  wanted.part = trimmed(parameter(query, "q").value_or(""), longest_part);
  wanted.after = read_place(parameter(query, "after").value_or(""));
  return wanted;
}

FeedList read_feed_list(Store& store, const FeedListQuery& query) {
  FeedList list;
  list.fleet = answered(Fleet(store).figures());
  if (const auto url = canonical_feed_url(query.part); url) {
    if (auto record = answered(Feeds(store).records(std::span(&*url, 1))).front()) {
      list.exact = true;
      list.page.feeds.push_back(std::move(*record));
      return list;
    }
  }
  FeedQuery wanted{query.state, query.part, query.host, query.after, feeds_on_page};
  // Filtering by state costs a look-up for each feed.
  if (searches(query) && query.state != "healthy") wanted.look = 20'000;
  list.page = answered(Feeds(store).page(wanted));
  return list;
}

Html feed_list_page(const FeedListQuery& query, const FeedList& list) {
  const FeedPage& page = list.page;
  Html html("<section aria-labelledby=\"feeds\"><h1 id=\"feeds\">Feeds</h1>\n{}{}", search_form(query),
            chips(query, list.fleet));
  if (searches(query)) {
    html.add("<p>");
    if (!query.host.empty()) html.add("On <b><bdi>{}</bdi></b>. ", query.host);
    if (!query.part.empty()) html.add("With <b><bdi>{}</bdi></b> in the title or URL. ", query.part);
    html.add("<a href=\"{}\">All feeds</a></p>\n", address({query.state, "", "", {}}));
  }
  html.add("{}<p class=\"pager\">", page.feeds.empty() ? Html("<p class=\"empty\">{}</p>", said_of_none(query, list))
                                                       : feeds_table(query, list));
  if (query.after)
    html.add("<a href=\"{}\">From the beginning</a>", address({query.state, query.host, query.part, {}}));
  if (page.next) {
    html.add("<a href=\"{}\" rel=\"next\">{}</a>", address({query.state, query.host, query.part, page.next}),
             page.feeds.size() < feeds_on_page ? "Search on" : "The next 50");
  }
  html.add("</p>\n");
  if (searches(query) && page.next)
    html.add("<p class=\"sub\">{} of {} feeds were checked for this page.</p>\n", page.looked_at, page.total);
  const std::uint64_t paused = feeds_in(list.fleet.states, "paused");
  if (query.state.empty() && paused > 0 && !list.exact)
    html.add("<p class=\"sub\">Paused feeds ({}) are not scheduled and are listed under their state.</p>\n", paused);
  if (!query.state.empty() && query.state != "healthy" && page.total < feeds_in(list.fleet.states, query.state)) {
    html.add(
        "<p class=\"sub\">{} more entered this state before lists were kept: <code>feedmill list --state {}</code> "
        "lists all.</p>\n",
        feeds_in(list.fleet.states, query.state) - page.total, query.state);
  }
  return std::move(html.add("</section>\n"));
}

}  // namespace feedmill
