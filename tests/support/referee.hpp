// A publisher that keeps score: it serves feeds with habits of every kind and judges each request by the rules of HTTP
// §3–§6 that follow from its own answers. It shares no code with the product.
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

/// The validators sent for a feed's document, byte for byte; "" if none were sent.
struct SaidValidators {
  std::string etag{}, last_modified{};
  std::string url{};  ///< the URL that sent them

  bool operator==(const SaidValidators&) const = default;
};

class Referee {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Seconds = std::chrono::seconds;

  /// One request of a feed, as a habit sees it.
  struct Visit {
    Milliseconds now{};        ///< of the poll, by the clock of set_time()
    unsigned poll = 0;         ///< 1 for the feed's first
    std::string url;           ///< asked for
    bool conditional = false;  ///< it carried what this URL said last
  };

  /// An answer, and its meaning under the rules: none of this is derived from the answer itself.
  struct Answer {
    Response response;
    enum class Keep {
      old,      ///< validators stay as they are
      replace,  ///< by `said`; validators missing there are deleted
      renew,    ///< by those in `said`, the others stay
    } keep = Keep::replace;
    SaidValidators said{};      ///< `url` is filled in
    Seconds earliest{3600};     ///< no poll before that long from now
    Seconds latest{24 * 3600};  ///< one has come by then, the spread of HTTP P12 (a tenth, 30 min at most) apart
    const char* rule = "P6";    ///< which asks for `earliest`
    std::string moved_to{};     ///< the feed lives there from now on (HTTP R5)
    std::function<bool(Milliseconds)> allowed{};  ///< whether the next poll may come then (HTTP P11); null: any time
    /// Pages of older posts that are to be read before the next poll, in that order (HTTP G1).
    std::vector<std::string> pages{};
    Seconds host_rest{0};  ///< from the quota it sent: no request to the host before that (HTTP H10)
    bool is_refusal =
        false;  ///< asks the host's other feeds to wait as well, for `earliest`, once two hear it (HTTP H4)
    bool is_of_storm = false;  ///< a failure that a host's trouble shows in (HTTP H11)
  };
  using Habit = std::function<Answer(const Visit&)>;

  struct Score {
    std::uint64_t checks = 0, violations = 0;
    std::string first;  ///< the first violation in words
  };

  struct Polls {
    std::uint64_t polls = 0, requests = 0, not_modified = 0, unconditional = 0;
  };

  /// `contact`: the URL that the User-Agent has to name.
  explicit Referee(std::string contact);

  std::uint16_t port() const { return server_.port(); }
  /// Registers a feed at http://NAME.test:PORT/feed.xml, or on that host at `path`, and returns that. Its habit answers
  /// for all hosts that end in NAME.test.
  std::string add(const std::string& name, Habit habit, const std::string& path = "/feed.xml");
  /// From now on hosts are judged too: the required distance between requests to one host. For a clock that advances
  /// between requests.
  void watch_hosts(Milliseconds spacing);
  /// "http://HOST:PORT/path"
  std::string url(std::string_view host, std::string_view path) const;

  /// The poll that begins now. Later requests of the same feed within it have to be hops.
  void set_time(Milliseconds now);
  /// Ends the game: feeds that have waited too long for a poll are reported (HTTP P14).
  void finish();
  Polls polls(const std::string& feed_url) const;
  std::map<std::string, Score> scores() const;
  std::uint64_t violations() const;
  /// "P1  1234 checks, 0 violations" and so on, a line each.
  std::string table() const;

 private:
  struct Feed {
    std::string name, home, url;  ///< where it was registered, where it lives
    Habit habit;
    SaidValidators said;
    std::string hop;  ///< where the last answer sent the visitor, "" when it was final
    Milliseconds last{}, earliest{}, latest{};
    const char* rule = "P6";
    std::function<bool(Milliseconds)> allowed;
    Milliseconds unchanged_since{}, probed{};  ///< 304 ever since; last request without its validators (HTTP P5)
    bool broken = false;                       ///< a probe has shown that its 304s are wrong: one a day is due
    std::uint64_t tick = 0;                    ///< of its last poll
    Polls polls;
    std::vector<std::string> pages;  ///< yet to be read
    std::size_t pages_read = 0;      ///< since its last poll
    Milliseconds asked{};            ///< last request, whatever for
  };

  /// What a host's answers have put into force for all of its feeds.
  struct Host {
    Milliseconds started{}, rests_until{};
    Milliseconds refused_at{}, refused_until{}, closed_until{};
    std::string refused_by;
    bool closed = false;
    Milliseconds slow{1};  ///< how many times the spacing
    int calm = 0;          ///< served since that was set
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
  mutable std::mutex mutex_;  ///< over all that follows but the server
  std::map<std::string, Feed> feeds_;
  std::map<std::string, Score> scores_;
  std::map<std::string, Host> hosts_;
  Milliseconds spacing_{};  ///< 0 = hosts are not judged
  Milliseconds now_{};
  std::uint64_t tick_ = 0;
  HttpServer server_;
};

}  // namespace feedmill::test
