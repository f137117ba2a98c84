#include <algorithm>

#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "worker/admin/feed_pages.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::size_t feeds_on_page = 50;
constexpr std::size_t longest_part = 200;

/// Trims spaces and cuts to at most `longest` bytes of whole characters.
std::string trimmed(std::string_view text, std::size_t longest) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.size() > longest) {
    while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80) --longest;
    text = text.substr(0, longest);
  }
  return std::string(text);
}

/// Parses "1763690000000-3".
std::optional<FeedPlace> read_place(std::string_view text) {
  const auto dash = text.rfind('-');
  FeedPlace place;
  if (dash == std::string_view::npos || !read_number(text.substr(0, dash), place.score) ||
      !read_number(text.substr(dash + 1), place.behind))
    return {};
  return place;
}

/// URL of the list with these filters.
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
  FeedListQuery other{std::string(state), query.host, query.part, {}};
  if (query.state == state)
    html.add("<li><a href=\"{}\" aria-current=\"true\">{} {}</a></li>\n", address(other), name, count);
  else
    html.add("<li><a href=\"{}\">{} {}</a></li>\n", address(other), name, count);
}

Html chips(const FeedListQuery& query, const FleetFigures& fleet) {
  Html html;
  html.add("<nav aria-label=\"Feeds by state\"><ul class=\"chips\">\n");
  add_chip(html, query, "", "all", fleet.feeds);
  for (const std::string_view state : all_states()) {
    const std::uint64_t count = feeds_in(fleet, state);
    if (count > 0 || query.state == state) add_chip(html, query, state, state, count);
  }
  html.add("</ul></nav>\n");
  return html;
}

/// A GET form of the list; filters set by links are kept.
Html search_form(const FeedListQuery& query) {
  Html html;
  html.add(
      "<form action=\"/status/feeds\" role=\"search\"><label for=\"q\">Part of the address</label>"
      "<input id=\"q\" name=\"q\" type=\"search\" maxlength=\"200\" value=\"{}\">",
      query.part);
  if (!query.state.empty()) html.add("<input type=\"hidden\" name=\"state\" value=\"{}\">", query.state);
  if (!query.host.empty()) html.add("<input type=\"hidden\" name=\"host\" value=\"{}\">", query.host);
  html.add("<button>Search</button></form>\n");
  return html;
}

bool searches(const FeedListQuery& query) {
  return !query.host.empty() || !query.part.empty();
}

/// "status.not_found" → "status: not found"
std::string reason_text(std::string_view code) {
  std::string text;
  for (const char c : short_text(code, 40)) {
    if (c == '.')
      text += ": ";
    else
      text += c == '_' ? ' ' : c;
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
  Html html;
  if (!feed.claim.empty())
    html.add("being fetched");
  else if (feed.in_line)
    html.add("in line <span class=\"sub\">{}</span>", time_ago(*feed.due, now));
  else if (feed.due)
    html = with_remark(time_ago(*feed.due, now), reason_text(feed.state.due.reason));
  else
    html.add("never");
  return html;
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
  Html html;
  const FeedPage& page = list.page;
  if (list.fleet.feeds == 0)
    html.add("No feeds yet: <code>feedmill add URL</code> or <code>feedmill import FILE</code>.");
  else if (page.next)
    html.add("None among the {} feeds checked so far.", page.looked_at);
  else if (searches(query) || query.after)
    html.add("No further matching feeds.");
  else
    html.add("No feed is {}.", query.state);
  return html;
}

}  // namespace

FeedListQuery read_feed_list_query(std::string_view query) {
  FeedListQuery wanted;
  const std::string state = parameter(query, "state").value_or("");
  if (std::ranges::find(all_states(), state) != all_states().end()) wanted.state = state;
  wanted.host = trimmed(parameter(query, "host").value_or(""), 255);
  for (char& c : wanted.host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  wanted.part = trimmed(parameter(query, "q").value_or(""), longest_part);
  wanted.after = read_place(parameter(query, "after").value_or(""));
  return wanted;
}

StoreResult<FeedList> read_feed_list(Store& store, const FeedListQuery& query) {
  FeedList list;
  auto fleet = Fleet(store).figures();
  if (!fleet) return fleet.error();
  list.fleet = std::move(*fleet);
  if (const auto url = canonical_feed_url(query.part); url) {
    auto records = Feeds(store).records(std::span(&*url, 1));
    if (!records) return records.error();
    if (records->front()) {
      list.exact = true;
      list.page.feeds.push_back(std::move(*records->front()));
      return list;
    }
  }
  FeedQuery wanted;
  wanted.state = query.state;
  wanted.part = query.part;
  wanted.host = query.host;
  wanted.after = query.after;
  wanted.limit = feeds_on_page;
  // A filter by state costs a look-up per feed.
  if (searches(query) && query.state != "healthy") wanted.look = 20'000;
  auto page = Feeds(store).page(wanted);
  if (!page) return page.error();
  list.page = std::move(*page);
  return list;
}

Html feed_list_page(const FeedListQuery& query, const FeedList& list) {
  const FeedPage& page = list.page;
  Html html;
  html.add("<section aria-labelledby=\"feeds\"><h1 id=\"feeds\">Feeds</h1>\n{}{}", search_form(query),
           chips(query, list.fleet));
  if (searches(query)) {
    html.add("<p>");
    if (!query.host.empty()) html.add("On <b><bdi>{}</bdi></b>. ", query.host);
    if (!query.part.empty()) html.add("With <b><bdi>{}</bdi></b> in the URL. ", query.part);
    html.add("<a href=\"{}\">All hosts and addresses</a></p>\n", address({query.state, "", "", {}}));
  }
  if (page.feeds.empty())
    html.add("<p class=\"empty\">{}</p>", said_of_none(query, list));
  else
    html.add("{}", feeds_table(query, list));
  html.add("<p class=\"pager\">");
  if (query.after)
    html.add("<a href=\"{}\">From the beginning</a>", address({query.state, query.host, query.part, {}}));
  if (page.next) {
    html.add("<a href=\"{}\" rel=\"next\">{}</a>", address({query.state, query.host, query.part, page.next}),
             page.feeds.size() < feeds_on_page ? "Search on" : "The next 50");
  }
  html.add("</p>\n");
  if (searches(query) && page.next)
    html.add("<p class=\"sub\">{} of {} feeds were checked for this page.</p>\n", page.looked_at, page.total);
  const std::uint64_t paused = feeds_in(list.fleet, "paused");
  if (query.state.empty() && paused > 0 && !list.exact)
    html.add("<p class=\"sub\">Paused feeds ({}) are not scheduled and are listed under their state.</p>\n", paused);
  if (!query.state.empty() && query.state != "healthy" && page.total < feeds_in(list.fleet, query.state)) {
    html.add(
        "<p class=\"sub\">{} more entered this state before lists were kept: <code>feedmill list --state {}</code> "
        "lists all.</p>\n",
        feeds_in(list.fleet, query.state) - page.total, query.state);
  }
  html.add("</section>\n");
  return html;
}

}  // namespace feedmill
