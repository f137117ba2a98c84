// How well the schedule serves readers, in virtual time: the share of scheduled polls that find something new, and how
// long after a post's publication its event is stored (HTTP §3, P6; PERFORMANCE F10).
//   feedmill_freshness [FEEDS [DAYS [LEAST_SHARE MOST_DELAY]]]
// Publishers have various habits, with the rates that `feedmill plan` assumes; each is polled when the policy schedules
// it, first for 30 days that do not count, then for DAYS. Equal arguments give equal figures. Exit 1 if the share, in
// percent, is below LEAST_SHARE, or the mean delay, in minutes, above MOST_DELAY.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "worker/policy/decide.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Milliseconds begin = seconds(1'772'323'200);  // Sun, 01 Mar 2026 00:00:00 GMT
constexpr int listed = 20;                              // posts in a document

enum class Habit { steady, workdays, daily, bursts, says_ttl, says_max_age, without_validators, fails_at_times };
constexpr std::array habits{"steady",   "on workdays",  "once a day",         "in bursts",
                            "says ttl", "says max-age", "without validators", "fails at times"};

class Publisher {
 public:
  Publisher(int number, int feeds, Milliseconds end) : random_(static_cast<unsigned>(number)) {
    habit = number % 2 == 0 ? Habit::steady : static_cast<Habit>(1 + number / 2 % (habits.size() - 1));
    const double a_week = 0.1 * std::pow(700.0, (number + 0.5) / feeds);
    const double between_ms = static_cast<double>(Milliseconds(days(7)).count()) / a_week;
    const Milliseconds hour_of_day = minutes(static_cast<int>(fraction() * 1440));
    for (Milliseconds at = begin - days(60); at < end;) {
      switch (habit) {
        case Habit::daily:
          posts.push_back(at - at % days(1) + hour_of_day + minutes(static_cast<int>(fraction() * 10)));
          at += days(1);
          break;
        case Habit::bursts: {
          const int size = 3 + static_cast<int>(fraction() * 9);
          at += after(between_ms * size);
          for (int i = 0; i < size; ++i) posts.push_back(at + minutes(static_cast<int>(fraction() * 120)));
          break;
        }
        case Habit::workdays:
          at += after(between_ms * 10 / 24 * 5 / 7);
          while (!is_at_work(at)) at += hours(1);
          posts.push_back(at);
          break;
        default:
          at += after(between_ms);
          posts.push_back(at);
      }
    }
    std::ranges::sort(posts);
  }

  /// Exponentially distributed with mean `mean_ms`, as for a memoryless process.
  Milliseconds after(double mean_ms) {
    return Milliseconds(static_cast<std::int64_t>(-mean_ms * std::log(1 - fraction())) + 1);
  }
  double fraction() { return static_cast<double>(random_() >> 8U) / (1U << 24U); }

  Habit habit{};
  std::vector<Milliseconds> posts;  // publication times

 private:
  static bool is_at_work(Milliseconds at) {
    const auto day = at / days(1) % 7, hour = at % days(1) / hours(1);  // day 0 of Unix time was a Thursday
    return day != 2 && day != 3 && hour >= 8 && hour < 18;
  }

  std::mt19937 random_;
};

struct Figures {
  std::uint64_t polls = 0, with_news = 0, missed = 0;
  std::vector<double> delays;  // minutes

  void add(const Figures& other) {
    polls += other.polls;
    with_news += other.with_news;
    missed += other.missed;
    delays.insert(delays.end(), other.delays.begin(), other.delays.end());
  }
  double share() const {
    return 100 * static_cast<double>(with_news) / static_cast<double>(std::max<std::uint64_t>(polls, 1));
  }
  double mean() const {
    double sum = 0;
    for (const double delay : delays) sum += delay;
    return sum / static_cast<double>(std::max<std::size_t>(delays.size(), 1));
  }
};

/// A feed from its first poll to the end, the only one at its host.
class Course {
 public:
  Course(int number, int feeds, Milliseconds end)
      : publisher_(number, feeds, end), end_(end), url_("https://own" + std::to_string(number) + ".example/feed") {
    due_ = begin - days(30) + Milliseconds(static_cast<std::int64_t>(publisher_.fraction() * 86'400'000));
  }

  Figures run() {
    for (; due_ < end_; poll()) {
    }
    return figures_;
  }

  Habit habit() const { return publisher_.habit; }

 private:
  void poll() {
    const Milliseconds now = due_;
    const auto& posts = publisher_.posts;
    const auto published = static_cast<std::size_t>(std::ranges::upper_bound(posts, now) - posts.begin());
    const bool fails = habit() == Habit::fails_at_times && publisher_.fraction() < 0.05;
    Exchange exchange;
    exchange.requested_url = url_;
    exchange.hops = {{url_, fails ? 503 : 200, ""}};
    if (habit() == Habit::says_max_age) exchange.headers = {{"cache-control", "max-age=1800"}};
    StoredSnapshot known;
    Reading reading = fails ? Reading(HttpStatus{503}) : read(published, known, exchange);
    Claim claim;
    claim.feed_url = url_;
    claim.due = claim.now = now;
    claim.state = state_;
    Decision decision = decide(claim, std::move(reading), exchange, known, {}, now);
    if (!fails) note(published, now);
    state_ = std::move(decision.commit.state);
    due_ = decision.commit.next_due;
  }

  Reading read(std::size_t published, StoredSnapshot& known, Exchange& exchange) {
    const bool has_validators = habit() != Habit::without_validators;
    if (has_validators) exchange.validators = {"\"" + std::to_string(published) + "\"", "", url_};
    Document document;
    document.print = {std::to_string(published), std::to_string(published), 400, 900};
    if (was_read_ && published == seen_) {
      if (has_validators) return NotModified();
      return SameBody{document.print};
    }
    if (habit() == Habit::says_ttl) document.hints.ttl_s = 3600;
    for (std::size_t i = published; i > 0 && published - i < listed; --i) {
      EntryRecord& entry = document.entries.emplace_back();
      entry.guid = url_ + std::to_string(i);
      entry.digest = "digest";
      entry.timestamp = publisher_.posts[i - 1] / seconds(1);
      entry.fields = {{"title", entry.guid}};
      known.guids.emplace_back().is = was_read_ && i <= seen_ ? StoredSnapshot::Is::same : StoredSnapshot::Is::unknown;
    }
    known.stored = seen_;
    known.newest = seen_ > 0 ? publisher_.posts[seen_ - 1] / seconds(1) : 0;
    return document;
  }

  void note(std::size_t published, Milliseconds now) {
    if (now >= begin) {
      ++figures_.polls;
      if (published > seen_) ++figures_.with_news;
      for (std::size_t i = seen_; i < published; ++i) {
        if (published - i > listed)
          ++figures_.missed;
        else
          figures_.delays.push_back(static_cast<double>((now - publisher_.posts[i]).count()) / 60'000);
      }
    }
    seen_ = published;
    was_read_ = true;
  }

  Publisher publisher_;
  Milliseconds end_, due_{};
  std::string url_;
  FeedState state_;
  std::size_t seen_ = 0;
  bool was_read_ = false;
  Figures figures_;
};

void print(const char* name, Figures& figures, int feeds, int counted) {
  std::ranges::sort(figures.delays);
  const auto at = [&](double part) {
    return figures.delays.empty()
               ? 0
               : figures.delays[static_cast<std::size_t>(part * static_cast<double>(figures.delays.size() - 1))];
  };
  std::printf("| %s | %d | %.1f | %.1f %% | %.0f min | %.0f min | %.0f min | %llu of %llu |\n", name, feeds,
              static_cast<double>(figures.polls) / feeds / counted, figures.share(), figures.mean(), at(0.5), at(0.9),
              static_cast<unsigned long long>(figures.missed),
              static_cast<unsigned long long>(figures.missed) + figures.delays.size());
}

int run(int feeds, int counted, double least_share, double most_delay) {
  std::array<Figures, habits.size()> by_habit;
  std::array<int, habits.size()> feeds_of{};
  for (int i = 0; i < feeds; ++i) {
    Course course(i, feeds, begin + days(counted));
    const auto habit = static_cast<std::size_t>(course.habit());
    by_habit[habit].add(course.run());
    ++feeds_of[habit];
  }
  std::printf(
      "| publishers | feeds | polls a day | bring something | delay: mean | median | 9 of 10 | missed |\n"
      "|---|---|---|---|---|---|---|---|\n");
  Figures all;
  for (std::size_t i = 0; i < habits.size(); ++i) {
    if (feeds_of[i] > 0) print(habits[i], by_habit[i], feeds_of[i], counted);
    all.add(by_habit[i]);
  }
  print("all", all, feeds, counted);
  return all.share() >= least_share && all.mean() <= most_delay ? 0 : 1;
}

}  // namespace
}  // namespace feedmill

int main(int count, char** words) {
  const auto number = [&](int place, double usual) { return place < count ? std::atof(words[place]) : usual; };
  return feedmill::run(static_cast<int>(number(1, 1000)), static_cast<int>(number(2, 30)), number(3, 0),
                       number(4, 1e9));
}
