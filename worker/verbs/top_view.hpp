// `feedmill top`: renders /status.json as lines. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill {

/// A line of the view, and how to highlight it.
struct TopLine {
  enum class Tone { plain, heading, trouble, aside };
  std::string text;  ///< escaped (visible()), within the width; complete without its tone
  Tone tone = Tone::plain;
};

/// The available space, and facts missing from the worker's status.
struct TopFrame {
  std::size_t width = 0;   ///< columns; from 40 on only long texts are cut; 0: unlimited
  std::size_t height = 0;  ///< lines; 0: unlimited
  std::string trouble;     ///< why `now` is outdated: the worker does not answer; "" if it does
  std::string footer;      ///< the last line, "" = none
};

/// Renders a worker's status `now`, and its rates since `earlier` (omitted if null or of another process). Missing
/// values and values of the wrong type are shown as "–" or omitted.
std::vector<TopLine> top_view(const boost::json::object& now, const boost::json::object* earlier,
                              const TopFrame& frame);

/// Time between two statuses of a worker; empty if they are from different processes.
std::optional<double> seconds_between(const boost::json::object& earlier, const boost::json::object& now);

}  // namespace feedmill
