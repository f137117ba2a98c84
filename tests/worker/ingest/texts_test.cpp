// Posts beyond the newest N have no content and summary (RELIABILITY L34). A copy folded from the events equals the
// store.
#include <array>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "storage/records/entry_record.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/support/counts.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::texts_test {
namespace {

using Table = std::map<std::string, std::string>;

/// A post as its publisher has it.
struct Post {
  int number = 0, edits = 0;
  bool deleted = false;

  std::string guid() const { return "urn:" + std::to_string(number); }
};

std::string text_of(const Post& post) {
  return "<p>Post " + std::to_string(post.number) + " says " + std::to_string(post.edits) + "</p>";
}

std::string two_digits(int number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

/// An Atom document, newest post first. Posts are a minute apart.
std::string atom(const std::vector<Post>& posts, int version = 0) {
  std::string xml =
      "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:at='http://purl.org/atompub/tombstones/1.0'><id>urn:f</id>"
      "<title>Feed</title><updated>2025-01-01T00:00:00Z</updated>";
  for (auto post = posts.rbegin(); post != posts.rend(); ++post) {
    const std::string id = post->guid();
    const std::string date =
        "2025-03-01T" + two_digits(post->number / 60) + ":" + two_digits(post->number % 60) + ":00Z";
    if (post->deleted) {
      xml += "<at:deleted-entry ref='" + id + "' when='2025-06-01T00:00:00Z'/>";
      continue;
    }
    xml += "<entry><id>" + id + "</id><title>Post " + std::to_string(post->number) +
           "</title><link href='https://e.org/" + std::to_string(post->number) + "'/><published>" + date +
           "</published><updated>" + date + "</updated><summary>Short " + std::to_string(post->number) +
           "</summary><content type='html'>";
    for (const char c : text_of(*post)) xml += c == '<' ? std::string("&lt;") : std::string(1, c);
    xml += "</content></entry>";
  }
  return xml + "</feed><!-- " + std::to_string(version) + " -->";
}

std::vector<Post> posts_up_to(int newest, int oldest = 1) {
  std::vector<Post> posts;
  for (int number = oldest; number <= newest; ++number) posts.push_back({number});
  return posts;
}

/// A feed in its own store, and the copy of a consumer that follows all events.
class World : public Polling {
 public:
  explicit World(bool with_content = false) : Polling(EventDetail{.content = with_content}) {}
  void TestBody() override {}

  Committed read(const std::vector<Post>& posts) { return poll(atom(posts, ++version_)); }
  Committed not_modified() {
    FetchResponse response;
    response.status = 304;
    response.url = url;
    response.conditional = true;
    return poll_answered(std::move(response));
  }

  /// Newest first.
  std::vector<StoredEntry> entries() { return *Entries(store).all_by_order(url, 10'000); }
  StoredEntry entry(int number) { return **Entries(store).get_by_guid(url, "urn:" + std::to_string(number)); }
  /// Numbers of the posts that have texts, newest first.
  std::vector<int> with_texts() {
    std::vector<int> numbers;
    for (const StoredEntry& entry : entries()) {
      const bool has = !entry.get("content").empty() || !entry.get("summary").empty();
      EXPECT_NE(has, lacks_texts(entry.fields)) << entry.id;
      if (has) numbers.push_back(std::stoi(entry.get("guid").substr(4)));
    }
    return numbers;
  }
  std::size_t events_written() { return signals().size(); }

  /// Applies all new events as docs/DATA.md says; returns how the copy differs from the store.
  std::string differences() {
    const auto all = signals();
    for (; followed_ < all.size(); ++followed_) apply(all[followed_]);
    std::map<std::string, Table> stored;
    for (const StoredEntry& entry : entries()) stored[entry.id] = table(entry.fields);
    std::string differences;
    for (const auto& [id, fields] : stored) {
      if (copy_[id] != fields) differences += id + " differs\n";
    }
    if (copy_.size() != stored.size()) differences += "another number of posts";
    return differences;
  }

  using Polling::count;
  using Polling::decision;
  using Polling::passed_over;
  using Polling::poll;
  using Polling::redis;
  using Polling::retention;
  using Polling::signals;
  using Polling::state;
  using Polling::store;

  /// What verify finds wrong; no answer counts as a violation.
  std::vector<Violation> violations() {
    Store all(StoreOptions{.url = server.url_of("feedmill_admin")});
    auto found = verify(all);
    EXPECT_TRUE(found) << found.error().detail;
    return found ? std::move(*found) : std::vector<Violation>{Violation()};
  }

 private:
  static Table table(const Fields& fields) {
    Table all(fields.begin(), fields.end());
    for (const char* name : {"bytes", "digest"}) all.erase(name);
    return all;
  }
  void apply(const boost::json::object& event) {
    const std::string type(event.at("type").as_string()), id(event.at("entity_id").as_string());
    if (type == "post_deleted" || type == "post_trimmed") copy_.erase(id);
    if (type != "post_created" && type != "post_modified" && type != "post_mended") return;
    const std::string rev = std::to_string(event.at("rev").as_int64());
    const auto held = copy_.find(id);
    if (held != copy_.end() && std::stoll(held->second["rev"]) >= std::stoll(rev)) return;
    if (const auto* post = event.if_contains("post")) {
      Table& fields = copy_[id] = {};
      for (const auto& [name, value] : post->as_object()) fields[name] = value.as_string();
      fields["feed_url"] = url;
      fields["guid"] = event.at("guid").as_string();
      fields["rev"] = rev;
    } else if (const auto entry = Entries(store).get(id); *entry) {
      copy_[id] = table((*entry)->fields);
    }
  }

  int version_ = 0;
  std::size_t followed_ = 0;
  std::map<std::string, Table> copy_;
};

class Texts : public World {};

TEST_F(Texts, OfAPostGoWithTheCommitThatPushesItOut) {
  retention.texts = 1;
  read(posts_up_to(1));
  const StoredEntry before = entry(1);
  EXPECT_EQ(before.get("content"), text_of({1}));
  read(posts_up_to(2));
  const StoredEntry after = entry(1);
  EXPECT_EQ(with_texts(), std::vector{2});
  for (const char* name : {"title", "link", "summary_text", "date_published", "timestamp", "digest", "last_changed"}) {
    EXPECT_EQ(after.get(name), before.get(name)) << name;
  }
  EXPECT_EQ(after.get("truncated"), "texts");
  EXPECT_EQ(after.get("rev"), "2");
  const auto told = signals("post_mended");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("entity_id").as_string(), after.id);
  EXPECT_EQ(told[0].at("rev"), 2);
  EXPECT_EQ(told[0].at("data").at("fields"), boost::json::value({"content", "summary", "content_type", "truncated"}));
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_EQ(differences(), "");

  // A later poll neither restores the text nor reports a change.
  const std::size_t events_before = events_written();
  for (int polls = 0; polls < 3; ++polls) read(posts_up_to(2));
  EXPECT_EQ(events_written(), events_before);
  EXPECT_EQ(with_texts(), std::vector{2});
}

TEST_F(Texts, ReturnWithALaterDocumentThatListsTheirPosts) {
  retention.texts = 1;
  read(posts_up_to(3));
  retention.texts = Retention::all_texts;
  read({{.number = 3}});
  EXPECT_EQ(with_texts(), std::vector{3});
  read(posts_up_to(3));
  EXPECT_EQ(with_texts(), (std::vector{3, 2, 1}));
  EXPECT_EQ(state().trim.texts, std::nullopt);
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, OfAFirstImportAreLeftOutAtOnce) {
  retention.texts = 10;
  read(posts_up_to(30));
  EXPECT_EQ(with_texts(), (std::vector{30, 29, 28, 27, 26, 25, 24, 23, 22, 21}));
  EXPECT_EQ(count("post_created"), 30U);
  EXPECT_EQ(count("post_mended"), 0U);
  EXPECT_EQ(state().trim.texts, 10U);
  const std::size_t events_before = events_written();
  passed_over = 0;
  read(posts_up_to(30));
  EXPECT_EQ(passed_over, 30U);
  EXPECT_EQ(events_written(), events_before);
}

TEST_F(Texts, ReturnWithThePostAtTheNextRead) {
  retention.texts = 2;
  read(posts_up_to(6));
  ASSERT_EQ(with_texts(), (std::vector{6, 5}));
  ASSERT_TRUE(*Entries(store).remove(entry(6).id));
  passed_over = 0;
  read(posts_up_to(5));
  EXPECT_EQ(passed_over, 4U) << "all but the one that gets its text";
  EXPECT_EQ(with_texts(), (std::vector{5, 4}));
  EXPECT_EQ(entry(4).get("content"), text_of({4}));
  EXPECT_EQ(entry(4).get("truncated"), "");
  EXPECT_EQ(entry(4).get("rev"), "2");
  EXPECT_EQ(count("post_modified"), 0U) << "no news";
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, ReturnIfTheDigestsAreLost) {
  retention.texts = 2;
  read(posts_up_to(6));
  ASSERT_TRUE(*Entries(store).remove(entry(6).id));
  ASSERT_EQ(redis({"DEL", "state:items:" + url}), "1");
  read(posts_up_to(5));
  EXPECT_EQ(with_texts(), (std::vector{5, 4}));
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_EQ(differences(), "");
  EXPECT_TRUE(violations().empty());
}

TEST_F(Texts, ReturnWhileTombstonedItemsAreSkipped) {
  retention.texts = 2;
  retention.hard_cap = 4;
  read(posts_up_to(6));
  ASSERT_TRUE(*Entries(store).remove(entry(6).id));
  passed_over = 0;
  read(posts_up_to(5));
  EXPECT_EQ(passed_over, 4U) << "two stored, two tombstoned";
  EXPECT_EQ(with_texts(), (std::vector{5, 4}));
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, OfASettingChangedThereAndBackAreThere) {
  read(posts_up_to(8));
  for (const std::uint64_t texts : {std::uint64_t{0}, std::uint64_t{3}, Retention::all_texts}) {
    retention.texts = texts;
    not_modified();  // drops at once
    EXPECT_LE(with_texts().size(), texts);
    EXPECT_EQ(texts_to_read(state(), retention).again, texts != 0);
    poll(atom(posts_up_to(8), 1));  // the same bytes as at first
    EXPECT_EQ(with_texts().size(), std::min<std::size_t>(texts, 8)) << texts;
    EXPECT_FALSE(texts_to_read(state(), retention).again);
    EXPECT_EQ(differences(), "");
    EXPECT_TRUE(violations().empty());
  }
  EXPECT_EQ(state().trim.texts, std::nullopt);
  EXPECT_EQ(count("post_modified"), 0U);
  const std::size_t events_before = events_written();
  read(posts_up_to(8));
  EXPECT_EQ(events_written(), events_before);
}

TEST_F(Texts, AreDroppedInBoundedStepsWhenTheOptionIsTurnedOn) {
  retention.entries = retention.hard_cap = 1000;
  read(posts_up_to(330));
  retention.texts = 10;
  std::vector<std::size_t> dropped;
  for (int polls = 0; polls < 6; ++polls) {
    const std::size_t before = count("post_mended");
    not_modified();
    dropped.push_back(count("post_mended") - before);
  }
  EXPECT_EQ(dropped, (std::vector<std::size_t>{100, 100, 100, 20, 0, 0}));
  EXPECT_EQ(with_texts().size(), 10U);
  EXPECT_FALSE(decision.commit.trim) << "then a 304 takes the short way";
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, OfOldPostsChangeWithoutNews) {
  retention.texts = 1;
  std::vector<Post> posts = posts_up_to(3);
  read(posts);
  const std::string digest = entry(1).get("digest");
  posts[0].edits = 1;
  read(posts);
  EXPECT_NE(entry(1).get("digest"), digest);
  EXPECT_EQ(count("post_modified"), 0U);
  posts[2].edits = 1;
  read(posts);
  EXPECT_EQ(count("post_modified"), 1U) << "the newest has its text";
  EXPECT_EQ(with_texts(), std::vector{3});
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, AddedToOldPostsAreNoNews) {
  std::vector<Item> items = site(3);
  items[2].text.clear();
  retention.texts = 1;
  poll(rss(items));
  const std::string id = redis({"HGET", url + ":guidmap", items[2].guid});
  const auto field = [&](const char* name) { return (*Entries(store).get(id))->get(name); };
  for (const std::uint64_t texts : {std::uint64_t{1}, std::uint64_t{0}}) {
    retention.texts = texts;
    for (const std::string text : {"One text", "", "Another text"}) {
      items[2].text = text;
      poll(rss(items));
      EXPECT_EQ(field("summary"), "");
      EXPECT_EQ(field("summary_text"), text);
      EXPECT_EQ(field("truncated"), text.empty() ? "" : "texts");
    }
    EXPECT_EQ(differences(), "");
  }
  retention.texts = Retention::all_texts;
  poll(rss(items, "again"));
  EXPECT_EQ(field("summary"), "Another text");
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, OfASavedPostGoTooAndTheRestStaysAsSaved) {
  retention.texts = 2;
  read(posts_up_to(3));
  const auto save = [&](int number, const char* name, const char* value) {
    const GivenEntry given{url, "urn:" + std::to_string(number), {{name, value}}};
    ASSERT_EQ(Entries(store).update_or_create(given)->result, Saved::Result::modified);
  };
  save(1, "title", "Ours");  // it has no texts
  EXPECT_EQ(entry(1).get("summary_text"), "Short 1");
  EXPECT_EQ(entry(1).get("truncated"), "texts");
  save(2, "title", "Ours, too");
  save(1, "content", "<p>Ours</p>");
  EXPECT_EQ(entry(1).get("truncated"), "");
  not_modified();
  EXPECT_EQ(with_texts(), (std::vector{3, 2})) << "the next commit drops what was saved beyond the newest";
  for (int polls = 0; polls < 2; ++polls) {
    std::vector<Post> posts = posts_up_to(3 + polls);
    read(posts);
    redis({"HSET", "state:feed:" + url, "compared_at", "1"});  // compare all
  }
  EXPECT_EQ(entry(1).get("title"), "Ours");
  EXPECT_EQ(entry(2).get("title"), "Ours, too");
  EXPECT_EQ(with_texts(), (std::vector{4, 3}));
  EXPECT_EQ(differences(), "");
}

TEST_F(Texts, AreKeptByAFeedsOwnSetting) {
  retention.texts = 1;
  redis({"HSET", "state:feed:" + url, "settings", R"({"texts":3})"});
  read(posts_up_to(5));
  EXPECT_EQ(with_texts(), (std::vector{5, 4, 3}));
  redis({"HSET", "state:feed:" + url, "settings", R"({"texts":1000000})"});
  read(posts_up_to(5));
  EXPECT_EQ(with_texts().size(), 5U);
}

TEST_F(Texts, VerifyFindsThoseThatAreLeftAndThePollDropsThem) {
  retention.texts = 1;
  read(posts_up_to(3));
  const std::string id = entry(1).id;
  redis({"HSET", id, "content", "left"});
  redis({"HINCRBY", id, "bytes", "11"});
  redis({"HINCRBY", "state:feed:" + url, "bytes", "11"});
  const auto found = violations();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, "texts.left");
  VerifyOptions options;
  options.journal = [](const Violation&, const std::vector<KeyValue>&) { return true; };
  Store all(StoreOptions{.url = server.url_of("feedmill_admin")});
  EXPECT_EQ(Verifier(all, options).run()->repaired, 1U);
  not_modified();
  EXPECT_EQ(with_texts(), std::vector{3});
  EXPECT_TRUE(violations().empty());
}

/// Anything happens to a feed that keeps N texts: the copy equals the store, and the newest N have their texts.
class TextsHistory : public testing::TestWithParam<std::tuple<std::uint64_t, bool>> {
 protected:
  TextsHistory() : texts(std::get<0>(GetParam())), world(std::get<1>(GetParam())) {
    world.retention.entries = 14;
    world.retention.hard_cap = 18;
    world.retention.texts = texts;
  }

  std::size_t chance(std::size_t of) { return static_cast<std::size_t>(random()) % of; }
  std::optional<StoredEntry> any_entry() {
    std::vector<StoredEntry> stored = world.entries();
    if (stored.empty()) return {};
    return std::move(stored[chance(stored.size())]);
  }

  void change(int step) {
    const std::size_t what = chance(12);
    if (what == 0) {
      const auto entry = any_entry();
      EXPECT_TRUE(!entry || *Entries(world.store).remove(entry->id));
    } else if (what == 1) {
      posts[chance(posts.size())].deleted = true;
    } else if (what < 4) {
      ++posts[chance(posts.size())].edits;
    } else if (what == 4) {
      const auto entry = any_entry();
      if (!entry) return;
      const GivenEntry given{url, entry->get("guid"), {{"summary", "S" + std::to_string(step)}}};
      EXPECT_TRUE(Entries(world.store).update_or_create(given));
    } else if (what == 5) {
      const std::array<std::uint64_t, 4> others{0, 2, 5, Retention::all_texts};
      world.retention.texts = chance(2) == 0 ? texts : others[chance(others.size())];
    } else {
      for (std::size_t more = 1 + chance(3); more > 0; --more) posts.push_back({posts.back().number + 1});
    }
    if (posts.size() > 16) posts.erase(posts.begin(), posts.end() - 16);
  }

  /// `was_read`: a document that deletes nothing was the last.
  void expect_texts(bool was_read) {
    const std::uint64_t kept = world.retention.texts, noted = world.state().trim.texts.value_or(kept);
    std::uint64_t rank = 0;
    for (const StoredEntry& entry : world.entries()) {
      const bool has = !entry.get("content").empty() || !entry.get("summary").empty();
      EXPECT_FALSE(has && rank >= std::min(kept, noted)) << entry.id;
      const auto listed = std::ranges::find(posts, entry.get("guid"), &Post::guid);
      if (was_read && rank < kept && listed != posts.end() && entry.get("saved").empty()) {
        EXPECT_EQ(entry.get("content"), text_of(*listed)) << entry.id;
      }
      EXPECT_NE(entry.get("title"), "");
      ++rank;
    }
  }

  std::uint64_t texts;
  World world;
  std::vector<Post> posts = posts_up_to(5);
  std::minstd_rand random;
};

TEST_P(TextsHistory, FoldedIsTheStore) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  for (int step = 0, all = tries(40, 400, 700); step < all && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    change(step);
    const bool reads = texts_to_read(world.state(), world.retention).again || chance(6) != 0;
    if (reads) {
      world.read(posts);
      world.read(posts);  // after a deletion others are among the newest
    } else {
      world.not_modified();
    }
    EXPECT_EQ(world.differences(), "");
    const auto violations = world.violations();
    EXPECT_TRUE(violations.empty()) << violations.front().kind << " " << violations.front().detail;
    expect_texts(reads);
  }
}

INSTANTIATE_TEST_SUITE_P(Kept, TextsHistory, testing::Combine(testing::Values(0, 1, 10), testing::Bool()));

}  // namespace
}  // namespace feedmill::test::texts_test
