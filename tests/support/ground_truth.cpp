#include "tests/support/ground_truth.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace feedmill::test {
namespace {

std::string path(std::size_t feed) {
  return "/truth/" + std::to_string(feed);
}

std::string date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm utc{};
  char text[64];
  if (gmtime_r(&time, &utc) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

}  // namespace

GroundTruth::GroundTruth(HttpServer& http) : GroundTruth(http, Options()) {}
GroundTruth::GroundTruth(HttpServer& http, Options options) : http_(http), options_(options) {}

std::string GroundTruth::guid(std::size_t feed, std::size_t post) {
  return "f" + std::to_string(feed) + "-p" + std::to_string(post);
}

std::string GroundTruth::title(std::size_t feed, std::size_t post, std::size_t edits) {
  return "Post " + std::to_string(post) + " of feed " + std::to_string(feed) + ", edited " + std::to_string(edits) +
         " times";
}

std::int64_t GroundTruth::published(std::size_t post) {
  // A day ago, because feeds without new posts are polled rarely.
  static const std::int64_t first = std::time(nullptr) - 86'400;
  return first + static_cast<std::int64_t>(post);
}

std::string GroundTruth::add_feed(std::size_t posts) {
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = feeds_.size();
    feeds_.emplace_back().posts.assign(posts, Post{1, {}});
  }
  const auto says = [this, number](const ServedRequest& request) { return answer(number, request); };
  if (options_.led > 0 && number % options_.led == 0) {
    const std::string there = "/there" + path(number);
    Response redirect{.status = 302, .headers = {{"Location", http_.url("localhost", there)}}};
    redirect.delay = std::chrono::milliseconds(50);
    http_.serve(path(number), redirect);
    http_.serve(there, says);
  } else {
    http_.serve(path(number), says);
  }
  return url(number);
}

void GroundTruth::publish(std::size_t feed, std::size_t posts) {
  const std::lock_guard lock(mutex_);
  Feed& is = feeds_[feed];
  ++is.version;
  is.posts.resize(is.posts.size() + posts, Post{is.version, {}});
}

void GroundTruth::edit(std::size_t feed, std::size_t post) {
  const std::lock_guard lock(mutex_);
  feeds_[feed].posts[post].edits.push_back(++feeds_[feed].version);
}

void GroundTruth::withdraw(std::size_t feed) {
  const std::lock_guard lock(mutex_);
  feeds_[feed].withdrawn = true;
}

bool GroundTruth::withdrawn(std::size_t feed) const {
  const std::lock_guard lock(mutex_);
  return feeds_[feed].withdrawn;
}

void GroundTruth::act(std::size_t feed, unsigned chance) {
  const std::size_t count = posts(feed);
  {
    const std::lock_guard lock(mutex_);
    const Feed& is = feeds_[feed];
    const auto seen = std::ranges::count_if(is.posts, [&](const Post& post) { return post.since <= is.confirmed; });
    if (count - static_cast<std::size_t>(seen) > options_.listed / 2) return;
  }
  if (count == 0 || chance % 3 != 0)
    publish(feed);
  else
    edit(feed, count - 1 - chance / 3 % std::min(count, std::max<std::size_t>(options_.listed / 2, 1)));
}

std::size_t GroundTruth::feeds() const {
  const std::lock_guard lock(mutex_);
  return feeds_.size();
}

std::string GroundTruth::url(std::size_t feed) const {
  return http_.url(path(feed));
}

std::size_t GroundTruth::posts(std::size_t feed) const {
  const std::lock_guard lock(mutex_);
  return feeds_[feed].posts.size();
}

std::size_t GroundTruth::version(std::size_t feed) const {
  const std::lock_guard lock(mutex_);
  return feeds_[feed].version;
}

std::size_t GroundTruth::version_of(std::string_view etag) {
  std::size_t number = 0;
  const auto from = std::min(etag.find('-'), etag.size());
  std::from_chars(etag.data() + std::min(from + 1, etag.size()), etag.data() + etag.size(), number);
  return number;
}

std::size_t GroundTruth::posts_at(std::size_t feed, std::size_t version) const {
  const std::lock_guard lock(mutex_);
  const auto& all = feeds_[feed].posts;
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const Post& post) { return post.since <= version; }));
}

std::size_t GroundTruth::edits_at(std::size_t feed, std::size_t post, std::size_t version) const {
  const std::lock_guard lock(mutex_);
  const auto& edits = feeds_[feed].posts[post].edits;
  return static_cast<std::size_t>(std::ranges::count_if(edits, [&](std::size_t since) { return since <= version; }));
}

GroundTruth::Asked GroundTruth::asked(std::size_t feed) const {
  const std::lock_guard lock(mutex_);
  return feeds_[feed].asked;
}

std::size_t GroundTruth::asked_in_all() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const Feed& feed : feeds_) all += feed.asked.times;
  return all;
}

Response GroundTruth::answer(std::size_t number, const ServedRequest& request) {
  const std::lock_guard lock(mutex_);
  Feed& feed = feeds_[number];
  const std::string known = request.header("If-None-Match");
  ++feed.asked.times;
  if (known.empty()) ++feed.asked.unconditional;
  feed.confirmed = std::max(feed.confirmed, version_of(known));
  Response response;
  response.etag = "\"" + std::to_string(number) + "-" + std::to_string(feed.version) + "\"";
  response.headers = {{"Content-Type", "application/rss+xml"}};
  if (known != response.etag) response.body = document(number);
  if (options_.in_halves) {
    response.drip = std::chrono::milliseconds(20);
    response.drip_bytes = response.body.size() / 2 + 200;
  }
  return response;
}

std::string GroundTruth::document(std::size_t number) const {
  const Feed& feed = feeds_[number];
  std::string text = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Feed " + std::to_string(number) +
                     "</title><link>https://example.org/</link><description>d</description>";
  const std::size_t count = feed.posts.size();
  for (std::size_t i = 0; i < std::min(count, options_.listed); ++i) {
    const std::size_t post = count - 1 - i;
    const std::string name = title(number, post, feed.posts[post].edits.size());
    text += "<item><guid isPermaLink=\"false\">" + guid(number, post) + "</guid><title>" + name + "</title><pubDate>" +
            date(published(post)) + "</pubDate><description>" + name + ": " + std::string(options_.text, 'x') +
            "</description></item>";
  }
  return text + "</channel></rss>";
}

}  // namespace feedmill::test
