// Parts of all pages: frame, times, links, small charts.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/redis/values.hpp"
#include "worker/admin/html.hpp"

namespace feedmill {

/// Navigation and page frame.
struct PageFrame {
  std::string title;            ///< window title
  std::string path;             ///< "/status": the navigation entry of this page
  std::string prefix{};         ///< of our paths: "/p3" for partition 3; "" with one store
  std::uint32_t partition = 0;  ///< with a prefix: number of the partition
  std::uint32_t partitions = 1;
  std::string host;  ///< machine of the worker that answers
  std::string version;
  std::string configuration;
  Milliseconds at{};       ///< time of the figures
  std::string json_path;   ///< JSON version, "" = none
  bool refreshes = false;  ///< reloads every refresh_every
  bool stopped = false;    ///< does not reload, because `path` was requested with ?still=1
};

inline constexpr std::chrono::seconds refresh_every{15};

/// A complete page with `main` as its main part.
std::string whole_page(const PageFrame& frame, const Html& main);

/// "3 min ago" with the exact time in datetime and title; "never" for 0.
Html time_ago(Milliseconds time, Milliseconds now);

/// A state as a word with its colour.
Html state_word(std::string_view state);

/// A short explanation of a state (HTTP §4).
std::string_view state_meaning(std::string_view state);
/// All states in display order.
std::span<const std::string_view> all_states();

/// Link to a feed's page; only the text if the URL holds a secret, which a link would reveal (SECURITY K1).
Html feed_link(std::string_view feed_url, std::string_view text);

/// Link to the feeds of a host.
Html host_link(std::string_view host);

/// External link; only the text unless the URL is http(s) and holds no secrets.
Html outside_link(std::string_view url, std::string_view text);

/// Bar chart; `label` describes it in words.
Html bars(std::span<const double> values, std::string_view label);
/// Horizontal bar for `share` (0 to 1); decorative, the number is next to it.
Html bar(double share);

/// One row of a fact list (dl class="story"); skipped if the value is empty.
void add_fact(Html& html, std::string_view name, std::string_view value);

/// The stylesheet, served at style_path.
std::string_view stylesheet();
inline constexpr std::string_view style_path = "/status/style.css";

}  // namespace feedmill
