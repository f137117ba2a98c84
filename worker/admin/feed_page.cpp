#include <algorithm>
#include <ranges>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/records/json_members.hpp"
#include "worker/admin/feed_pages.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/units.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/words/due_text.hpp"
#include "worker/words/plain_words.hpp"
#include "worker/words/push_text.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t entries_shown = 20, signals_shown = 20;

/// Labels for the lines of `explain`.
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
  Html html;
  html.add(
      "<section aria-labelledby=\"feed\"><h1 id=\"feed\"><bdi>{}</bdi></h1>\n<p>{}</p>\n<p>{} <span "
      "class=\"soft\">{}</span></p>\n",
      short_text(title.empty() ? record.feed_url : title, 300), outside_link(record.feed_url, record.feed_url),
      state_word(record.state.state), state_meaning(record.state.state));
  if (!description.empty()) html.add("<p class=\"soft\"><bdi>{}</bdi></p>\n", short_text(description, 400));
  if (!link.empty()) html.add("<p>Site: {}</p>\n", outside_link(link, short_text(link, 200)));
  html.add("<p class=\"sub\">More feeds on {}</p></section>\n", host_link(story.explained.host.name));
  return html;
}

std::vector<PushFact> pushes_of(const Explained& explained) {
  return push_facts(explained.record, explained.subscription, explained.now);
}

/// Commands to copy; nothing if the URL holds a secret.
Html commands_section(const FeedStory& story) {
  const std::string& url = story.explained.record.feed_url;
  Html html;
  if (redact(url) != url) return html;
  const std::string word = shell_word(url);
  const bool paused = story.explained.record.state.state == "paused";
  html.add("<ul class=\"commands\">\n");
  if (!paused) html.add("<li>Fetch it now <code>feedmill refresh --ignore-floor {}</code></li>\n", word);
  if (story.explained.record.state.state == "never_read")
    html.add("<li>Fetch it from another URL <code>feedmill move {} NEW</code></li>\n", word);
  html.add("<li>Trace every step of a fetch <code>feedmill check {}</code></li>\n", word);
  html.add("<li>{} <code>feedmill {} {}</code></li>\n", paused ? "Fetch it again" : "Stop fetching it for now",
           paused ? "resume" : "pause", word);
  html.add(
      "<li>Limit how often it is fetched <code>feedmill set {} interval_min=6h</code></li>\n"
      "<li>Remove it and its posts <code>feedmill remove {}</code></li>\n"
      "</ul>",
      word, word);
  return section("commands", "Commands", html);
}

/// Nothing without a hub or subscription.
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
    if (name == "websub" && has_pushes) continue;  // it has a section of its own
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

/// Nothing without moves.
Html moves_section(const FeedStory& story) {
  const FeedAddress& address = story.explained.record.state.address;
  std::vector<Html> items;
  if (!address.moving.to.empty()) {
    items.emplace_back().add("<p>May be moving to <bdi>{}</bdi></p><p class=\"sub\">seen {} times since {}</p>",
                             short_text(address.moving.to, 300), address.moving.sightings,
                             time_ago(address.moving.since, story.explained.now));
  }
  for (const Move& move : address.moves | std::views::reverse) {
    items.emplace_back().add(
        "<p>To <bdi>{}</bdi> <span class=\"soft\">{}</span></p><p class=\"sub\">from <bdi>{}</bdi></p>",
        short_text(move.to, 300), time_ago(move.at, story.explained.now), short_text(move.from, 300));
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

/// The title of its post, else what the event says.
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
  Html html;
  if (items.empty())
    html.add("<p class=\"empty\">None among the newest {} of all feeds.</p>", signals_looked_at);
  else
    html.add("{}<p class=\"sub\">Of the newest {} of all feeds.</p>", items_list(items, items.size()),
             signals_looked_at);
  return section("signals", "Events", html);
}

}  // namespace

StoreResult<std::optional<FeedStory>> read_feed_story(Store& store, const HostRules& rules,
                                                      const std::string& feed_url) {
  auto explained = read_explained(store, rules, feed_url);
  if (!explained) return explained.error();
  if (!*explained) return std::optional<FeedStory>();
  FeedStory story;
  story.explained = std::move(**explained);
  auto entries = Entries(store).all_by_order(feed_url, entries_shown);
  if (!entries) return entries.error();
  story.entries = std::move(*entries);
  auto events = EventStream(store).of_feed(feed_url, signals_looked_at, signals_shown);
  if (!events) return events.error();
  story.events = std::move(*events);
  return std::optional(std::move(story));
}

Html feed_page(const FeedStory& story) {
  Html html;
  html.add("{}<div class=\"columns\">\n{}{}{}", head_section(story), story_section(story),
           pushes_section(story.explained), entries_section(story));
  html.add("{}{}{}{}</div>\n", figures_section(story), commands_section(story), moves_section(story),
           signals_section(story));
  return html;
}

}  // namespace feedmill
