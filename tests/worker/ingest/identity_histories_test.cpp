// Random histories of a feed in which some documents have bad guids and links, through the real commit path: a post is
// created once and keeps its entry, its guid and its content (DESIGN §5).
// FEEDMILL_HISTORIES: number of histories of each kind (default 24). FEEDMILL_HISTORY_SEED: seed of the first one; a
// failure prints its own.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/records/post_identity.hpp"
#include "storage/redis/redis.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::identity_histories_test {
namespace {

/// A post as its publisher intends it.
struct Post {
  int number = 0, edition = 1;
  std::string guid, link;
  bool dated = true;
  bool emitted = false;  // listed in any document so far
  bool own_link = true;  // the newest document that lists it gives its own link
  bool must_be_good = false;
  int good_edition = 0;  // in the newest document under its own guid; 0: not so listed
  std::string id{};      // of its entry, once listed under its guid

  std::string title() const { return "Post " + std::to_string(number) + ", edition " + std::to_string(edition); }
};

/// A post as a document lists it.
struct Listed {
  Post* post = nullptr;  // nullptr: an item without a post
  std::string guid, link, title;
  std::string text{}, date{};
};

struct Kind {
  bool permalinks = false, dated = true, trims = false;
  bool renames = false;                   // individual posts get new guids, slugs or schemes
  std::optional<IdentifiedBy> wrongly{};  // one document switches the feed to this identity, as an earlier rule did
};

std::string date_of(const Post& post) {
  const std::time_t time = 1'740'000'000 + 3600 * static_cast<std::time_t>(post.number);
  std::tm utc{};
  char text[40];
  gmtime_r(&time, &utc);
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

void flip_scheme(std::string& address) {
  address = address.starts_with("https:") ? "http:" + address.substr(6) : "https:" + address.substr(5);
}

/// Gives a post that is stored another guid, in one of three ways.
void rename(Post& post, const Kind& kind, std::size_t how, int number) {
  if (how == 0 || kind.trims || !kind.dated) {  // for trimmed posts only the guid is known
    if (kind.permalinks) flip_scheme(post.guid);
    flip_scheme(post.link);
    return;
  }
  const std::string slug = "https://example.org/" + std::to_string(post.number) + "/renamed/" + std::to_string(number);
  if (how == 1 || kind.permalinks) post.guid = kind.permalinks ? slug : "uuid:" + std::to_string(number);
  if (how == 2 || kind.permalinks) post.link = slug;
}

class IdentityHistories : public Polling {
 protected:
  void live(std::uint64_t seed, Kind kind);

  std::map<std::string, std::string> guidmap() {
    if (!probe_) probe_.emplace(*parse_redis_url(server.admin_url()), Milliseconds(5000));
    const std::string key = url + ":guidmap";
    const Words words{"HGETALL", key};
    const auto reply = probe_->command(words);
    EXPECT_TRUE(reply);
    std::map<std::string, std::string> map;
    for (auto& [guid, id] : reply->pairs()) map[guid] = id;
    return map;
  }

  std::optional<Redis> probe_;
  std::uint64_t rekeyed_ = 0;  // posts in all histories
};

std::string xml_of(const std::vector<Listed>& items, int document) {
  std::string xml = "<rss version='2.0'><channel><title>Feed</title><link>https://example.org/</link>";
  for (const Listed& item : items) {
    xml += "<item>";
    if (!item.guid.empty()) xml += "<guid isPermaLink='false'>" + item.guid + "</guid>";
    if (!item.link.empty()) xml += "<link>" + item.link + "</link>";
    xml += "<title>" + item.title + "</title><description>" + item.text + "</description>";
    if (!item.date.empty()) xml += "<pubDate>" + item.date + "</pubDate>";
    xml += "</item>";
  }
  return xml + "</channel></rss><!-- " + std::to_string(document) + " -->";
}

void IdentityHistories::live(std::uint64_t seed, Kind kind) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto chance = [&](std::size_t percent) { return below(100) < percent; };
  redis({"FLUSHALL"});
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url}}));
  looks_whole = false;
  alter = nullptr;
  retention = Retention();
  retention.hard_cap = 100'000;
  retention.entries = 100'000;

  std::deque<std::unique_ptr<Post>> all;
  std::vector<Post*> list;  // newest first
  const std::size_t window = 8 + below(33);
  if (kind.trims) {
    retention.entries = window / 2;
    retention.strict = true;
  }
  const auto add_post = [&] {
    auto& post = all.emplace_back(std::make_unique<Post>());
    post->number = static_cast<int>(all.size());
    const std::string number = std::to_string(post->number);
    post->link = "https://example.org/" + number + "/page";
    post->guid = kind.permalinks ? post->link : "tag:example.org," + number;
    post->dated = kind.dated;
    list.insert(list.begin(), post.get());
  };
  for (std::size_t i = 0; i < window; ++i) add_post();
  std::uint32_t created = 0;
  int waiting_to_return = 0, renamed_in_a_row = 0, renamed = 0;
  const std::size_t documents = 12 + below(25);
  const std::size_t wrong_at = 2 + below(5);
  for (std::size_t n = 1; n <= documents; ++n) {
    const bool wrong = kind.wrongly && n >= wrong_at && state().identity.by != IdentifiedBy::guid;
    // Changes by the publisher.
    if (n > 1 && chance(50)) {
      for (std::size_t i = 1 + below(2); i > 0; --i) add_post();
    }
    if (chance(10)) std::shuffle(list.begin(), list.end(), random);
    if (chance(15) && list.size() > 4) {
      const auto gone = list.begin() + static_cast<std::ptrdiff_t>(below(list.size()));
      if (!(*gone)->must_be_good) list.erase(gone);
    }
    while (list.size() > window && !list.back()->must_be_good) list.pop_back();
    if (!wrong && n != wrong_at) {
      for (Post* post : list) {
        if (chance(4) && post->own_link && !post->must_be_good) ++post->edition;
      }
    }
    // Individual posts get new guids, but never in so many consecutive documents that all guids are in doubt.
    const bool renames_now = kind.renames && n > 1 && renamed_in_a_row < 2 && chance(50);
    renamed_in_a_row = renames_now ? renamed_in_a_row + 1 : 0;
    for (std::size_t i = renames_now ? 1 + below(2) : 0; i > 0; --i) {
      Post& post = *list[below(list.size())];
      const bool known = post.emitted && post.own_link && post.good_edition == post.edition && !post.must_be_good;
      if (known) rename(post, kind, below(3), ++renamed);
    }
    // Faults of the publisher's software.
    std::vector<Listed> items;
    for (Post* post : list) {
      Listed& item = items.emplace_back(Listed{post, post->guid, post->link, post->title()});
      item.text = "What was written about the subject with the number " + std::to_string(post->number);
      if (kind.renames) item.text += std::string(200, '.');
      if (post->dated) item.date = date_of(*post);
    }
    std::vector<bool> is_bad(items.size());
    std::vector<Listed> extra;
    std::vector<Post*> good_next;
    const bool bad_document = !renames_now && !wrong && !(kind.wrongly && n == wrong_at) && chance(40);
    const std::size_t percent = 1 + below(5);
    for (std::size_t forced = bad_document ? below(items.size()) : 0, i = 0; bad_document && i < items.size(); ++i) {
      if (is_bad[i] || (i != forced && !chance(percent)) || items[i].post->must_be_good) continue;
      Listed& item = items[i];
      const std::size_t other = below(items.size());
      const bool other_is_good = other != i && !is_bad[other] && !items[other].post->must_be_good;
      switch (below(7)) {
        case 0:  // no guid
          item.guid.clear();
          is_bad[i] = true;
          break;
        case 1:  // the guid of another post
          if (!other_is_good) break;
          item.guid = items[other].guid;
          is_bad[i] = is_bad[other] = true;
          items[other].post->good_edition = items[other].post->edition;
          break;
        case 2:  // listed again under another title
          extra.push_back(item);
          extra.back().post = nullptr;
          extra.back().title += " (copy)";
          is_bad[i] = true;
          break;
        case 3:  // listed again
          extra.push_back(item);
          extra.back().post = nullptr;
          is_bad[i] = true;
          break;
        case 4:
          if (item.post->edition != item.post->good_edition) break;
          item.link.clear();
          is_bad[i] = true;
          break;
        case 5:
          if (item.post->edition != item.post->good_edition) break;
          item.link += "/elsewhere";
          is_bad[i] = true;
          break;
        case 6:  // swapped guids
          if (!other_is_good || kind.trims || (kind.wrongly && n < wrong_at) || items[i].post->id.empty() ||
              items[other].post->id.empty())
            break;
          std::swap(item.guid, items[other].guid);
          is_bad[i] = is_bad[other] = true;
          break;
      }
    }
    for (Listed& item : items) item.post->must_be_good = false;
    for (Post* post : good_next) post->must_be_good = true;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Post& post = *items[i].post;
      post.own_link = items[i].link == post.link && !post.must_be_good;
      if (!is_bad[i]) post.good_edition = post.edition;
    }
    std::uint32_t fresh = 0;
    for (Listed& item : items) {
      if (!item.post->emitted) ++fresh;
      item.post->emitted = true;
    }
    std::vector<Listed> document = items;
    for (Listed& item : extra) {
      document.insert(document.begin() + static_cast<std::ptrdiff_t>(below(document.size() + 1)), std::move(item));
    }
    if (kind.wrongly && n == wrong_at) {
      alter = [&](const FeedState&, Document& read) {
        read.identified_by = *kind.wrongly;
        identify(read.entries, read.identified_by);
      };
    }
    const Committed done = poll(xml_of(document, static_cast<int>(n)));
    alter = nullptr;

    const auto told = [&] {
      std::string text = "seed " + std::to_string(seed) + ", document " + std::to_string(n) + "\n";
      for (const Listed& item : document) text += item.guid + " | " + item.link + " | " + item.title + "\n";
      return text;
    };
    created += done.created;
    rekeyed_ += done.rekeyed;
    if (kind.trims) {
      ASSERT_LE(created, all.size()) << told();
      continue;
    }
    ASSERT_EQ(done.created, fresh) << told();
    if (state().identity.by != IdentifiedBy::guid) {
      ASSERT_LT(++waiting_to_return, 4) << told();
      continue;
    }
    const auto map = guidmap();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (is_bad[i] || !items[i].post->id.empty()) continue;
      const auto found = map.find(items[i].post->guid);
      ASSERT_NE(found, map.end()) << items[i].post->guid << "\n" << told();
      items[i].post->id = found->second;
    }
    for (const auto& post : all) {
      if (post->id.empty()) continue;
      const auto found = map.find(post->guid);
      ASSERT_TRUE(found != map.end() || kind.wrongly) << post->guid << "\n" << told();
      if (found != map.end()) {
        ASSERT_EQ(found->second, post->id) << post->guid << "\n" << told();
      }
    }
    if (n != documents && !chance(20)) continue;
    std::map<std::string, std::string> titles;
    const auto entries = Entries(store).all_by_order(url, 100'000);
    ASSERT_TRUE(entries);
    for (const StoredEntry& entry : *entries) titles[entry.id] = entry.get("title");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!is_bad[i]) {
        ASSERT_EQ(titles[items[i].post->id], items[i].post->title()) << told();
      }
    }
  }
  std::map<std::string, int> times;
  for (const auto& signal : signals("post_created")) {
    const std::string title(signal.at("data").at("title").as_string());
    ASSERT_EQ(++times[title.substr(0, title.find(','))], 1) << "seed " << seed << ": " << title;
  }
  expect_whole();
}

std::uint64_t number_in(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? static_cast<std::uint64_t>(otherwise) : std::strtoull(text, nullptr, 10);
}

const std::uint64_t histories = number_in("FEEDMILL_HISTORIES", is_sanitized ? 15 : tries(24, 200, 200));
const std::uint64_t first_seed = number_in("FEEDMILL_HISTORY_SEED", 1);

TEST_F(IdentityHistories, CreateEachPostOnceAndKeepItsGuid) {
  for (std::uint64_t i = first_seed; i < first_seed + histories && !HasFatalFailure(); ++i) {
    live(i, {.permalinks = i % 3 == 0, .dated = i % 2 == 0});
  }
}

TEST_F(IdentityHistories, BringNoTrimmedPostBack) {
  for (std::uint64_t i = first_seed; i < first_seed + histories && !HasFatalFailure(); ++i) {
    live(i, {.permalinks = i % 3 == 0, .trims = true});
  }
}

TEST_F(IdentityHistories, KeepPostsWhenGuidsChangeOneByOne) {
  for (std::uint64_t i = first_seed; i < first_seed + histories && !HasFatalFailure(); ++i) {
    live(i, {.permalinks = i % 3 == 0, .dated = i % 4 != 0, .trims = i % 5 == 0, .renames = true});
  }
  EXPECT_GT(rekeyed_, histories);
}

TEST_F(IdentityHistories, HealAWrongSwitch) {
  for (std::uint64_t i = first_seed; i < first_seed + histories && !HasFatalFailure(); ++i) {
    live(i, {.permalinks = i % 3 == 0,
             .dated = i % 2 == 0,
             .wrongly = i % 4 < 2 ? IdentifiedBy::link : IdentifiedBy::digest});
  }
}

}  // namespace
}  // namespace feedmill::test::identity_histories_test
