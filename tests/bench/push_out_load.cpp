// Feeds, webhooks and commits for push_out.py, through the storage API that the worker uses.
//   feedmill_push_out_load feeds REDIS COUNT                feed <i> is http://feed-<i>.example/, fetched once, empty
//   feedmill_push_out_load webhooks REDIS FILE              "URL FEED" a line: a webhook for the events of that feed
//   feedmill_push_out_load commits REDIS COUNT PER_SECOND   COUNT new posts, each of another feed; 0: all at once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/records/diff.hpp"
#include "storage/records/tokens.hpp"

namespace {

using namespace feedmill;
using Clock = std::chrono::steady_clock;

template <class Result>
auto must(Result result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "push_out_load: %s\n", result.error().detail.c_str());
  std::exit(1);
}

class Load {
 public:
  explicit Load(const std::string& redis) : store_(StoreOptions{.url = redis}) {
    if (const auto opened = store_.open(); !opened) {
      std::fprintf(stderr, "push_out_load: %s\n", opened.error().detail.c_str());
      std::exit(1);
    }
  }

  void add_feeds(std::size_t count) {
    std::vector<NewFeed> feeds;
    for (std::size_t i = 0; i < count; ++i) {
      feeds.push_back({.feed_url = "http://feed-" + std::to_string(i) + ".example/",
                       .after = {},
                       .settings = R"({"republish":"yes"})",
                       .title = ""});
      if (feeds.size() < 1000 && i + 1 < count) continue;
      must(Feeds(store_).add(feeds));
      feeds.clear();
    }
    for (std::size_t read = 0; read < count;) read += commit(std::min<std::size_t>(500, count - read), false);
  }

  void add_webhooks(const char* file) {
    std::ifstream lines(file);
    for (std::string url, feed; lines >> url >> feed;) {
      Subscriber webhook;
      webhook.kind = Subscriber::Kind::webhook;
      webhook.url = url;
      webhook.filter.feeds = {feed};
      webhook.filter.types = {"post_created"};
      webhook.with_private = feed.find(".example/") == std::string::npos;
      webhook.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
      must(Subscribers(store_).add(webhook));
    }
  }

  /// Commits `count` new posts in ten batches a second, or at once if `per_second` is 0.
  void bring_posts(std::size_t count, std::size_t per_second) {
    const std::size_t at_once = per_second == 0 ? count : std::max<std::size_t>(1, per_second / 10);
    auto next = Clock::now();
    for (std::size_t brought = 0; brought < count;) {
      brought += commit(std::min(at_once, count - brought), true);
      next += std::chrono::milliseconds(at_once * 1000 / std::max<std::size_t>(1, per_second));
      if (brought < count && per_second > 0) std::this_thread::sleep_until(next);
    }
  }

 private:
  /// Commits for up to `most` feeds that have waited longest, and makes them due again at once; returns their number.
  std::size_t commit(std::size_t most, bool with_post) {
    ClaimRequest request;
    request.worker = worker_;
    request.request = ++requests_;
    request.max = most;
    request.host = {1000, Milliseconds(0)};
    const ClaimBatch batch = must(Ingest(store_).claim(request));
    std::vector<Commit> commits;
    for (const Claim& claim : batch.claims) {
      Commit commit;
      commit.feed_url = claim.feed_url;
      commit.claim = claim.id;
      commit.next_due = claim.now;
      commit.before = commit.state = claim.state;
      commit.state.state = "healthy";
      commit.state.last.at = claim.now;
      commit.document = true;
      commit.initial = claim.state.rhythm.imported.count() == 0;
      if (commit.initial) commit.state.rhythm.imported = claim.now;
      if (with_post) commit.entries = new_post(claim);
      commits.push_back(std::move(commit));
    }
    std::vector<const Commit*> all;
    for (const Commit& commit : commits) all.push_back(&commit);
    for (auto& done : Ingest(store_).commit(all)) must(std::move(done));
    return all.size();
  }

  std::vector<EntryWrite> new_post(const Claim& claim) {
    const std::string guid = random_token();
    const Fields fields{{"link", "https://example.org/" + guid},
                        {"title", "A post of medium length that somebody reads"},
                        {"summary", std::string(300, 'x')}};
    std::vector<EntryRecord> posts{{guid, fields[1].second, claim.now.count() / 1000, fields}};
    const LookUp look_up{claim.feed_url, posts};
    const auto known = must(Ingest(store_).look_up(std::span(&look_up, 1)).front());
    return diff_entries(std::move(posts), known, claim.now).writes;
  }

  Store store_;
  // Unique to this run, because claim numbers only grow for a single worker.
  std::string worker_ = fmt::format("{:032x}", std::chrono::system_clock::now().time_since_epoch().count());
  std::uint64_t requests_ = 0;
};

std::size_t number(const char* text) {
  return std::strtoul(text, nullptr, 10);
}

}  // namespace

int main(int count, char** values) {
  const std::string_view what = count > 3 ? values[1] : "";
  if (what == "feeds" && count == 4) {
    Load(values[2]).add_feeds(number(values[3]));
  } else if (what == "webhooks" && count == 4) {
    Load(values[2]).add_webhooks(values[3]);
  } else if (what == "commits" && count == 5) {
    Load(values[2]).bring_posts(number(values[3]), number(values[4]));
  } else {
    std::fputs(
        "usage: feedmill_push_out_load feeds REDIS COUNT | webhooks REDIS FILE | commits REDIS COUNT PER_SECOND\n",
        stderr);
    return 64;
  }
}
