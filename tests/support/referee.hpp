// A publisher that keeps score: it serves feeds with all kinds of behaviour, and judges each request by the rules of
// HTTP §3–§6 that follow from its own answers. It shares no code with the product.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// The validators last sent with a feed's document, byte for byte; "" if none were sent.
struct SaidValidators {
  std::string etag{}, last_modified{};
  std::string url{};  ///< the URL that sent them

  bool operator==(const SaidValidators&) const = default;
};

/// All members may be called from any thread.
class Referee {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Seconds = std::chrono::seconds;

  /// One request for a feed, as passed to its habit.
  struct Visit {
    Milliseconds now{};        ///< time of the poll, by the clock of set_time()
    unsigned poll = 0;         ///< number of the feed's poll, from 1
    std::string url;           ///< the requested URL
    bool conditional = false;  ///< the request has If-None-Match or If-Modified-Since
  };

  /// An answer, and its meaning by the rules. The meaning is stated by the habit, not derived from the response.
  struct Answer {
    Response response;
    enum class Keep {
      old,      ///< the stored validators stay
      replace,  ///< `said` replaces them; validators missing there are deleted
      renew,    ///< those in `said` replace the stored ones, the others stay
    } keep = Keep::replace;
    SaidValidators said{};      ///< the referee sets `url`
    Seconds earliest{3600};     ///< no poll before this long from now
    Seconds latest{24 * 3600};  ///< a poll must come by then, plus the spread of HTTP P12 (a tenth, at most 30 min)
    const char* rule = "P6";    ///< the rule that gives `earliest`
    std::string moved_to{};     ///< URL of the feed from now on (HTTP R5)
    std::function<bool(Milliseconds)> allowed{};  ///< if the next poll may come then (HTTP P11); null: any time
    /// Pages of older posts to read, in this order, before the next poll (HTTP G1).
    std::vector<std::string> pages{};
    Seconds host_rest{0};  ///< from a quota: no request to the host for this long (HTTP H10)
    bool is_refusal =
        false;  ///< asks the host's other feeds to wait as well, for `earliest`, once two hear it (HTTP H4)
    bool is_of_storm = false;  ///< a failure that suggests trouble of the host (HTTP H11)
  };
  /// Answers the requests for one feed.
  using Habit = std::function<Answer(const Visit&)>;

  struct Score {
    std::uint64_t checks = 0, violations = 0;
    std::string first;  ///< the first violation in words
  };

  struct Polls {
    std::uint64_t polls = 0, requests = 0, not_modified = 0, unconditional = 0;
  };

  /// `contact`: the URL that the User-Agent must contain.
  explicit Referee(std::string contact);

  std::uint16_t port() const { return server_.port(); }
  /// Registers a feed at http://NAME.test:PORT/feed.xml, or at `path` on that host, and returns its URL. `habit` also
  /// answers on all hosts that end in NAME.test.
  std::string add(const std::string& name, Habit habit, const std::string& path = "/feed.xml");
  /// From now on also judges the distance between requests to one host, which must be at least `spacing`. Requires a
  /// clock that advances between requests.
  void watch_hosts(Milliseconds spacing);
  /// "http://HOST:PORT/path"
  std::string url(std::string_view host, std::string_view path) const;

  /// Begins a poll at this time. Until the next call, further requests for one feed must follow its redirects.
  void set_time(Milliseconds now);
  /// Ends the test: reports feeds that have waited too long for a poll (HTTP P14).
  void finish();
  Polls polls(const std::string& feed_url) const;
  std::map<std::string, Score> scores() const;
  std::uint64_t violations() const;
  /// One line per rule, such as "P1  1234 checks, 0 violations".
  std::string table() const;

 private:
  struct Feed {
    std::string name, home, url;  ///< the registered URL, and the current one
    Habit habit;
    SaidValidators said;
    std::string hop;  ///< target of the redirect last sent, "" after a final answer
    Milliseconds last{}, earliest{}, latest{};
    const char* rule = "P6";
    std::function<bool(Milliseconds)> allowed;
    Milliseconds unchanged_since{}, probed{};  ///< only 304 since then; last probe without validators (HTTP P5)
    bool broken = false;                       ///< a probe has shown that the 304s are wrong: one probe a day is due
    std::uint64_t tick = 0;                    ///< of the last poll
    Polls polls;
    std::vector<std::string> pages;  ///< pages not read yet
    std::size_t pages_read = 0;      ///< since the last poll
    Milliseconds asked{};            ///< time of the last request of any kind
  };

  /// What a host's answers require for all of its feeds.
  struct Host {
    Milliseconds started{}, rests_until{};
    Milliseconds refused_at{}, refused_until{}, closed_until{};
    std::string refused_by;
    bool closed = false;
    Milliseconds slow{1};  ///< factor on the spacing
    int calm = 0;          ///< requests served since `slow` was set
    std::set<std::string> failed;
    std::string probed;
    Milliseconds storm_wait{};
    int served = 0;
  };

  Response answer(const ServedRequest& request);
  Feed* feed_of(const ServedRequest& request, const std::string& url);
  void judge_time(const Feed& feed);
  void judge_request(Feed& feed, const ServedRequest& request, const std::string& url, bool is_hop);
  void judge_page(Feed& feed, const std::string& url);
  void judge_start(Host& host, const Feed& feed);
  void note_answer(Host& host, const Feed& feed, const Answer& answer);
  void check(const char* rule, bool holds, const std::function<std::string()>& words);

  const std::string contact_;
  mutable std::mutex mutex_;  ///< protects all of the following but the server
  std::map<std::string, Feed> feeds_;
  std::map<std::string, Score> scores_;
  std::map<std::string, Host> hosts_;
  Milliseconds spacing_{};  ///< 0 = hosts are not judged
  Milliseconds now_{};
  std::uint64_t tick_ = 0;
  HttpServer server_;
};

}  // namespace feedmill::test
