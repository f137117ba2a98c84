#include "worker/admin/page_parts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "worker/base/redact.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

struct StateText {
  std::string_view name, meaning;
};
constexpr std::array state_texts{
    StateText{"healthy", "fetched as planned"},
    StateText{"new", "not tried yet"},
    StateText{"never_read", "tried, but never read"},
    StateText{"degraded", "failed three times in a row or more"},
    StateText{"failing", "no success for 7 days"},
    StateText{"blocked", "its server refuses us"},
    StateText{"gone", "its server reports it as gone; fetched once a month"},
    StateText{"quarantined", "workers crashed on it, or it takes too long to read; retried later, alone"},
    StateText{"paused", "not fetched until feedmill resume"},
};
constexpr auto state_names = [] {
  std::array<std::string_view, state_texts.size()> names{};
  std::ranges::transform(state_texts, names.begin(), &StateText::name);
  return names;
}();

void add_nav_link(Html& nav, const PageFrame& frame, std::string_view path, std::string_view text) {
  if (frame.path == path)
    nav.add("<li><a href=\"{}\" aria-current=\"page\">{}</a></li>", path, text);
  else
    nav.add("<li><a href=\"{}\">{}</a></li>", path, text);
}

/// Links to the other partitions, relative to this page.
Html partition_links(const PageFrame& frame) {
  Html links;
  std::string up;
  for (auto depth = std::ranges::count(frame.path, '/'); depth > 0; --depth) up += "../";
  if (frame.prefix.empty() || up.empty()) return links;
  links.add("<nav aria-label=\"Partitions\"><ul>");
  for (std::uint32_t i = 0; i < frame.partitions; ++i) {
    if (i == frame.partition)
      links.add("<li><a href=\"{}p{}/status\" aria-current=\"page\">partition {}</a></li>", up, i, i);
    else
      links.add("<li><a href=\"{}p{}/status\">{}</a></li>", up, i, i);
  }
  links.add("</ul></nav>");
  return links;
}

/// Prefixes the links between our pages with `prefix`. Only they contain a quote followed by a slash: quotes in other
/// text are escaped.
std::string under(const std::string& prefix, std::string page) {
  constexpr std::string_view begins = "=\"/";
  if (prefix.empty()) return page;
  std::string moved;
  std::size_t done = 0;
  for (std::size_t at = page.find(begins); at != std::string::npos; at = page.find(begins, done)) {
    moved.append(page, done, at + 2 - done).append(prefix);
    done = at + 2;
  }
  return moved.append(page, done);
}

/// ` class="look"`
Html class_of(std::string_view look) {
  Html html;
  if (!look.empty()) html.add(" class=\"{}\"", look);
  return html;
}

/// `rows` rows, those beyond the first `at_once` folded; few are not worth it.
template <class Part>
Html folded_at(std::size_t at_once, std::size_t rows, Part part) {
  constexpr std::size_t few = 2;
  if (rows <= at_once + few) return part(0, rows);
  Html html;
  html.add("{}<details><summary>{} more</summary>{}</details>", part(0, at_once), rows - at_once, part(at_once, rows));
  return html;
}

}  // namespace

std::string whole_page(const PageFrame& frame, const Html& main) {
  Html nav;
  add_nav_link(nav, frame, "/status", "Overview");
  add_nav_link(nav, frame, "/status/feeds", "Feeds");
  Html again;
  if (frame.refreshes) again.add("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh_every.count());
  Html page;
  page.add(
      "<!doctype html>\n"
      "<html lang=\"en\">\n"
      "<head>\n"
      "<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} · feedmill</title>\n"
      "<link rel=\"stylesheet\" href=\"{}\">\n"
      "{}</head>\n"
      "<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to content</a>\n"
      "<header><p class=\"brand\"><b>feedmill</b> <bdi>{}</bdi></p><nav "
      "aria-label=\"Pages\"><ul>{}</ul></nav>{}</header>\n"
      "<main id=\"main\">\n"
      "{}</main>\n"
      "<footer>\n",
      frame.title, style_path, again, frame.host, nav, partition_links(frame), main);
  page.add("<p>As of <time datetime=\"{}\">{}</time>.", rfc3339(frame.at), rfc3339(frame.at));
  if (frame.refreshes) {
    page.add(" This page refreshes every {} seconds: <a href=\"{}?still=1\">stop</a>.", refresh_every.count(),
             frame.path);
  } else if (frame.stopped) {
    page.add(" This page does not refresh: <a href=\"{}\">start refreshing</a>.", frame.path);
  }
  if (!frame.json_path.empty()) page.add(" <a href=\"{}\">As JSON</a>.", frame.json_path);
  page.add("</p>\n<p>feedmill {}, configuration <code>{}</code></p>\n</footer>\n</body>\n</html>\n", frame.version,
           frame.configuration);
  return under(frame.prefix, page.text());
}

Html time_ago(Milliseconds time, Milliseconds now) {
  Html html;
  if (time.count() == 0) return std::move(html.add("never"));
  const std::string exact = rfc3339(time);
  html.add("<time datetime=\"{}\" title=\"{}\">{}</time>", exact, exact, from_now(time, now));
  return html;
}

Html state_word(std::string_view state) {
  Html html;
  const bool known = std::ranges::find(state_names, state) != state_names.end();
  html.add("<span class=\"state {}\">{}</span>", known ? state : std::string_view("unknown"), state);
  return html;
}

std::string_view state_meaning(std::string_view state) {
  const auto found = std::ranges::find(state_texts, state, &StateText::name);
  return found == state_texts.end() ? std::string_view() : found->meaning;
}

std::span<const std::string_view> all_states() {
  return state_names;
}

Html feed_link(std::string_view feed_url, std::string_view text) {
  Html html;
  if (redact(feed_url) != feed_url)
    html.add("<bdi>{}</bdi>", text);
  else
    html.add("<a href=\"/status/feed?url={}\"><bdi>{}</bdi></a>", percent_encoded(feed_url), text);
  return html;
}

Html host_link(std::string_view host) {
  Html html;
  html.add("<a href=\"/status/feeds?host={}\"><bdi>{}</bdi></a>", percent_encoded(host), host);
  return html;
}

Html outside_link(std::string_view url, std::string_view text) {
  Html html;
  const bool web = url.starts_with("http://") || url.starts_with("https://");
  const bool plain = std::ranges::all_of(url, [](char c) { return c > ' ' && c != '\x7f' && c != '\\'; });
  if (web && plain && redact(url) == url)
    html.add("<a href=\"{}\" rel=\"noopener noreferrer nofollow\"><bdi>{}</bdi></a>", url, text);
  else
    html.add("<bdi>{}</bdi>", text);
  return html;
}

Html section(std::string_view id, std::string_view heading, const Html& content) {
  Html html;
  return std::move(
      html.add("<section aria-labelledby=\"{}\"><h2 id=\"{}\">{}</h2>\n{}</section>\n", id, id, heading, content));
}

Html facts_list(const Html& facts) {
  Html html;
  return std::move(html.add("<dl class=\"story\">\n{}</dl>", facts));
}

Html nothing(std::string_view text) {
  Html html;
  return std::move(html.add("<p class=\"empty\">{}</p>", text));
}

Html items_list(const std::vector<Html>& items, std::size_t at_once) {
  return folded_at(at_once, items.size(), [&](std::size_t first, std::size_t end) {
    Html html;
    html.add("<ul class=\"items\">\n");
    for (std::size_t i = first; i < end; ++i) html.add("<li>{}</li>\n", items[i]);
    return std::move(html.add("</ul>"));
  });
}

Html Table::folded() const {
  return folded_at(rows_at_once, rows_.size(), [&](std::size_t first, std::size_t end) { return part(first, end); });
}

Html Table::part(std::size_t first, std::size_t end) const {
  Html html;
  html.add("<table>");
  if (!caption_.empty()) html.add("<caption>{}</caption>", caption_);
  html.add("<thead><tr>");
  for (const Column& column : columns_) html.add("<th scope=\"col\"{}>{}</th>", class_of(column.look), column.name);
  html.add("</tr></thead><tbody>\n");
  for (std::size_t row = first; row < end; ++row) {
    html.add("<tr><th scope=\"row\"{}>{}</th>", class_of(columns_[0].look), rows_[row][0]);
    for (std::size_t i = 1; i < columns_.size(); ++i)
      html.add("<td{}>{}</td>", class_of(columns_[i].look), rows_[row][i]);
    html.add("</tr>\n");
  }
  return std::move(html.add("</tbody></table>"));
}

void add_fact(Html& html, std::string_view name, std::string_view value) {
  if (!value.empty()) html.add("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
}

Html bars(std::span<const double> values, std::string_view label) {
  constexpr double height = 24;
  const double most = values.empty() ? 0 : *std::ranges::max_element(values);
  Html html;
  html.add("<svg class=\"bars\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} 24\" preserveAspectRatio=\"none\">",
           label, std::to_string(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0 || most <= 0) continue;
    const double high = std::max(0.8, values[i] / most * height);  // keeps small values visible
    html.add("<rect x=\"{}\" y=\"{}\" width=\"0.8\" height=\"{}\"/>",
             fmt::format("{:.1f}", static_cast<double>(i) + 0.1), fmt::format("{:.2f}", height - high),
             fmt::format("{:.2f}", high));
  }
  html.add("</svg>");
  return html;
}

Html bar(double share) {
  const double length = share <= 0 ? 0 : std::clamp(share * 100, 1.0, 100.0);  // keeps small values visible
  Html html;
  html.add(
      "<svg class=\"bar\" aria-hidden=\"true\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">"
      "<rect width=\"{}\" height=\"1\"/></svg>",
      fmt::format("{:.1f}", length));
  return html;
}

}  // namespace feedmill
