// What all our pages are made of: frame, times, links, small pictures.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/redis/values.hpp"
#include "worker/admin/html.hpp"

namespace feedmill {

/// Where a page stands among the others, and what stands around it.
struct PageFrame {
  std::string title;     ///< of the window
  std::string path;      ///< "/status": which link of the head is the page itself
  std::string prefix{};  ///< what paths of ours begin with: "/p3" of partition 3; "" where there is but one store
  std::uint32_t partition = 0;  ///< with a prefix, which one it is of
  std::uint32_t partitions = 1;
  std::string host;  ///< machine of the worker that answers
  std::string version;
  std::string configuration;
  Milliseconds at{};       ///< when its figures were taken
  std::string json_path;   ///< the same for programs, "" = nowhere
  bool refreshes = false;  ///< by itself, every refresh_every
  bool stopped = false;    ///< it would, had not somebody asked for `path` with ?still=1
};

inline constexpr std::chrono::seconds refresh_every{15};

/// A whole page around its main part.
std::string whole_page(const PageFrame& frame, const Html& main);

/// "3 min ago" with the exact time in datetime and title; "never" for the time zero.
Html time_ago(Milliseconds time, Milliseconds now);

/// A state as a word, with its colour beside it.
Html state_word(std::string_view state);

/// What a state means, a few words (HTTP §4).
std::string_view state_meaning(std::string_view state);
/// All of them in the order to show.
std::span<const std::string_view> all_states();

/// Links to a feed's page; the text alone when its address holds a secret, which a link would show (SECURITY K1).
Html feed_link(std::string_view feed_url, std::string_view text);

/// Links to the feeds of a host.
Html host_link(std::string_view host);

/// Links out of here: http and https only, and where nothing in it is a secret; else the text alone.
Html outside_link(std::string_view url, std::string_view text);

/// Bars side by side, as high as their values; `label` says it in words.
Html bars(std::span<const double> values, std::string_view label);
/// One bar that lies, as long as its share of a whole, 0 to 1; for beside a figure that says the same.
Html bar(double share);

/// One row of a list of facts (dl class="story"); none for an empty value.
void add_fact(Html& html, std::string_view name, std::string_view value);

/// The stylesheet, served at style_path.
std::string_view stylesheet();
inline constexpr std::string_view style_path = "/status/style.css";

}  // namespace feedmill
