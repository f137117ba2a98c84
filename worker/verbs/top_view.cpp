#include "worker/verbs/top_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "parsers/markup/text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;
using Lines = std::vector<TopLine>;
using Tone = TopLine::Tone;

constexpr std::size_t label_width = 10, rate_width = 10;
constexpr std::size_t usual_width = 80;  // if the width is unlimited
constexpr std::size_t two_columns_from = 110;
constexpr std::size_t all_figures_from = 36;  // lines; with fewer, related figures share a line
constexpr std::size_t most_concerns = 4, most_rows = 10, usual_rows = 5;
constexpr double most_number = 1e15;  // beyond it, not a figure

/// A value of the response, which may be missing.
class Node {
 public:
  Node(const json::object& object) : object_(&object) {}
  explicit Node(const json::value* value) : value_(value), object_(value == nullptr ? nullptr : value->if_object()) {}

  Node operator[](std::string_view name) const {
    return Node(object_ == nullptr ? nullptr : object_->if_contains(name));
  }
  const json::object* object() const { return object_; }

  std::optional<double> number() const {
    if (value_ == nullptr || !value_->is_number()) return {};
    const double number = value_->to_number<double>();
    return std::isfinite(number) && number >= 0 && number <= most_number ? std::optional(number) : std::nullopt;
  }
  bool is(bool wanted) const { return value_ != nullptr && value_->is_bool() && value_->get_bool() == wanted; }
  /// Unescaped; "" if it is not a string.
  std::string_view raw() const {
    if (value_ == nullptr || !value_->is_string()) return {};
    return {value_->get_string().data(), value_->get_string().size()};
  }
  std::string text() const { return visible(raw()); }
  std::vector<Node> rows() const {
    std::vector<Node> rows;
    if (value_ == nullptr || !value_->is_array()) return rows;
    for (const json::value& row : value_->get_array()) rows.emplace_back(Node(&row));
    return rows;
  }

 private:
  const json::value* value_ = nullptr;
  const json::object* object_;
};

std::string number_text(std::optional<double> count) {
  return count ? grouped(std::llround(*count)) : "–";
}

std::string seconds_text(std::optional<double> seconds) {
  return seconds ? span_text(std::chrono::duration<double>(*seconds)) : "–";
}

std::string size_text(std::optional<double> bytes) {
  return bytes ? bytes_text(static_cast<std::uint64_t>(*bytes)) : "–";
}

std::string rate_text(std::optional<double> rate) {
  if (!rate) return "–";
  if (*rate == 0) return "0";
  if (*rate < 9.995) return fmt::format("{:.2f}", *rate);
  if (*rate < 99.95) return fmt::format("{:.1f}", *rate);
  return grouped(std::llround(*rate));
}

/// Pads `text` with spaces to `width` columns, on the left if `right`.
std::string padded(const std::string& text, std::size_t width, bool right = false) {
  const std::string spaces(width - std::min(columns(text), width), ' ');
  return right ? spaces + text : text + spaces;
}

std::string labelled(std::string_view label, std::string_view text) {
  return padded(std::string(label), label_width) + " " + std::string(text);
}

/// "[###.......]": fill level.
std::string bar(double part, double whole) {
  constexpr std::size_t cells = 10;
  if (whole <= 0) return {};
  const auto filled = static_cast<std::size_t>(std::ceil(std::clamp(part / whole, 0.0, 1.0) * cells));
  return fmt::format("  [{}{}]", std::string(filled, '#'), std::string(cells - filled, '.'));
}

/// "12 active, 1 pending" for {"active":12,"pending":1}; "" if missing.
std::string counts_text(const Node& counts) {
  std::string text;
  if (counts.object() == nullptr) return text;
  for (const auto& [name, value] : *counts.object()) {
    const auto count = Node(&value).number();
    if (count.value_or(0) > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number_text(count), visible(name));
  }
  return text;
}

void add_head(const Node& now, const TopFrame& frame, Lines& lines) {
  const Node worker = now["worker"];
  std::string host = worker["host"].text();
  if (host.empty()) host = "this machine";
  lines.push_back({fmt::format("feedmill {} on {}, up {}  {}", now["version"].text(), host,
                               seconds_text(now["uptime_seconds"].number()), now["at"].text()),
                   Tone::heading});
  if (!frame.trouble.empty()) lines.push_back({"NO ANSWER, last known: " + frame.trouble, Tone::trouble});
  std::string failed, passed;
  for (const Node& check : now["ready"].rows()) {
    const std::string detail = check["detail"].text(), name = check["name"].text();
    if (check["ok"].is(true))
      passed += (passed.empty() ? "" : ", ") + name;
    else
      failed += fmt::format("{}{}{}", failed.empty() ? "" : ", ", name, detail.empty() ? "" : " (" + detail + ")");
  }
  if (!failed.empty())
    lines.push_back({"NOT READY: " + failed, Tone::trouble});
  else if (!passed.empty())
    lines.push_back({"ready: " + passed, Tone::plain});
  if (worker["stopping"].is(true)) lines.push_back({"STOPPING: claims no new feeds", Tone::trouble});

  const auto concerns = now["concerns"].rows();
  for (std::size_t i = 0; i < std::min(concerns.size(), most_concerns); ++i) {
    const std::string weight = concerns[i]["weight"].text();
    lines.push_back({fmt::format("{}: {}", weight.empty() ? "note" : weight, concerns[i]["text"].text()),
                     weight == "note" ? Tone::plain : Tone::trouble});
    if (const std::string remedy = concerns[i]["remedy"].text(); !remedy.empty())
      lines.push_back({"  " + remedy, Tone::aside});
  }
  if (concerns.size() > most_concerns)
    lines.push_back({fmt::format("and {} more, see /status", concerns.size() - most_concerns), Tone::aside});
}

/// "▂▃▇ ▁": the newest `cells` of `values`, scaled to the highest; "" if all are 0.
std::string spark(const std::vector<double>& values, std::size_t cells) {
  constexpr std::array<std::string_view, 9> heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = values.size() - std::min(values.size(), cells);
  double most = 0;
  for (std::size_t i = first; i < values.size(); ++i) most = std::max(most, values[i]);
  std::string text;
  if (most <= 0) return text;
  for (std::size_t i = first; i < values.size(); ++i) {
    const double high = std::ceil(values[i] / most * static_cast<double>(heights.size() - 1));
    text += heights[static_cast<std::size_t>(std::clamp(high, 0.0, 8.0))];
  }
  return text;
}

/// Rates since `earlier`, and over the periods reported by the worker; their chart uses the rest of `width`.
void add_rates(const json::object& now, const json::object* earlier, std::size_t width, Lines& lines) {
  const Node worker = Node(now)["worker"];
  const auto span = earlier == nullptr ? std::nullopt : seconds_between(*earlier, now);
  const bool has_rates = span && *span > 0;
  const auto cells = [&](const std::string& label, const std::string& first, const std::string& second,
                         const std::string& third) {
    return padded(label, label_width) + padded(first, rate_width, true) + padded(second, rate_width, true) +
           padded(third, rate_width, true);
  };
  const std::vector<Node> stretches = worker["stretches"].rows();
  const double stretch_span = worker["stretch_seconds"].number().value_or(0);
  const std::size_t taken = label_width + 3 * rate_width + 2;
  const std::size_t bars = std::min(width - std::min(width, taken), stretches.size());
  const std::string reach =
      bars == 0 || stretch_span <= 0
          ? ""
          : fmt::format("  last {}",
                        span_text(std::chrono::duration<double>(stretch_span * static_cast<double>(bars))));
  lines.push_back(
      {cells("rates", has_rates ? fmt::format("last {:.0f} s", std::max(1.0, *span)) : "now", "10 min", "1 h") + reach,
       Tone::heading});
  lines.push_back({cells("", "a second", "a minute", "a minute"), Tone::aside});
  // A worker started recently has covered less time.
  const double up = std::max(Node(now)["uptime_seconds"].number().value_or(0) / 60, 1.0);
  constexpr std::pair<const char*, const char*> rows[] = {
      {"refreshes", "refreshes"}, {"new posts", "entries_created"}, {"failures", "failed"}, {"pushes", "pushes"}};
  for (const auto& [label, name] : rows) {
    const auto total = worker["since_start"][name].number();
    const auto before = earlier == nullptr ? std::nullopt : Node(*earlier)["worker"]["since_start"][name].number();
    std::optional<double> moment;
    if (has_rates && total && before && *total >= *before) moment = (*total - *before) / *span;
    const auto a_minute = [&, field = std::string_view(name)](std::string_view stretch, double minutes) {
      const auto count = worker[stretch][field].number();
      return rate_text(count ? std::optional(*count / std::min(minutes, up)) : std::nullopt);
    };
    std::vector<double> values;
    values.reserve(stretches.size());
    for (const Node& one : stretches) values.push_back(one[name].number().value_or(0));
    const std::string bar_text = spark(values, bars);
    lines.push_back({cells(label, rate_text(moment), a_minute("last_10min", 10), a_minute("last_1h", 60)) +
                     (bar_text.empty() ? "" : "  " + bar_text)});
  }
  const Node recent = worker["last_10min"];
  if (recent["refreshes"].number().value_or(0) > 0) {
    lines.push_back({labelled("lateness", fmt::format("half within {}, 99 % {}, worst {}",
                                                      seconds_text(recent["lateness_p50_seconds"].number()),
                                                      seconds_text(recent["lateness_p99_seconds"].number()),
                                                      seconds_text(recent["lateness_worst_seconds"].number())))});
  } else {
    lines.push_back({labelled("lateness", "– (nothing fetched in 10 min)")});
  }
}

/// `brief`: related figures share one line.
void add_figures(const Node& now, bool brief, Lines& lines) {
  const Node worker = now["worker"], store = now["store"], feeds = store["feeds"];
  if (store.object() == nullptr) {
    lines.push_back({labelled("store", "unknown: " + now["store_error"].text()), Tone::trouble});
  } else {
    const std::string states = counts_text(feeds["states"]);
    lines.push_back({labelled("feeds", number_text(feeds["total"].number()) + (states.empty() ? "" : ": " + states))});
    const auto oldest = feeds["oldest_due_seconds"].number();
    lines.push_back({labelled("due", fmt::format("{}{}; {} being fetched", number_text(feeds["due"].number()),
                                                 oldest.value_or(0) > 0 ? ", oldest for " + seconds_text(oldest) : "",
                                                 number_text(feeds["claimed"].number())))});
  }
  const auto busy = worker["lanes"]["busy"].number(), lanes = worker["lanes"]["total"].number();
  const Node memory = worker["memory"];
  const auto used = memory["documents_bytes"].number(), budget = memory["budget_bytes"].number();
  if (brief) {
    lines.push_back({labelled(
        "lanes", fmt::format("{} of {} busy; documents {} of {}, {} resident", number_text(busy), number_text(lanes),
                             size_text(used), size_text(budget), size_text(memory["resident_bytes"].number())))});
  } else {
    lines.push_back({labelled("lanes", fmt::format("{} of {} busy{}", number_text(busy), number_text(lanes),
                                                   bar(busy.value_or(0), lanes.value_or(0))))});
    lines.push_back({labelled("memory", fmt::format("{} of {} for documents{}", size_text(used), size_text(budget),
                                                    bar(used.value_or(0), budget.value_or(0))))});
    lines.push_back({labelled("", size_text(memory["resident_bytes"].number()) + " resident")});
  }
  const auto last_commit = worker["last_commit_age_seconds"].number();
  const auto failed = worker["last_10min"]["commits_failed"].number().value_or(0);
  lines.push_back(
      {labelled("stored", (last_commit ? "last " + seconds_text(last_commit) + " ago" : "nothing yet") +
                              (failed > 0 ? fmt::format("; {} commits failed in 10 min", number_text(failed)) : ""))});
  if (store.object() == nullptr) return;

  std::string stream = fmt::format("{} of at most {} records", number_text(store["stream"]["records"].number()),
                                   number_text(store["stream"]["limit"].number()));
  std::vector<Node> groups = store["groups"].rows();
  std::ranges::stable_sort(groups, std::greater(),
                           [](const Node& group) { return group["lag_records"].number().value_or(0); });
  std::vector<std::string> behind;
  for (const Node& group : groups) {
    const auto lag = group["lag_records"].number(), age = group["lag_seconds"].number();
    behind.push_back(fmt::format("{}: {} pending{}", group["name"].text(), number_text(lag),
                                 age.value_or(0) > 0 ? ", oldest for " + seconds_text(age) : ""));
  }
  if (brief && !behind.empty()) stream += "; " + behind.front();
  lines.push_back({labelled("stream", stream)});
  for (std::size_t i = 0; !brief && i < behind.size(); ++i) lines.push_back({labelled("", behind[i])});
  if (const std::string states = counts_text(store["websub"]); !states.empty())
    lines.push_back({labelled("websub", states)});
  const auto workers = store["workers"].rows();
  std::string beats;
  for (const Node& one : workers) {
    beats += fmt::format("{}{} {} ago", beats.empty() ? ": " : ", ", one["host"].text(),
                         seconds_text(one["heartbeat_age_seconds"].number()));
  }
  lines.push_back({labelled("workers", std::to_string(workers.size()) + beats)});
}

/// A list with a heading; shows as many rows as fit.
struct Block {
  TopLine heading;
  Lines rows;
};

/// One row: the first cell gets the rest of `width`.
std::string row_of(const std::string& first, const std::string& rest, std::size_t width) {
  const std::size_t taken = columns(rest) + 1;
  const std::size_t room = width > taken ? width - taken : 0;
  return padded(cut(first, room), room) + " " + rest;
}

Block hosts_block(const Node& worker, std::string_view name, std::string_view title, std::size_t width) {
  const auto cells = [](const std::string& asked, const std::string& failed, const std::string& took) {
    return padded(asked, 6, true) + padded(failed, 7, true) + padded(took, 8, true);
  };
  Block block;
  block.heading = {row_of(fmt::format("{} ({})", title, seconds_text(worker["hosts_seconds"].number())),
                          cells("asked", "failed", "each"), width),
                   Tone::heading};
  for (const Node& host : worker[name].rows()) {
    block.rows.push_back({row_of(host["host"].text(),
                                 cells(number_text(host["refreshes"].number()), number_text(host["failed"].number()),
                                       seconds_text(host["mean_seconds"].number())),
                                 width)});
  }
  return block;
}

Block closed_block(const Node& store, std::size_t width) {
  const auto cells = [](const std::string& cause, const std::string& until) {
    return padded(cut(cause, 12), 13) + cut(until, 20);
  };
  Block block;
  block.heading = {row_of("hosts backing off", cells("because", "until    "), width), Tone::heading};
  for (const Node& host : store["hosts_backing_off"].rows()) {
    std::string until = host["until"].text();  // 2026-03-01T14:37:12Z
    if (until.size() == 20 && until[10] == 'T') until.erase(0, 11);
    block.rows.push_back({row_of(host["host"].text(), cells(host["cause"].text(), until), width)});
  }
  return block;
}

Block posts_block(const Node& store, std::size_t width) {
  Block block;
  block.heading = {"newest posts", Tone::heading};
  for (const Node& post : store["newest_posts"].rows()) {
    std::string when = post["at"].text();  // 2026-03-01T14:37:12Z
    if (when.size() == 20 && when[10] == 'T') when.erase(0, 11);
    const std::string title = post["title"].text();
    const std::string feed = visible(readable_text(post["feed_title"].raw(), post["feed_title_type"].raw()));
    block.rows.push_back({cut(
        fmt::format("{} {}{}{}", when, title.empty() ? post["link"].text() : title, feed.empty() ? "" : "  · ", feed),
        width)});
  }
  return block;
}

Block notices_block(const Node& store, std::size_t width) {
  Block block;
  block.heading = {"newest notices", Tone::heading};
  for (const Node& notice : store["notices"].rows()) {
    const auto at = notice["timestamp"].number();
    const std::string when =
        at ? rfc3339(Milliseconds(static_cast<std::int64_t>(std::min(*at, 253'402'300'799.0)) * 1000)).substr(11) : "";
    std::string text = notice["text"].text(), url = notice["feed_url"].text();
    block.rows.push_back(
        {cut(fmt::format("{}{}{}{}{}", when, when.empty() ? "" : " ", text, url.empty() ? "" : "  ", url), width)});
  }
  return block;
}

Lines lines_of(const Block& block, std::size_t rows) {
  Lines lines{block.heading};
  if (block.rows.empty()) lines.push_back({"none", Tone::aside});
  for (std::size_t i = 0; i < std::min(rows, block.rows.size()); ++i) lines.push_back(block.rows[i]);
  return lines;
}

/// Two blocks side by side, the left one `width` columns wide.
Lines beside(const Lines& left, const Lines& right, std::size_t width) {
  Lines lines;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    TopLine line = i < left.size() ? left[i] : TopLine{};
    if (i < right.size()) {
      line.text = padded(cut(line.text, width), width) + "  " + right[i].text;
      if (line.tone != right[i].tone) line.tone = Tone::plain;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// All lists with at most `rows` rows each.
Lines lists(const std::vector<Block>& blocks, std::size_t rows, std::size_t left_width) {
  Lines lines;
  for (std::size_t i = 0; i < blocks.size();) {
    Lines next = lines_of(blocks[i++], rows);
    if (left_width > 0 && i < blocks.size()) next = beside(next, lines_of(blocks[i++], rows), left_width);
    lines.push_back({});
    std::ranges::move(next, std::back_inserter(lines));
  }
  return lines;
}

}  // namespace

std::optional<double> seconds_between(const json::object& earlier, const json::object& now) {
  const Node before = Node(earlier)["worker"], after = Node(now)["worker"];
  const auto from = before["since_start"]["seconds"].number(), to = after["since_start"]["seconds"].number();
  if (!from || !to || *to < *from || before["id"].text() != after["id"].text()) return {};
  return *to - *from;
}

std::vector<TopLine> top_view(const json::object& now, const json::object* earlier, const TopFrame& frame) {
  Lines lines;
  const std::size_t width = frame.width > 0 ? frame.width : usual_width;
  const bool brief = frame.height > 0 && frame.height < all_figures_from;
  add_head(now, frame, lines);
  if (!brief) lines.push_back({});
  add_rates(now, earlier, width, lines);
  if (!brief) lines.push_back({});
  add_figures(now, brief, lines);

  const bool two = width >= two_columns_from;
  const std::size_t block_width = two ? (width - 2) / 2 : width;
  const Node worker = Node(now)["worker"], store = Node(now)["store"];
  // Most important first: the last blocks are cut if there is no room.
  std::vector<Block> blocks;
  if (store.object() != nullptr) {
    blocks.push_back(posts_block(store, frame.width > 0 ? block_width : std::string::npos));
    blocks.push_back(notices_block(store, frame.width > 0 ? block_width : std::string::npos));
  }
  blocks.push_back(hosts_block(worker, "busiest_hosts", "busiest hosts", block_width));
  blocks.push_back(hosts_block(worker, "slowest_hosts", "slowest hosts", block_width));
  if (store.object() != nullptr) blocks.push_back(closed_block(store, block_width));
  const std::size_t footer = frame.footer.empty() ? 0 : 1;
  const auto fits = [&](const Lines& more) {
    return frame.height == 0 || lines.size() + more.size() + footer <= frame.height;
  };
  std::size_t rows = frame.height == 0 ? usual_rows : std::max(most_rows, frame.height / 4);
  if (brief) std::erase_if(blocks, [](const Block& block) { return block.rows.empty(); });
  const std::size_t least = brief ? 3 : 1;
  Lines more = lists(blocks, rows, two ? block_width : 0);
  while (rows > least && !fits(more)) more = lists(blocks, --rows, two ? block_width : 0);
  while (brief && !blocks.empty() && !fits(more)) {
    blocks.pop_back();
    more = lists(blocks, rows, two ? block_width : 0);
  }
  std::ranges::move(more, std::back_inserter(lines));

  std::string last = frame.footer;
  if (frame.height > 0 && lines.size() + footer > frame.height) {
    const std::size_t left_out = lines.size() + 1 - frame.height;  // reported by the last line
    lines.resize(frame.height - 1);
    last += fmt::format("{}{} lines more in a taller window", last.empty() ? "" : "; ", left_out);
  }
  if (!last.empty()) lines.push_back({last, Tone::aside});
  for (TopLine& line : lines) {
    if (frame.width > 0) line.text = cut(line.text, frame.width);
    while (line.text.ends_with(' ')) line.text.pop_back();
  }
  return lines;
}

}  // namespace feedmill
