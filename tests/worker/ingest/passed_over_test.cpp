// Items unchanged since the last document are skipped: the result must equal that of reading them (RELIABILITY L5),
// whatever else happens to the document.
#include <random>

#include "tests/support/counts.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::passed_over_test {
namespace {

/// One feed in its own store.
class World : public Polling {
 public:
  explicit World(bool passes) {
    passes_over = passes;
    looks_whole = false;
  }
  void TestBody() override {}

  using Polling::passed_over;
  using Polling::poll;
  using Polling::reading_options;
  using Polling::redis;
  using Polling::retention;

  /// Everything that readers and operators can see, without the times of writing.
  std::vector<std::string> left() {
    static const std::vector<std::string> timed{"first_seen", "last_changed", "saved"};
    std::vector<std::string> all;
    for (const StoredEntry& entry : *Entries(store).all_by_order(url, 10'000)) {
      const bool dated = !entry.get("date_published").empty() || !entry.get("date_updated").empty();
      for (const auto& [name, value] : entry.fields) {
        if (std::ranges::find(timed, name) != timed.end() || (!dated && name == "timestamp")) continue;
        all.push_back(entry.id + " " + name + " " + value);
      }
    }
    all.push_back(sorted("HGETALL", url + ":guidmap"));
    for (const auto& [id, mark] : digests()) all.push_back(id + " " + mark);
    all.push_back(sorted("HGETALL", "Feed:" + url));
    for (boost::json::object& signal : signals()) {
      for (const char* name : {"seq", "prev", "timestamp"}) signal.erase(name);
      if (auto* data = signal.if_contains("data")) data->as_object().erase("timestamp");
      if (auto* changed = signal.if_contains("changed")) changed->as_object().erase("timestamp");
      all.push_back(boost::json::serialize(signal));
    }
    const FeedState now = state();
    all.push_back(std::to_string(static_cast<int>(now.identity.by)) + " " +
                  std::to_string(now.identity.fresh_documents) + " " + std::to_string(now.identity.replaced_documents) +
                  " " + std::to_string(now.identity.unfit_documents) + " " + now.document.hints + " " +
                  std::to_string(now.document.listed) + " " + std::to_string(now.counts.total_new) + " " +
                  std::to_string(now.counts.polls_with_new));
    return all;
  }

 private:
  std::string sorted(const char* command, const std::string& key) {
    std::string text = redis({command, key});
    std::sort(text.begin(), text.end());  // hash fields have no order
    return text;
  }
};

/// A site that makes random changes to its list of posts.
class Site {
 public:
  /// `names`: whether its posts have guids.
  explicit Site(unsigned seed, bool names = true) : random_(seed), names_(names) {
    for (int i = 0; i < 6; ++i) add();
  }

  std::string next() {
    for (int steps = pick(3); steps >= 0; --steps) change();
    ++built_;
    return format_ == 0 ? rss_text() : format_ == 1 ? atom_text() : json_text();
  }
  void choose_format() { format_ = pick(3); }

 private:
  struct Post {
    std::string guid, link, title, text, date, extra;
  };

  int pick(int of) { return std::uniform_int_distribution<int>(0, of - 1)(random_); }
  Post& any() { return posts_[static_cast<std::size_t>(pick(static_cast<int>(posts_.size())))]; }

  void add() {
    const std::string n = std::to_string(++numbered_);
    posts_.insert(posts_.begin(),
                  {names_ ? "g" + n : "", "https://example.org/post/" + n, "Post " + n, "What post " + n + " says",
                   std::to_string(1 + numbered_ % 28) + " Mar 2025 12:00:00 GMT", ""});
  }

  void change() {
    if (posts_.empty()) add();
    switch (pick(17)) {
      case 0:
      case 1:
        add();
        break;
      case 2:
        any().text += " edited";
        break;
      case 3:
        any().extra += " ";  // white space is ignored
        break;
      case 4:
        any().link += "?utm_source=x";  // so are tracking parameters
        break;
      case 5:
        std::swap(any(), any());
        break;
      case 6:
        if (pick(4) == 0) posts_.push_back(any());  // the same post twice
        break;
      case 7: {
        if (pick(3) != 0) break;
        Post other = any();  // another post under the same guid
        other.link += "/other";
        other.title += " other";
        posts_.push_back(other);
        break;
      }
      case 8:
        posts_.erase(posts_.begin() + pick(static_cast<int>(posts_.size())));
        break;
      case 9:
        if (pick(3) == 0) any().guid.clear();
        break;
      case 10:
        any().date = pick(3) != 0 ? "" : "no date at all";
        break;
      case 11:
        if (pick(4) == 0) {  // a new CMS replaces all guids
          for (Post& post : posts_) post.guid = "new" + post.guid;
        }
        break;
      case 12:
        home_ = pick(2) == 0 ? "https://example.org/" : "https://other.example/";
        break;
      case 13:
        any().text = "<a href='/relative'>there</a> <script>x</script>";
        break;
      case 14:
        if (posts_.size() > 12) posts_.resize(6);
        break;
      case 15:
        language_ = pick(2) == 0 ? "" : "de";
        break;
      default:
        break;
    }
  }

  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
  }

  std::string rss_text() const {
    std::string xml = "<rss version='2.0'" + (language_.empty() ? "" : " xml:lang='" + language_ + "'") +
                      "><channel><title>Feed</title><link>" + home_ + "</link><lastBuildDate>" +
                      std::to_string(built_) + " Mar 2025 00:00:00 GMT</lastBuildDate>";
    for (const Post& post : posts_) {
      xml += "<item>" + (post.guid.empty() ? "" : "<guid isPermaLink='false'>" + post.guid + "</guid>") + "<link>" +
             escaped(post.link) + "</link><title>" + post.title + "</title><description>" + escaped(post.text) +
             post.extra + "</description>" + (post.date.empty() ? "" : "<pubDate>" + post.date + "</pubDate>") +
             "</item>\n";
    }
    return xml + "</channel></rss><!-- " + std::to_string(built_) + " -->";
  }

  std::string atom_text() const {
    std::string xml = "<feed xmlns='http://www.w3.org/2005/Atom'><title>Feed</title><link href='" + home_ +
                      "'/><updated>2025-03-01T00:00:" + std::to_string(10 + built_ % 50) + "Z</updated>";
    for (const Post& post : posts_) {
      xml += "<entry>" + (post.guid.empty() ? "" : "<id>" + post.guid + "</id>") + "<link href='" + escaped(post.link) +
             "'/><title>" + post.title + "</title><content type='html'>" + escaped(post.text) + post.extra +
             "</content>" + (post.date.empty() ? "" : "<updated>" + post.date + "</updated>") + "</entry>";
    }
    return xml + "</feed>";
  }

  std::string json_text() const {
    boost::json::array items;
    for (const Post& post : posts_) {
      boost::json::object item{{"url", post.link}, {"title", post.title}, {"content_html", post.text + post.extra}};
      if (!post.guid.empty()) item["id"] = post.guid;
      if (!post.date.empty()) item["date_published"] = post.date;
      items.push_back(std::move(item));
    }
    return boost::json::serialize(boost::json::object{{"version", "https://jsonfeed.org/version/1.1"},
                                                      {"title", "Feed"},
                                                      {"home_page_url", home_},
                                                      {"_built", built_},
                                                      {"authors", {{{"name", language_ + "author"}}}},
                                                      {"items", std::move(items)}});
  }

  std::mt19937 random_;
  bool names_;
  std::vector<Post> posts_;
  std::string home_ = "https://example.org/", language_;
  int numbered_ = 0, built_ = 10, format_ = 0;
};

/// Lines that only one side has; undated posts of one second may come in either order.
std::string difference(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<std::string> lines;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(lines));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Compares random histories of one feed in a store that skips unchanged items and in one that reads all.
void compare_histories(bool names, unsigned seeds, std::size_t least_passed) {
  std::size_t passed = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    World on(true), off(false);
    Site site(seed, names);
    site.choose_format();
    for (World* world : {&on, &off}) {
      Retention& retention = world->retention;
      retention.entries = seed % 3 == 0 ? 8 : 50;
      retention.strict = seed % 6 == 0;
      if (seed % 8 == 1) retention.hard_cap = 4;
      if (seed % 8 == 5) retention.bytes = 600;
    }
    for (int document = 0; document < 25; ++document) {
      const std::string body = site.next();
      const HtmlPolicy policy = seed % 4 == 0 && document > 12 ? HtmlPolicy::raw : HtmlPolicy::strict;
      if (seed % 5 == 0 && document == 10) {  // another program removes a post directly
        for (World* world : {&on, &off}) {
          const std::string id = world->redis({"ZRANGE", url + ":sort", "0", "0"});
          const std::string guid = world->redis({"HGET", id, "guid"});
          world->redis({"DEL", id});
          world->redis({"ZREM", url + ":sort", id});
          world->redis({"HDEL", url + ":guidmap", guid});
        }
      }
      for (World* world : {&on, &off}) {
        world->reading_options.html = policy;
        world->poll(body);
      }
      EXPECT_EQ(difference(on.left(), off.left()), "") << "seed " << seed << ", document " << document << "\n" << body;
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(off.passed_over, 0U);
    passed += on.passed_over;
  }
  EXPECT_GT(passed, least_passed) << "else nothing was tested";
}

TEST(PassedOver, LeavesWhatReadingAllLeaves) {
  compare_histories(true, static_cast<unsigned>(tries(10, 150, 1000)), 300);
}

TEST(PassedOver, LeavesWhatReadingAllLeavesWhereLinksStandForGuids) {
  compare_histories(false, static_cast<unsigned>(tries(10, 150, 1000)), 300);
}

TEST(PassedOver, PostsWithoutGuidsAreKnownByTheirLinks) {
  World world(true);
  std::vector<Item> items = site(10);
  for (Item& item : items) item.guid.clear();
  world.poll(rss(items));
  world.poll(rss(items, "again"));
  EXPECT_EQ(world.passed_over, 10U);
  items.push_back(items.front());  // two posts with one link: all items are read
  items.back().title = "Another";
  world.poll(rss(items));
  EXPECT_EQ(world.passed_over, 10U);
}

TEST(PassedOver, UnchangedItemsAreSkippedDespiteANewPostAndAChangedChannel) {
  World world(true);
  std::vector<Item> items = site(10);
  const auto document = [&](int built) {
    std::string xml = rss(items, "built in " + std::to_string(built) + " ms");
    xml.insert(xml.find("<item>"), "<lastBuildDate>" + std::to_string(built) +
                                       " Mar 2025 00:00:00 GMT</lastBuildDate>" + "<views xmlns='urn:x'>" +
                                       std::to_string(built) + "</views>");
    return xml;
  };
  world.poll(document(10));
  EXPECT_EQ(world.passed_over, 0U);
  items.insert(items.begin(), {"g11", "https://example.org/post/11", "Post 11", 11, "new"});
  const Committed done = world.poll(document(11));
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(world.passed_over, 10U);
  world.poll(document(12));
  EXPECT_EQ(world.passed_over, 21U);
}

TEST(PassedOver, TombstonedItemsAreSkipped) {
  for (const bool named : {true, false}) {
    World world(true);
    world.retention.entries = 10;
    world.retention.strict = true;
    const auto document = [&](int newest) {
      std::vector<Item> items = site(newest);
      if (!named) {
        for (Item& item : items) item.guid.clear();
      }
      return items;
    };
    world.poll(rss(document(25)));
    EXPECT_EQ(world.redis({"ZCARD", url + ":tombs"}), "15");
    EXPECT_EQ(world.poll(rss(document(26))).created, 1U);
    EXPECT_EQ(world.passed_over, 25U) << "10 stored, 15 tombstoned";
    std::vector<Item> edited = document(26);
    edited.back().text = "An edited post stays away";
    EXPECT_EQ(world.poll(rss(edited)).events, 0U);
    EXPECT_EQ(world.passed_over, 25U + 25U);
    EXPECT_EQ(world.redis({"ZCARD", url + ":sort"}), "10");
    EXPECT_EQ(world.poll(rss(edited, "again")).events, 0U);
    EXPECT_EQ(world.passed_over, 25U + 25U + 26U);
  }
}

TEST(PassedOver, ItemWithoutItsTombstoneIsStored) {
  World world(true);
  world.retention.hard_cap = 10;
  std::vector<Item> items = site(11);
  world.poll(rss(items));
  world.redis({"ZREM", url + ":tombs", "g1"});  // as an operator's save does, or the 20,001st tombstone
  world.retention.hard_cap = 2000;
  EXPECT_EQ(world.poll(rss(items, "again")).created, 1U);
  EXPECT_EQ(world.passed_over, 10U);
}

TEST(PassedOver, SkippedTombstonesOutliveTheirItemsByTheirGrace) {
  World world(true);
  world.retention.hard_cap = 5;
  world.poll(rss(site(6)));
  std::vector<Item> shorter = site(6);
  shorter.pop_back();
  world.poll(rss(shorter));
  EXPECT_NE(world.redis({"ZSCORE", url + ":tombs", "g1"}), "inf");
  world.poll(rss(site(6)));
  EXPECT_EQ(world.redis({"ZSCORE", url + ":tombs", "g1"}), "inf") << "listed again";
  EXPECT_EQ(world.passed_over, 5U + 5U);
  world.poll(rss(site(6), "again"));
  EXPECT_EQ(world.passed_over, 5U + 5U + 6U);
  EXPECT_EQ(world.redis({"ZSCORE", url + ":tombs", "g1"}), "inf");
  EXPECT_EQ(world.redis({"ZCARD", url + ":sort"}), "5");
}

TEST(PassedOver, AnotherPolicyReadsAllOnceAndSignalsNothing) {
  World world(true);
  world.poll(rss(site(5)));
  world.reading_options.html = HtmlPolicy::raw;
  EXPECT_EQ(world.poll(rss(site(5), "again")).modified, 0U);
  EXPECT_EQ(world.passed_over, 0U);
  world.poll(rss(site(5), "and again"));
  EXPECT_EQ(world.passed_over, 5U);
}

}  // namespace
}  // namespace feedmill::test::passed_over_test
