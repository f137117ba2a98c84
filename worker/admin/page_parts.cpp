#include "worker/admin/page_parts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "worker/base/redact.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

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

/// An item of a navigation.
Html nav_link(const std::string& path, std::string_view text, bool is_current) {
  return is_current ? Html("<li><a href=\"{}\" aria-current=\"page\">{}</a></li>", path, text)
                    : Html("<li><a href=\"{}\">{}</a></li>", path, text);
}

/// Links to the other partitions and to the overview of all, relative to the current page.
Html partition_links(const PageFrame& frame) {
  Html links;
  std::string up;
  for (auto depth = std::ranges::count(frame.path, '/'); depth > (frame.of_all ? 1 : 0); --depth) up += "../";
  if ((frame.prefix.empty() && !frame.of_all) || frame.path.empty()) return links;
  links.add("<nav aria-label=\"Partitions\"><ul>{}",
            nav_link(up + "status", frame.of_all ? "all partitions" : "all", frame.of_all));
  for (std::uint32_t i = 0; i < frame.partitions; ++i) {
    const bool is_current = i == frame.partition && !frame.of_all;
    links.add("{}", nav_link(fmt::format("{}p{}/status", up, i), fmt::format("{}{}", is_current ? "partition " : "", i),
                             is_current));
  }
  return std::move(links.add("</ul></nav>"));
}

/// Adds `prefix` to the links between our pages. Only those contain a quote followed by a slash, because quotes in
/// other text are escaped.
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

/// As ` class="look"`; empty if `look` is.
Html class_of(std::string_view look) {
  return look.empty() ? Html() : Html(" class=\"{}\"", look);
}

/// Shows the first `at_once` of `rows` rows and folds the others, unless there are only a few of those.
template <class Part>
Html folded_at(std::size_t at_once, std::size_t rows, Part part) {
  constexpr std::size_t few = 2;
  if (rows <= at_once + few) return part(0, rows);
  return Html("{}<details><summary>{} more</summary>{}</details>", part(0, at_once), rows - at_once,
              part(at_once, rows));
}

}  // namespace

std::string whole_page(const PageFrame& frame, const Html& main) {
  Html nav, again;
  if (!frame.of_all) {
    nav.add("<nav aria-label=\"Pages\"><ul>{}{}</ul></nav>", nav_link("/status", "Overview", frame.path == "/status"),
            nav_link("/status/feeds", "Feeds", frame.path == "/status/feeds"));
  }
  if (frame.refresh == PageFrame::Refresh::on)
    again.add("<p class=\"again\">Refreshes every {} seconds: <a href=\"{}\">stop</a></p>", refresh_every.count(),
              frame.path);
  else if (frame.refresh == PageFrame::Refresh::offered)
    again.add("<p class=\"again\"><a href=\"{}?{}=1\">Refresh every {} seconds</a></p>", frame.path, refresh_parameter,
              refresh_every.count());
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
      "</head>\n"
      "<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to content</a>\n"
      "<header>{}<p class=\"brand\"><b>feedmill</b> <bdi>{}</bdi></p>{}{}</header>\n"
      "<main id=\"main\">\n"
      "{}</main>\n"
      "<footer>\n",
      frame.title, style_path, again, frame.host, nav, partition_links(frame), main);
  page.add("<p>As of <time datetime=\"{}\">{}</time>.", rfc3339(frame.at), rfc3339(frame.at));
  if (!frame.json_path.empty()) page.add(" <a href=\"{}\">As JSON</a>.", frame.json_path);
  page.add("</p>\n<p>feedmill {}, configuration <code>{}</code></p>\n</footer>\n</body>\n</html>\n", frame.version,
           frame.configuration);
  return under(frame.prefix, page.text());
}

Html time_ago(Milliseconds time, Milliseconds now) {
  if (time.count() == 0) return Html("never");
  const std::string exact = rfc3339(time);
  return Html("<time datetime=\"{}\" title=\"{}\">{}</time>", exact, exact, from_now(time, now));
}

Html state_word(std::string_view state) {
  return Html("<span class=\"state {}\">{}</span>", state_meaning(state).empty() ? "unknown" : state, state);
}

std::string_view state_meaning(std::string_view state) {
  const auto found = std::ranges::find(state_texts, state, &StateText::name);
  return found == state_texts.end() ? std::string_view() : found->meaning;
}

std::span<const StateText> all_states() {
  return state_texts;
}

Html feed_link(std::string_view feed_url, std::string_view text) {
  if (redact(feed_url) != feed_url) return Html("<bdi>{}</bdi>", text);
  return Html("<a href=\"/status/feed?url={}\"><bdi>{}</bdi></a>", percent_encoded(feed_url), text);
}

Html host_link(std::string_view host) {
  return Html("<a href=\"/status/feeds?host={}\"><bdi>{}</bdi></a>", percent_encoded(host), host);
}

Html outside_link(std::string_view url, std::string_view text) {
  const bool web = url.starts_with("http://") || url.starts_with("https://");
  const bool plain = std::ranges::all_of(url, [](char c) { return c > ' ' && c != '\x7f' && c != '\\'; });
  if (!web || !plain || redact(url) != url) return Html("<bdi>{}</bdi>", text);
  return Html("<a href=\"{}\" rel=\"noopener noreferrer nofollow\"><bdi>{}</bdi></a>", url, text);
}

Html section(std::string_view id, std::string_view heading, const Html& content) {
  return Html("<section aria-labelledby=\"{}\"><h2 id=\"{}\">{}</h2>\n{}</section>\n", id, id, heading, content);
}

Html facts_list(const Html& facts) {
  return Html("<dl class=\"story\">\n{}</dl>", facts);
}

Html nothing(std::string_view text) {
  return Html("<p class=\"empty\">{}</p>", text);
}

Html items_list(const std::vector<Html>& items, std::size_t at_once) {
  return folded_at(at_once, items.size(), [&](std::size_t first, std::size_t end) {
    Html html("<ul class=\"items\">\n");
    for (std::size_t i = first; i < end; ++i) html.add("<li>{}</li>\n", items[i]);
    return std::move(html.add("</ul>"));
  });
}

Html Table::folded() const {
  return folded_at(rows_at_once, rows_.size(), [&](std::size_t first, std::size_t end) { return part(first, end); });
}

Html Table::part(std::size_t first, std::size_t end) const {
  Html html("<table>");
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
  Html html("<svg class=\"bars\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} 24\" preserveAspectRatio=\"none\">",
            label, std::to_string(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0 || most <= 0) continue;
    const double high = std::max(0.8, values[i] / most * height);  // keeps small values visible
    html.add("<rect x=\"{}\" y=\"{}\" width=\"0.8\" height=\"{}\"/>",
             fmt::format("{:.1f}", static_cast<double>(i) + 0.1), fmt::format("{:.2f}", height - high),
             fmt::format("{:.2f}", high));
  }
  return std::move(html.add("</svg>"));
}

Html bar(double share) {
  const double length = share <= 0 ? 0 : std::clamp(share * 100, 1.0, 100.0);  // keeps small values visible
  return Html(
      "<svg class=\"bar\" aria-hidden=\"true\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\">"
      "<rect width=\"{}\" height=\"1\"/></svg>",
      fmt::format("{:.1f}", length));
}

// The stylesheet of all pages: light and dark, phone and desktop. The contrast of text is at least 4.5 in both.

std::string_view stylesheet() {
  return R"css(:root {
  color-scheme: light dark;
  --ground: #f7f7f5; --sheet: #ffffff; --ink: #1d2024; --soft: #565c64; --line: #e1e2e0; --link: #0a4f94;
  --good: #1b6a3d; --good-ground: #e8f3ec; --warn: #7d4b00; --warn-ground: #fbf0dc; --bad: #a01c17;
  --bad-ground: #fbe9e7; --bar: #4f7fae;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121417; --sheet: #191c20; --ink: #e7e9ec; --soft: #a5acb5; --line: #2c3137; --link: #8bbcf2;
    --good: #86d3a6; --good-ground: #15291e; --warn: #efc075; --warn-ground: #30260f; --bad: #ffa299;
    --bad-ground: #391b19; --bar: #5f93c4;
  }
}
*, *::before { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 68rem; padding: 0 1rem 2rem; background: var(--ground); color: var(--ink);
  font: 400 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
a { color: var(--link); text-underline-offset: .18em; text-decoration-thickness: 1px; }
a:focus-visible, summary:focus-visible, input:focus-visible, button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -100vw; top: 0; }
.skip:focus { left: 1rem; background: var(--sheet); padding: .5rem; z-index: 1; }
h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 600; }
h1 { font-size: 1.35rem; }
h2 { font-size: 1.05rem; margin: 0 0 .6rem; }
h3 { font-size: .95rem; margin: 0 0 .4rem; }
p { margin: 0 0 .5rem; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, "Liberation Mono", monospace; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem 1.5rem; padding: 1rem 0 .8rem; }
.brand { margin: 0; }
.again { margin: 0; flex-basis: 100%; text-align: right; font-size: .85rem; color: var(--soft); }
.brand bdi { color: var(--soft); margin-left: .35rem; }
header ul, .chips { list-style: none; margin: 0; padding: 0; }
header ul { display: flex; flex-wrap: wrap; gap: 0 1.1rem; }
header li a { display: inline-block; padding: .25rem 0; text-decoration: none; }
header a[aria-current] { color: var(--ink); font-weight: 600; box-shadow: 0 2px 0 var(--link); }
footer { color: var(--soft); font-size: .85rem; margin-top: 2rem; }
footer p { margin: 0 0 .2rem; }
section { background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 0 0 1rem; }
.soft, .sub { color: var(--soft); }
.sub { font-size: .85rem; display: block; }
.verdict { border-left-width: 5px; }
.verdict.well { border-left-color: var(--good); }
.verdict.bad { border-left-color: var(--bad); }
.verdict.warning { border-left-color: var(--warn); }
.verdict.note { border-left-color: var(--soft); }
.verdict > p { margin: .35rem 0 0; }
.concerns { margin: .8rem 0 0; padding: 0; list-style: none; display: grid; gap: .6rem; }
.concerns li { border-radius: 6px; padding: .6rem .8rem; background: var(--ground); }
.concerns .bad { background: var(--bad-ground); }
.concerns .warning { background: var(--warn-ground); }
.concerns p { margin: 0; }
.weight { font-weight: 600; margin-right: .35rem; }
.bad .weight { color: var(--bad); }
.warning .weight { color: var(--warn); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 1rem 1.2rem; margin: 0; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; }
.tiles .figure { font-size: 1.5rem; line-height: 1.25; font-weight: 600; overflow-wrap: normal; }
.columns { columns: 2 26rem; column-gap: 1rem; margin-bottom: 1rem; }
.columns > section { break-inside: avoid; }
.sparks { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; }
figcaption { font-size: .9rem; margin-bottom: .25rem; }
.bars { display: block; width: 100%; height: 3.2rem; fill: var(--bar); border-bottom: 1px solid var(--line); }
.bar { display: block; width: 100%; min-width: 4rem; height: .7rem; margin-top: .4rem; fill: var(--bar); }
.axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .8rem; margin: .1rem 0 0; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; color: var(--soft); font-size: .85rem; padding: 0 0 .4rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .8rem .38rem 0; border-top: 1px solid var(--line);
  font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .82rem; border-top: 0; padding-top: 0; overflow-wrap: normal; }
.number { text-align: right; white-space: nowrap; }
.words { overflow-wrap: break-word; }
.narrow { white-space: nowrap; width: 1%; }
tbody tr:hover { background: var(--ground); }
.state { white-space: nowrap; }
.state::before { content: ""; display: inline-block; width: .55em; height: .55em; border-radius: 50%;
  margin-right: .4em; background: var(--soft); }
.state.healthy::before { background: var(--good); }
.state.degraded::before, .state.blocked::before { background: var(--warn); }
.state.failing::before, .state.never_read::before, .state.quarantined::before { background: var(--bad); }
.state.gone::before, .state.paused::before, .state.new::before { background: none; border: 2px solid var(--soft); }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; margin: .7rem 0; }
.chips a { display: inline-block; padding: .2rem .65rem; border: 1px solid var(--line); border-radius: 99px;
  text-decoration: none; background: var(--ground); }
.chips a[aria-current] { border-color: var(--link); color: var(--ink); font-weight: 600; }
.story { margin: 0; }
.story div { padding: .45rem 0; border-top: 1px solid var(--line); }
.story div:first-child { border-top: 0; padding-top: 0; }
.story dt { color: var(--soft); font-size: .85rem; }
.story dd { margin: 0; }
@media (min-width: 40rem) {
  .story div { display: grid; grid-template-columns: 10rem 1fr; gap: 1rem; }
  .story dt { font-size: .9rem; }
}
form { display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: baseline; margin: .7rem 0; }
input, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line);
  border-radius: 6px; padding: .3rem .6rem; }
input { flex: 1 1 12rem; min-width: 0; }
button { cursor: pointer; }
.commands { list-style: none; margin: 0; padding: 0; }
.commands li { padding: .35rem 0; }
.commands code { display: block; padding: .35rem .6rem; background: var(--ground); border-radius: 6px;
  user-select: all; }
.items { list-style: none; margin: 0; padding: 0; }
.items li { padding: .5rem 0; border-top: 1px solid var(--line); }
.items li:first-child { border-top: 0; padding-top: 0; }
.items p { margin: 0; }
details { margin-top: .5rem; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }
.pager { margin: .9rem 0 0; display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; }
.empty { color: var(--soft); margin: 0; }
@media print { .skip, nav { display: none; } body { max-width: none; } }
)css";
}

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";   // U+FFFD
constexpr std::string_view narrow_space = "\xe2\x80\xaf";  // U+202F, no-break

/// Whether `code` is a bidirectional control or invisible, except for the joiners (U+200C, U+200D), which belong to
/// letters.
bool turns_or_hides(char32_t code) {
  return code == 0x061c || code == 0x200b || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

bool is_control(char32_t code) {
  return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7f && code <= 0x9f) ||
         (code & 0xfffe) == 0xfffe;
}

}  // namespace

std::string html_text(std::string_view text) {
  const std::string clean = redact(text);
  std::string out;
  out.reserve(clean.size() + clean.size() / 8);
  for (std::string_view rest = clean; !rest.empty();) {
    const Character first = first_character(rest);
    if (first.bytes == 0 || is_control(first.code)) {
      out += replacement;
    } else if (!turns_or_hides(first.code)) {
      const std::string_view reference = html_reference(rest.front());
      out += reference.empty() ? rest.substr(0, first.bytes) : reference;
    }
    rest.remove_prefix(std::max<std::size_t>(first.bytes, 1));
  }
  return out;
}

void Html::put_number(std::int64_t number) {
  for (const char c : grouped(number)) out_ += c == ' ' ? narrow_space : std::string_view(&c, 1);
}

}  // namespace feedmill
