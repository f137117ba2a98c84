#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/records/post_identity.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill::identity_test {
namespace {

constexpr Milliseconds now{1'772'366'400'000};
constexpr std::int64_t now_s = now.count() / 1000;

FeedState healthy() {
  FeedState state;
  state.state = "healthy";
  state.rhythm.imported = now - std::chrono::days(10);
  return state;
}

std::string link_of(int n) {
  return "https://example.org/post/" + std::to_string(n);
}

EntryRecord listed(const std::string& guid, int n) {
  return {guid,
          "digest " + std::to_string(n),
          now_s - 1000 + n,
          {{"link", link_of(n)}, {"title", "Post " + std::to_string(n)}},
          {},
          guid};
}

StoredPost stored(const std::string& guid, int n) {
  return {"Entry:" + std::to_string(n),
          guid,
          "digest " + std::to_string(n),
          now_s - 1000 + n,
          {{"link", link_of(n)}, {"title", "Post " + std::to_string(n)}}};
}

/// A document with posts n … 1, all unknown under "<prefix><n>"; they are stored under "old<n>".
struct Scene {
  explicit Scene(int count, const std::string& prefix = "new") {
    for (int n = count; n > 0; --n) {
      document.entries.push_back(listed(prefix + std::to_string(n), n));
      posts.push_back(stored("old" + std::to_string(n), n));
    }
    known.guids.resize(document.entries.size());
    known.stored = posts.size();
  }
  Recognised run(const FeedState& state = healthy()) { return recognise(state.identity, document, known, posts); }

  Document document;
  StoredSnapshot known;
  std::vector<StoredPost> posts;
};

StoredSnapshot known_with(std::size_t unknown, std::size_t same) {
  StoredSnapshot known;
  known.guids.resize(unknown);
  known.guids.resize(unknown + same, {StoredSnapshot::Is::same, "", {}, ""});
  known.stored = 50;
  return known;
}

Document document_of(std::size_t count) {
  Document document;
  for (std::size_t i = 0; i < count; ++i)
    document.entries.push_back(listed("g" + std::to_string(i), static_cast<int>(i)));
  return document;
}

TEST(Comparing, IsForDocumentsWithMostlyUnknownPosts) {
  EXPECT_TRUE(must_compare(healthy().identity, document_of(20), known_with(11, 9)));
  EXPECT_FALSE(must_compare(healthy().identity, document_of(20), known_with(10, 10))) << "a busy day";
  EXPECT_FALSE(must_compare(healthy().identity, document_of(20), known_with(0, 20)));
  StoredSnapshot nothing = known_with(20, 0);
  nothing.stored = 0;
  EXPECT_FALSE(must_compare(healthy().identity, document_of(20), nothing)) << "a first import";
}

TEST(Comparing, IsForASwitchAndForDocumentsThatAreNewAtEveryFetch) {
  Document switched = document_of(20);
  switched.identified_by = IdentifiedBy::link;
  EXPECT_TRUE(must_compare(healthy().identity, switched, known_with(0, 20)));
  FeedState state = healthy();
  std::vector<std::uint32_t> turns;
  for (state.identity.fresh_documents = 0; state.identity.fresh_documents < 50; ++state.identity.fresh_documents) {
    if (must_compare(state.identity, document_of(20), known_with(2, 18)))
      turns.push_back(state.identity.fresh_documents + 1);
    EXPECT_FALSE(must_compare(state.identity, document_of(20), known_with(1, 19))) << "5 % are borne";
  }
  EXPECT_EQ(turns, (std::vector<std::uint32_t>{3, 6, 12, 24, 48})) << "ever more rarely when it shows nothing";
  state.identity.fresh_documents = 1;
  state.identity.replaced_documents = 1;
  EXPECT_TRUE(must_compare(state.identity, document_of(20), known_with(2, 18))) << "one has shown something";
}

TEST(Recognising, GivesStoredPostsTheirNewGuids) {
  Scene scene(5);
  const Recognised recognised = scene.run();
  EXPECT_TRUE(scene.known.compared);
  EXPECT_TRUE(scene.known.replaced);
  ASSERT_EQ(recognised.places.size(), 5U);
  EXPECT_EQ(recognised.look_up[0].guid, "old5");
  EXPECT_EQ(scene.known.guids[0].id, "Entry:5");
  EXPECT_EQ(scene.known.guids[0].stored_guid, "old5");
  EXPECT_TRUE(scene.known.rekeys.empty());
  EXPECT_EQ(scene.document.identified_by, IdentifiedBy::guid);
}

TEST(Recognising, TakesNewsForNews) {
  Scene scene(5);
  for (EntryRecord& record : scene.document.entries) record.fields[0].second += "/other";
  EXPECT_TRUE(scene.run().places.empty());
  EXPECT_FALSE(scene.known.replaced);
  EXPECT_EQ(scene.known.guids[0].stored_guid, "");
}

TEST(Recognising, LeavesPostsApartThatShareALinkByChance) {
  Scene scene(5);
  for (std::size_t i = 1; i < 5; ++i) scene.document.entries[i].fields[0].second += "/other";
  scene.document.entries[0].fields[1].second = "About the same page again";
  EXPECT_TRUE(scene.run().places.empty()) << "one of five, and nothing else agrees";
  Scene one(1);
  one.document.entries[0].fields[1].second = "The page of today";
  EXPECT_TRUE(one.run().places.empty()) << "a single link proves nothing";
}

TEST(Recognising, LeavesTheRestOfADocumentNew) {
  Scene scene(5);
  scene.document.entries.insert(scene.document.entries.begin(), listed("new6", 6));
  scene.known.guids.resize(6);
  EXPECT_EQ(scene.run().places.size(), 5U);
  EXPECT_EQ(scene.known.guids[0].is, StoredSnapshot::Is::unknown);
  EXPECT_EQ(scene.known.guids[0].stored_guid, "");
}

TEST(Recognising, BuriesPostsTrimmedUnderOtherGuids) {
  for (const bool trimmed : {true, false}) {
    Scene scene(10);
    scene.posts.resize(3);  // 10, 9 and 8 are kept
    scene.document.entries.push_back(listed("undated", 0));
    scene.document.entries.back().timestamp.reset();
    scene.known.guids.resize(11);
    scene.known.trimmed = trimmed;
    const Recognised recognised = scene.run();
    EXPECT_EQ(recognised.places.size(), 3U);
    EXPECT_EQ(scene.known.tombs_new.size(), trimmed ? 8U : 0U);
    EXPECT_EQ(scene.known.guids[3].is, trimmed ? StoredSnapshot::Is::tombstoned : StoredSnapshot::Is::unknown);
  }
}

TEST(Recognising, SwitchesAfterThreeDocumentsInARow) {
  FeedState state = healthy();
  state.identity.replaced_documents = 1;
  Scene second(5);
  second.run(state);
  EXPECT_EQ(second.document.identified_by, IdentifiedBy::guid);
  state.identity.replaced_documents = 2;
  Scene third(5);
  third.posts.push_back(stored("older", 0));  // no longer listed
  const Recognised recognised = third.run(state);
  EXPECT_EQ(third.document.identified_by, IdentifiedBy::link);
  EXPECT_EQ(third.document.entries[0].guid, "link:example.org/post/5");
  EXPECT_EQ(third.known.guids[0].stored_guid, "old5");
  EXPECT_EQ(recognised.places.size(), 5U);
  ASSERT_EQ(third.known.rekeys.size(), 1U) << "all that is stored follows";
  EXPECT_EQ(third.known.rekeys[0].id, "Entry:0");
  EXPECT_EQ(third.known.rekeys[0].from, "older");
  EXPECT_EQ(third.known.rekeys[0].to, "link:example.org/post/0");
}

TEST(Recognising, SwitchesToDigestsWhenLinksDoNotStayEither) {
  FeedState state = healthy();
  state.identity.replaced_documents = 2;
  Scene scene(4);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::pair<std::string, std::string> text("summary_text", std::string(50, static_cast<char>('a' + i)));
    scene.document.entries[i].fields[0].second += "?sid=" + std::to_string(i);
    for (Fields* fields : {&scene.document.entries[i].fields, &scene.posts[i].fields})
      fields->insert(fields->begin() + 1, text);
  }
  scene.run(state);
  EXPECT_EQ(scene.document.identified_by, IdentifiedBy::digest);
  EXPECT_EQ(scene.document.entries[0].guid, "digest:" + text_key(scene.posts[0].fields));
}

TEST(Recognising, StaysWhereNothingElseTellsPostsApart) {
  FeedState state = healthy();
  state.identity.by = IdentifiedBy::digest;
  state.identity.replaced_documents = 7;
  Scene scene(4);
  scene.document.identified_by = IdentifiedBy::digest;
  scene.run(state);
  EXPECT_EQ(scene.document.identified_by, IdentifiedBy::digest);
}

TEST(Recognising, LetsTombstonesFollowASwitch) {
  Scene scene(3);
  scene.document.identified_by = IdentifiedBy::link;
  identify(scene.document.entries, IdentifiedBy::link);  // the former guids are "new3" …
  scene.known.guids[2].is = StoredSnapshot::Is::tombstoned;
  scene.known.guids[0].is = StoredSnapshot::Is::same;
  scene.posts = {stored("new3", 3)};
  scene.run();
  EXPECT_EQ(scene.known.guids[0].stored_guid, "new3");
  EXPECT_EQ(scene.known.guids[0].id, "Entry:3");
  EXPECT_EQ(scene.known.tombs_new, std::vector<std::string>{"link:example.org/post/1"});
  EXPECT_EQ(scene.known.left, std::vector<std::string>{"new1"});
  EXPECT_EQ(scene.known.guids[1].is, StoredSnapshot::Is::unknown) << "what is new stays new";
}

TEST(Recognising, TakesOverWhatTheStoreSaysThen) {
  Scene scene(2);
  const Recognised recognised = scene.run();
  StoredSnapshot found = known_with(1, 1);
  add_recognised(scene.known, recognised, std::move(found));
  EXPECT_EQ(scene.known.guids[0].is, StoredSnapshot::Is::unknown);
  EXPECT_EQ(scene.known.guids[0].stored_guid, "") << "removed meanwhile: it is new";
  EXPECT_EQ(scene.known.guids[1].is, StoredSnapshot::Is::same);
  EXPECT_EQ(scene.known.guids[1].stored_guid, "old1");
}

/// A document with positions in the list as guids, shifted by `shift` new posts.
struct Places {
  explicit Places(int count, int shift, bool dated = true) {
    for (int place = 1; place <= count; ++place) {
      const int now_there = count + shift - place + 1, before = count - place + 1;
      document.entries.push_back(listed(std::to_string(place), now_there));
      posts.push_back(stored(std::to_string(place), before));
      Fields fields = posts.back().fields;
      if (dated) {
        document.entries.back().fields.emplace_back("date_published", "day " + std::to_string(now_there));
        fields.emplace_back("date_published", "day " + std::to_string(before));
      }
      known.guids.push_back({StoredSnapshot::Is::different, posts.back().id, std::move(fields), ""});
    }
    known.stored = posts.size();
  }
  bool are_seen() const {
    return must_compare(healthy().identity, document, known) && names_places(document.entries, known.guids);
  }

  Document document;
  StoredSnapshot known;
  std::vector<StoredPost> posts;
};

TEST(GuidsThatNamePlaces, AreSeenWhereMostPostsStandUnderThoseOfOthers) {
  EXPECT_TRUE(Places(10, 1).are_seen());
  EXPECT_TRUE(Places(10, 4).are_seen());
  EXPECT_TRUE(Places(10, 1, false).are_seen()) << "undated";
  EXPECT_TRUE(Places(10, 10).are_seen()) << "none is stored any more, and the guids count";
  EXPECT_TRUE(Places(3, 1).are_seen());
  EXPECT_FALSE(Places(2, 1).are_seen()) << "too few to tell";
  Places cut(10, 1);
  cut.document.cut_short = true;
  EXPECT_FALSE(cut.are_seen());
  Places removed(10, 1);
  for (const std::size_t i : {0U, 3U, 6U}) removed.known.guids[i] = {StoredSnapshot::Is::tombstoned, "", {}, ""};
  EXPECT_TRUE(removed.are_seen()) << "most of what is not buried";
  for (const std::size_t i : {1U, 2U, 4U, 5U}) removed.known.guids[i] = {StoredSnapshot::Is::same, "", {}, ""};
  EXPECT_FALSE(removed.are_seen()) << "most of it stayed";
  Places switched(10, 1);
  FeedState by_link = healthy();
  by_link.identity.by = switched.document.identified_by = IdentifiedBy::link;
  EXPECT_FALSE(must_compare(by_link.identity, switched.document, switched.known));
}

TEST(GuidsThatNamePlaces, AreNotSeenInEditedPosts) {
  Places edited(10, 0);
  for (EntryRecord& record : edited.document.entries) record.fields[1].second += " (edited)";
  EXPECT_FALSE(edited.are_seen()) << "titles alone";
  Places moved(10, 0);
  for (EntryRecord& record : moved.document.entries) record.fields[0].second += "/new";
  EXPECT_FALSE(moved.are_seen()) << "links alone";
  Places rewritten(10, 10);
  for (std::size_t i = 0; i < 10; ++i) rewritten.document.entries[i].guid = "post-" + std::to_string(i);
  EXPECT_FALSE(rewritten.are_seen()) << "all is another, but nothing says that it is elsewhere";
  Places some(10, 1);
  for (std::size_t i = 0; i < 5; ++i) some.known.guids[i].is = StoredSnapshot::Is::same;
  EXPECT_FALSE(some.are_seen()) << "half of it stayed";
}

TEST(GuidsThatNamePlaces, GiveWayToLinks) {
  Places places(10, 1);
  const Recognised recognised = recognise(healthy().identity, places.document, places.known, places.posts);
  EXPECT_EQ(places.document.identified_by, IdentifiedBy::link);
  EXPECT_EQ(recognised.places.size(), 9U);
  EXPECT_EQ(places.known.guids[0].is, StoredSnapshot::Is::unknown) << "the one that is new";
  EXPECT_EQ(places.known.guids[0].stored_guid, "");
  EXPECT_EQ(places.known.guids[1].id, "Entry:10");
  EXPECT_EQ(places.known.guids[1].stored_guid, "1");
  ASSERT_EQ(places.known.rekeys.size(), 1U) << "the one that has left";
  EXPECT_EQ(places.known.rekeys[0].from, "10");
  EXPECT_EQ(places.known.rekeys[0].to, "link:example.org/post/1");
}

TEST(GuidsThatNamePlaces, KeepTheirTombstonesWhereNothingElseTellsPostsApart) {
  Places places(10, 10);
  for (EntryRecord& record : places.document.entries)
    record.fields = {{"date_published", "day 0"}, {"link", link_of(99)}, {"title", "The same"}};
  places.known.guids[0] = {StoredSnapshot::Is::tombstoned, "", {}, ""};
  ASSERT_TRUE(places.are_seen());
  recognise(healthy().identity, places.document, places.known, places.posts);
  EXPECT_EQ(places.document.identified_by, IdentifiedBy::guid);
  EXPECT_EQ(places.known.guids[0].is, StoredSnapshot::Is::tombstoned);
}

TEST(Recognising, DoesNotSwitchByPartOfADocument) {
  FeedState state = healthy();
  state.identity.replaced_documents = 2;
  Scene scene(5);
  scene.document.cut_short = true;
  scene.run(state);
  EXPECT_EQ(scene.document.identified_by, IdentifiedBy::guid);
  EXPECT_EQ(scene.known.guids[0].stored_guid, "old5") << "but it is seen that they are not new";
}

TEST(Counting, ForgetsWithTheFirstDocumentThatIsAsItShould) {
  FeedState state = healthy();
  for (std::uint32_t i = 1; i <= 4; ++i) {
    count_document(state, document_of(20), known_with(2, 18), now);
    EXPECT_EQ(state.identity.fresh_documents, i);
  }
  state.identity.replaced_documents = 2;
  StoredSnapshot shown = known_with(2, 18);
  shown.compared = shown.replaced = true;
  count_document(state, document_of(20), shown, now);
  EXPECT_EQ(state.identity.replaced_documents, 3U);
  shown.replaced = false;
  count_document(state, document_of(20), shown, now);
  EXPECT_EQ(state.identity.replaced_documents, 0U);
  count_document(state, document_of(20), known_with(1, 19), now);
  EXPECT_EQ(state.identity.fresh_documents, 0U);
  EXPECT_FALSE(state.document.listed_none);
  count_document(state, {}, {}, now);
  EXPECT_TRUE(state.document.listed_none);
}

TEST(Counting, RemembersTheSwitch) {
  FeedState state = healthy();
  state.identity.fresh_documents = state.identity.replaced_documents = 2;
  Document document = document_of(3);
  document.identified_by = IdentifiedBy::link;
  count_document(state, document, known_with(3, 0), now);
  EXPECT_EQ(state.identity.by, IdentifiedBy::link);
  EXPECT_EQ(state.identity.since, now);
  EXPECT_EQ(state.identity.fresh_documents + state.identity.replaced_documents, 0U);
}

TEST(Gaps, AreDocumentsThatShareNothing) {
  EXPECT_TRUE(is_gap(healthy(), document_of(3), known_with(3, 0)));
  EXPECT_FALSE(is_gap(healthy(), document_of(3), known_with(2, 1)));
  EXPECT_FALSE(is_gap(healthy(), document_of(1), known_with(1, 0))) << "it says nothing of those before it";
  EXPECT_FALSE(is_gap({}, document_of(3), known_with(3, 0))) << "first import";
  FeedState empty = healthy();
  empty.document.listed_none = true;
  EXPECT_FALSE(is_gap(empty, document_of(3), known_with(3, 0)));
  StoredSnapshot nothing = known_with(3, 0);
  nothing.stored = 0;
  EXPECT_FALSE(is_gap(healthy(), document_of(3), nothing));
  StoredSnapshot trimmed = known_with(2, 1);
  trimmed.guids[2].is = StoredSnapshot::Is::tombstoned;
  EXPECT_FALSE(is_gap(healthy(), document_of(3), trimmed));
}

TEST(Gaps, SayFromWhenToWhen) {
  StoredSnapshot known = known_with(3, 0);
  known.newest = 1000;
  const FeedEvent signal = gap_event(document_of(3), known, now);
  EXPECT_EQ(signal.type, "feed_gap");
  EXPECT_EQ(signal.data, "{\"from\":1000,\"to\":" + std::to_string(now_s - 1000) + "}");
}

TEST(RekeyedSignals, CountAndShowExamples) {
  std::vector<Rekey> rekeys(5, Rekey{"Entry:1", std::string(500, 'x'), "to", "", {}});
  const auto data = boost::json::parse(rekeyed_event(rekeys, IdentifiedBy::link).data).as_object();
  EXPECT_EQ(data.at("count").as_int64(), 5);
  EXPECT_EQ(data.at("identified_by").as_string(), "link");
  ASSERT_EQ(data.at("examples").as_array().size(), 3U);
  EXPECT_EQ(data.at("examples").at(0).at("from").as_string().size(), 200U);
}

}  // namespace
}  // namespace feedmill::identity_test
