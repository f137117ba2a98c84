// What `feedmill top` shows: /status.json as lines. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill {

struct TopLine {
  enum class Tone { plain, heading, trouble, aside };
  std::string text;  ///< clean (visible()), no wider than asked for; says all without its tone
  Tone tone = Tone::plain;
};

/// What there is room for, and what the worker does not say itself.
struct TopFrame {
  std::size_t width = 0;   ///< columns; from 40 on nothing but long texts is cut. 0: nothing is
  std::size_t height = 0;  ///< lines; 0: as many as there are
  std::string trouble;     ///< why `now` is old: the worker does not answer; "" = it does
  std::string footer;      ///< the last line, "" = none
};

/// A worker at one moment, and its rates since an `earlier` one (nullptr: no such rates, nor when it is another
/// process). What `now` lacks, or has with another type, is shown as "–" or left out.
std::vector<TopLine> top_view(const boost::json::object& now, const boost::json::object* earlier,
                              const TopFrame& frame);

/// How long after `earlier` a worker said `now`; nothing when it was another process.
std::optional<double> seconds_between(const boost::json::object& earlier, const boost::json::object& now);

}  // namespace feedmill
