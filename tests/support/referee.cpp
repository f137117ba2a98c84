#include "tests/support/referee.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <utility>
#include <vector>

#include <xxhash.h>

namespace feedmill::test {
namespace {

constexpr std::string_view accept = "application/atom+xml,application/rss+xml,application/xml,text/xml,*/*;q=0.1";

std::string feed_id(const std::string& url) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(url.data(), url.size())));
  return text.data();
}

/// The feed-id in a User-Agent: "0123456789abcdef" of "feed-id=0123456789abcdef".
std::string named_id(const std::string& agent) {
  const std::size_t at = agent.find("feed-id=");
  return at == agent.npos ? "" : agent.substr(at + 8, 16);
}

/// The header fields of a request, without its first line; names in lower case.
std::vector<std::pair<std::string, std::string>> lines_of(const std::string& head) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::size_t at = head.find("\r\n") + 2;
  for (std::size_t end; (end = head.find("\r\n", at)) != head.npos && end != at; at = end + 2) {
    const std::string line = head.substr(at, end - at);
    const std::size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    lines.emplace_back(std::move(name), colon == line.npos ? "" : line.substr(colon + 2));
  }
  return lines;
}

std::string hours(Referee::Milliseconds time) {
  return std::to_string(static_cast<double>(time.count()) / 3.6e6) + " h";
}

}  // namespace

Referee::Referee(std::string contact) : contact_(std::move(contact)) {
  server_.forget_requests();
  server_.serve_rest([this](const ServedRequest& request) { return answer(request); });
}

std::string Referee::url(std::string_view host, std::string_view path) const {
  return server_.url(host, path);
}

void Referee::watch_hosts(Milliseconds spacing) {
  const std::lock_guard lock(mutex_);
  spacing_ = spacing;
}

std::string Referee::add(const std::string& name, Habit habit, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const std::string home = url(name + ".test", path);
  Feed& feed = feeds_[feed_id(home)];
  feed.name = name;
  feed.home = feed.url = home;
  feed.habit = std::move(habit);
  return home;
}

void Referee::set_time(Milliseconds now) {
  const std::lock_guard lock(mutex_);
  now_ = now;
  ++tick_;
}

void Referee::finish() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, feed] : feeds_) {
    check("P14", now_ <= feed.latest, [&feed = feed] { return feed.name + " was given up"; });
  }
}

Referee::Polls Referee::polls(const std::string& feed_url) const {
  const std::lock_guard lock(mutex_);
  const auto found = feeds_.find(feed_id(feed_url));
  return found == feeds_.end() ? Polls() : found->second.polls;
}

std::map<std::string, Referee::Score> Referee::scores() const {
  const std::lock_guard lock(mutex_);
  return scores_;
}

std::uint64_t Referee::violations() const {
  std::uint64_t total = 0;
  for (const auto& [rule, score] : scores()) total += score.violations;
  return total;
}

std::string Referee::table() const {
  std::string text;
  for (const auto& [rule, score] : scores()) {
    text += rule + std::string(rule.size() < 5 ? 5 - rule.size() : 1, ' ') + std::to_string(score.checks) +
            " checks, " + std::to_string(score.violations) + " violations";
    if (!score.first.empty()) text += ": " + score.first;
    text += '\n';
  }
  return text;
}

void Referee::check(const char* rule, bool holds, const std::function<std::string()>& words) {
  Score& score = scores_[rule];
  ++score.checks;
  if (holds) return;
  if (score.violations++ == 0) score.first = words();
}

Referee::Feed* Referee::feed_of(const ServedRequest& request, const std::string& url) {
  const std::string agent = request.header("User-Agent");
  const auto found = feeds_.find(named_id(agent));
  check("P19", found != feeds_.end(), [&] { return "no feed-id that we know: " + agent; });
  if (found != feeds_.end()) return &found->second;
  for (auto& [id, feed] : feeds_) {
    if (feed.url == url) return &feed;
  }
  return nullptr;
}

void Referee::judge_time(const Feed& feed) {
  const auto said = [&] { return feed.name + " " + hours(now_ - feed.last) + " after the last poll"; };
  check(feed.rule, now_ >= feed.earliest, said);
  check("P6", now_ >= feed.earliest, said);
  check("P14", now_ <= feed.latest, said);
  if (feed.allowed) check("P11", feed.allowed(now_), said);
}

void Referee::judge_request(Feed& feed, const ServedRequest& request, const std::string& url, bool is_hop) {
  const SaidValidators none;
  const SaidValidators& due = feed.said.url == url ? feed.said : none;
  const std::string match = request.header("If-None-Match"), since = request.header("If-Modified-Since");
  const auto said = [&] {
    return feed.name + " at " + url + ": sent '" + match + "' and '" + since + "', due '" + due.etag + "' and '" +
           due.last_modified + "'";
  };
  const bool exact = match == due.etag && since == due.last_modified;
  const bool bare = match.empty() && since.empty();
  check("P1", exact || bare, said);
  check("P3", exact || bare || feed.said.url == url, said);
  if (bare && !exact && (feed.broken || feed.unchanged_since.count() != 0)) {  // a probe of validators that seem stuck
    using std::chrono::days;
    const bool stuck = feed.broken || now_ - feed.unchanged_since >= days(14);
    check("P5", stuck && now_ - feed.probed >= days(1), said);
    feed.probed = now_;
  } else {
    check("P4", exact || !bare, said);
  }

  const auto lines = lines_of(request.head);
  const auto agent_start = std::string("feedmill/");
  bool golden = request.method == "GET" && request.head.find(" HTTP/1.1\r\n") != std::string::npos;
  for (const auto& line : lines) {
    const auto &name = line.first, &value = line.second;
    if (name == "accept") {
      check("P17", value == accept, [&] { return feed.name + ": Accept: " + value; });
    } else if (name == "accept-encoding") {
      check("P17", value == "gzip, br, zstd", [&] { return feed.name + ": Accept-Encoding: " + value; });
    } else if (name == "user-agent") {
      check(
          "P19",
          value.starts_with(agent_start) && value.ends_with(" (+" + contact_ + "; feed-id=" + feed_id(feed.home) + ")"),
          [&] { return feed.name + ": " + value; });
    } else if (name == "a-im") {
      check("P18", false, [&] { return feed.name + ": A-IM: " + value; });
    } else if (name == "cookie") {
      golden = golden && is_hop;
    } else {
      golden = golden && (name == "host" || name == "if-none-match" || name == "if-modified-since");
    }
  }
  const auto has = [&](std::string_view name) {
    return std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == name; }) == 1;
  };
  golden = golden && has("host") && has("user-agent") && has("accept") && has("accept-encoding");
  check("P16", golden, [&] { return feed.name + ": " + request.head; });
  check("P18", true, {});
}

/// Judges the request for a page of older posts by HTTP G1–G3. `url`: the requested page.
void Referee::judge_page(Feed& feed, const std::string& url) {
  const auto said = [&] {
    return feed.name + ": page " + url + " " + hours(now_ - feed.asked) + " after the last request";
  };
  const auto host_of = [](const std::string& of) { return of.substr(0, of.find('/', of.find("//") + 2)); };
  check("G1", now_ >= feed.asked + Seconds(1), said);
  check("G2", ++feed.pages_read <= 10, said);
  check("G3", host_of(url) == host_of(feed.url), said);
}

/// Judges the start of a request to a host.
void Referee::judge_start(Host& host, const Feed& feed) {
  const auto said = [&] {
    return feed.name + ": " + feed.url + " " + hours(now_ - host.started) + " after the last request to its host";
  };
  check("P15", now_ >= host.started + spacing_, said);
  check("H5", now_ >= host.started + spacing_ * host.slow.count(), said);
  check("H10", now_ >= host.rests_until, said);
  check("H4", now_ >= host.closed_until, said);
  if (host.storm_wait.count() != 0) {
    check("H11", host.served > 0 || now_ >= host.started + host.storm_wait, said);
    check("H11", feed.url != host.probed, [&] { return feed.name + " has asked twice in a row: " + feed.url; });
    host.probed = feed.url;
  }
  host.started = now_;
}

/// Records what an answer means for the other feeds of its host: HTTP H4, H5, H10, H11.
void Referee::note_answer(Host& host, const Feed& feed, const Answer& answer) {
  using std::chrono::minutes;
  host.rests_until = now_ + answer.host_rest;
  if (answer.is_refusal) {
    const Milliseconds until = now_ + answer.earliest;
    if (host.closed) {
      host.closed_until = until;
    } else if (!host.refused_by.empty() && host.refused_by != feed.url && now_ - host.refused_at <= minutes(10)) {
      host.closed = true;
      host.closed_until = std::max(until, host.refused_until);
    }
    host.refused_by = feed.url;
    host.refused_at = now_;
    host.refused_until = until;
    return;
  }
  if (host.closed) {  // this request was the probe
    host.closed = false;
    host.refused_by.clear();
    host.slow = Milliseconds(2);
    host.calm = 0;
  } else if (host.slow.count() > 1 && ++host.calm == 10) {
    host.slow /= 2;
    host.calm = 0;
  }
  if (host.storm_wait.count() != 0) {
    host.served = answer.is_of_storm ? 0 : host.served + 1;
    if (answer.is_of_storm) host.storm_wait = std::min<Milliseconds>(host.storm_wait * 2, minutes(30));
    if (host.served == 3) host.storm_wait = Milliseconds(0);
  } else if (!answer.is_of_storm) {
    host.failed.clear();
  } else {
    host.failed.insert(feed.url);
    if (host.failed.size() < 5) return;
    host.storm_wait = minutes(1);
    host.served = 0;
    host.failed.clear();
    host.probed.clear();
  }
}

Response Referee::answer(const ServedRequest& request) {
  const std::lock_guard lock(mutex_);
  const std::string url = "http://" + request.header("Host") + request.target;
  check("P21", request.target.find("robots.txt") == std::string::npos, [&] { return url; });
  Feed* feed = feed_of(request, url);
  if (feed == nullptr) return {.status = 404};

  const bool is_hop = feed->tick == tick_;
  const std::string host_name = request.header("Host");
  Host& host = hosts_[host_name];
  const bool is_start = !is_hop || feed->hop.find("//" + host_name + "/") == std::string::npos;
  if (spacing_.count() != 0 && is_start) judge_start(host, *feed);
  const bool is_page = !is_hop && !feed->pages.empty() && url == feed->pages.front();
  if (is_page) {
    judge_page(*feed, url);
    feed->pages.erase(feed->pages.begin());
    feed->tick = tick_;
  } else if (!is_hop) {
    check("G1", feed->pages.empty(), [&] { return feed->name + " left pages behind"; });
    feed->pages_read = 0;
    if (feed->tick != 0) judge_time(*feed);
    check("P13", url == feed->url, [&] { return feed->name + " asked " + url + ", lives at " + feed->url; });
    feed->tick = tick_;
    feed->last = now_;
    ++feed->polls.polls;
  } else {
    check("P16", url == feed->hop, [&] { return feed->name + ": a second request in one poll: " + url; });
  }
  judge_request(*feed, request, url, is_hop);
  ++feed->polls.requests;
  feed->asked = now_;

  Visit visit;
  visit.now = now_;
  visit.poll = static_cast<unsigned>(feed->polls.polls);
  visit.url = url;
  visit.conditional = !request.header("If-None-Match").empty() || !request.header("If-Modified-Since").empty();
  Answer ruled = feed->habit(visit);
  if (is_page) return ruled.response;  // a page does not affect the feed's own document
  if (ruled.response.status == 304) ++feed->polls.not_modified;

  feed->hop.clear();
  for (const auto& [name, value] : ruled.response.headers) {
    if (name == "Location") feed->hop = value;
  }
  if (!feed->hop.empty()) return ruled.response;  // the rules follow from the final answer

  if (spacing_.count() != 0) note_answer(host, *feed, ruled);
  feed->pages = ruled.pages;
  if (!visit.conditional) ++feed->polls.unconditional;
  if (feed->probed == now_ && ruled.response.status == 200) feed->broken = true;
  if (ruled.response.status != 304)
    feed->unchanged_since = Milliseconds(0);
  else if (feed->unchanged_since.count() == 0)
    feed->unchanged_since = now_;
  feed->allowed = ruled.allowed;
  ruled.said.url = url;
  if (ruled.keep == Answer::Keep::replace) {
    feed->said = ruled.said;
  } else if (ruled.keep == Answer::Keep::renew) {
    if (!ruled.said.etag.empty()) feed->said.etag = ruled.said.etag;
    if (!ruled.said.last_modified.empty()) feed->said.last_modified = ruled.said.last_modified;
  }
  if (!ruled.moved_to.empty()) feed->url = ruled.moved_to;
  // HTTP P12 adds a spread to the decided time. Deciding also takes real time, while this clock stands still.
  const Seconds latest = std::max(ruled.latest, ruled.earliest);
  const Seconds spread = std::clamp(latest / 10, Seconds(6), Seconds(1800));
  feed->rule = ruled.rule;
  feed->earliest = now_ + ruled.earliest;
  feed->latest = now_ + latest + spread + Seconds(300);
  return ruled.response;
}

}  // namespace feedmill::test
