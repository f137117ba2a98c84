// Which posts under new guids are stored posts (DESIGN §5), without a store.
#include <gtest/gtest.h>

#include "storage/records/entry_record.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill::item_identity_test {
namespace {

constexpr Milliseconds now{1'772'366'400'000};
constexpr std::int64_t now_s = now.count() / 1000;
const std::string day = "2026-02-01T12:00:00Z", next_day = "2026-02-02T12:00:00Z";
constexpr std::int64_t day_s = 1'769'947'200;
const std::string short_text = "Short.", long_text(200, 'x'), other_text(200, 'y');

FeedState healthy() {
  FeedState state;
  state.rhythm.imported = now - std::chrono::days(10);
  return state;
}

struct Post {
  std::string title = "A title", link = "https://example.org/a", date = day, text = long_text, file{};
};

Fields fields_of(const Post& post) {
  Fields fields;
  if (!post.date.empty()) fields.emplace_back("date_published", post.date);
  if (!post.file.empty()) fields.emplace_back("enclosures", R"([{"url":")" + post.file + R"(","type":"audio/mpeg"}])");
  if (!post.link.empty()) fields.emplace_back("link", post.link);
  if (!post.text.empty()) fields.emplace_back("summary", post.text);
  if (!post.title.empty()) fields.emplace_back("title", post.title);
  return fields;
}

/// A document and what the store knows about it.
struct Scene {
  Scene() {
    known.stored = 50;
    known.newest = now_s - 60;
    for (int n = 0; n < 30; ++n) {
      document.entries.push_back(record("known" + std::to_string(n), {}));
      known.guids.push_back({StoredSnapshot::Is::same, "", {}, ""});
    }
  }
  static EntryRecord record(const std::string& guid, const Post& post) {
    EntryRecord made;
    made.guid = made.given_guid = guid;
    made.fields = fields_of(post);
    made.digest = "digest of " + post.title + post.text + post.link;
    return made;
  }
  /// Adds a post to the document and returns its index.
  std::size_t list(const std::string& guid, const Post& post, const std::string& alias = "") {
    document.entries.push_back(record(guid, post));
    known.guids.emplace_back().alias = alias;
    return known.guids.size() - 1;
  }
  void store(const std::string& guid, const Post& post) {
    StoredSnapshot::Guid& made = found.guids.emplace_back();
    made.is = StoredSnapshot::Is::different;
    made.id = "Entry:" + guid;
    made.fields = fields_of(post);
    made.fields.emplace_back("digest", record(guid, post).digest);
    made.fields.emplace_back("guid", guid);
  }
  Suspects asked() const { return suspects(healthy().identity, document, known, now); }
  void run() { recognise_items(healthy().identity, document, known, std::move(found)); }
  std::string stored_guid(std::size_t place) const { return known.guids[place].stored_guid; }

  Document document;
  StoredSnapshot known, found;
};

struct PairCase {
  const char* name;
  Post read, stored;
  bool alias = false, same = false;
};
void PrintTo(const PairCase& test, std::ostream* out) {
  *out << test.name;
}

class ItemIdentityPairs : public testing::TestWithParam<PairCase> {};
TEST_P(ItemIdentityPairs, AreOnePostWhenAllAgreesThatMust) {
  const PairCase& test = GetParam();
  Scene scene;
  const std::size_t place = scene.list("https://example.org/new", test.read, test.alias ? "old" : "");
  scene.store("old", test.stored);
  scene.run();
  EXPECT_EQ(scene.stored_guid(place), test.same ? "old" : "");
  EXPECT_EQ(scene.known.guids[place].id, test.same ? "Entry:old" : "");
}

const Post plain, undated{.date = ""}, retitled{.title = "Another title"}, later{.date = next_day},
    elsewhere{.link = "https://example.org/b"}, brief{.text = short_text}, rewritten{.text = other_text},
    bare{.text = ""};
const std::string audio = "https://cdn.example.org/one.mp3?token=1";
INSTANTIATE_TEST_SUITE_P(
    All, ItemIdentityPairs,
    testing::Values(
        PairCase{"All", plain, plain, false, true}, PairCase{"Undated", undated, undated, false, false},
        PairCase{"DatedNow", plain, undated, false, false}, PairCase{"AnotherTitle", retitled, plain, false, false},
        PairCase{"AnotherDate", later, plain, false, false}, PairCase{"AnotherText", rewritten, plain, false, false},
        PairCase{"ShortText", brief, brief, false, true}, PairCase{"NoText", bare, bare, false, true},
        PairCase{"AnotherSlug", elsewhere, plain, false, true},
        PairCase{"AnotherSlugOfAShortText", {.link = "https://example.org/b", .text = short_text}, brief, false, false},
        PairCase{"OneByteTooFew",
                 {.link = "https://example.org/b", .text = std::string(199, 'x')},
                 {.text = std::string(199, 'x')},
                 false,
                 false},
        PairCase{"TheSameLinkInAnotherSpelling",
                 {.link = "http://www.example.org/a/", .text = short_text},
                 brief,
                 false,
                 true},
        PairCase{"HomePageOfAShortText",
                 {.link = "https://example.org/", .text = short_text},
                 {.link = "https://example.org/", .text = short_text},
                 false,
                 false},
        PairCase{"NoTitle", {.title = ""}, {.title = ""}, false, false},
        PairCase{"AliasAndTitle", {.date = next_day, .text = other_text}, plain, true, true},
        PairCase{"AliasAndDate", {.title = "Another title", .text = other_text}, plain, true, true},
        PairCase{"AliasAlone", {.title = "Another title", .date = next_day}, plain, true, false},
        PairCase{"AliasOfUndated", {.title = "Another title", .date = ""}, undated, true, false},
        PairCase{"AliasOfUntitled", {.title = "", .date = ""}, {.title = "", .date = ""}, true, false},
        PairCase{
            "TheSameFileSignedAgain", {.file = "http://CDN.example.org/one.mp3?token=2"}, {.file = audio}, false, true},
        PairCase{"AnotherFile", {.file = "https://cdn.example.org/two.mp3"}, {.file = audio}, false, false},
        PairCase{"AnotherFileUnderAnAlias", {.file = "https://cdn.example.org/two.mp3"}, {.file = audio}, true, false},
        PairCase{"AFileOfWhichOneHasNone", {.file = audio}, plain, false, true}),
    [](const auto& test) { return test.param.name; });

TEST(ItemIdentity, KnowsDroppedTextsByTheDigest) {
  const std::string cut = "extensions";
  const auto recognised = [&](const Post& read, const Post& stored, const std::string& truncated = "") {
    Scene scene;
    const std::size_t place = scene.list("https://example.org/new", read);
    scene.store("old", stored);
    Fields& fields = scene.found.guids[0].fields;
    if (!truncated.empty()) fields.emplace_back("truncated", truncated);
    std::ranges::find(fields, "digest", &Fields::value_type::first)->second = entry_digest(fields);
    drop_texts(fields);
    EXPECT_TRUE(lacks_texts(fields));
    scene.run();
    return scene.stored_guid(place) == "old";
  };
  EXPECT_TRUE(recognised(plain, plain));
  EXPECT_TRUE(recognised(plain, plain, cut));
  EXPECT_TRUE(recognised(brief, brief));
  EXPECT_TRUE(recognised(elsewhere, plain));
  EXPECT_FALSE(recognised({.link = elsewhere.link, .text = short_text}, brief));
  EXPECT_FALSE(recognised(rewritten, plain)) << "both start alike, as far as their fields say";
  EXPECT_FALSE(recognised(bare, plain));
  EXPECT_FALSE(recognised(later, plain));
  EXPECT_FALSE(recognised(retitled, plain));
}

TEST(ItemIdentity, KeepsTheEntryAndWhatOfItChanged) {
  Scene scene;
  const std::size_t same = scene.list("n1", plain), edited = scene.list("n2", {.title = "B", .text = short_text}, "o2");
  scene.store("o1", plain);
  scene.store("o2", {.title = "B", .text = other_text});
  scene.run();
  EXPECT_EQ(scene.known.guids[same].is, StoredSnapshot::Is::same);
  EXPECT_TRUE(scene.known.guids[same].fields.empty());
  EXPECT_EQ(scene.known.guids[edited].is, StoredSnapshot::Is::different);
  EXPECT_FALSE(scene.known.guids[edited].fields.empty());
  EXPECT_FALSE(scene.known.compared);
}

TEST(ItemIdentity, MergesNothingWhereTwoStoredPostsFit) {
  Scene scene;
  const std::size_t place = scene.list("new", elsewhere);
  scene.store("old1", plain);
  scene.store("old2", {.link = "https://example.org/c"});
  scene.run();
  EXPECT_EQ(scene.stored_guid(place), "");
}

TEST(ItemIdentity, MergesNothingWhereTwoListedPostsFit) {
  Scene scene;
  const std::size_t one = scene.list("new1", plain), other = scene.list("new2", plain);
  scene.store("old", plain);
  scene.run();
  EXPECT_EQ(scene.stored_guid(one) + scene.stored_guid(other), "");
}

TEST(ItemIdentity, TellsEqualTextsApartByTheirPages) {
  Scene scene;
  const std::size_t one = scene.list("new1", plain), other = scene.list("new2", elsewhere);
  scene.store("old1", plain);
  scene.store("old2", elsewhere);
  scene.run();
  EXPECT_EQ(scene.stored_guid(one), "old1");
  EXPECT_EQ(scene.stored_guid(other), "old2");
}

TEST(ItemIdentity, LeavesAPostItsGuidThatTheDocumentLists) {
  Scene scene;
  const std::size_t place = scene.list("new", plain, "known3");
  scene.store("known3", plain);
  scene.run();
  EXPECT_EQ(scene.stored_guid(place), "");
}

TEST(ItemIdentity, TakesNoPostTwice) {
  Scene scene;
  scene.known.guids[0] = {StoredSnapshot::Is::same, "Entry:old", {}, "old"};  // already found by a comparison
  const std::size_t place = scene.list("new", plain);
  scene.store("old", plain);
  scene.run();
  EXPECT_EQ(scene.stored_guid(place), "");
}

TEST(ItemIdentity, BuriesOtherSpellingsOfTombstones) {
  Scene scene;
  const std::size_t place = scene.list("https://example.org/new", plain, "http://example.org/new");
  scene.known.guids[place].alias_trimmed = true;
  EXPECT_TRUE(scene.asked().look_up.empty() || scene.asked().look_up[0].guid != "http://example.org/new");
  scene.run();
  EXPECT_EQ(scene.known.guids[place].is, StoredSnapshot::Is::tombstoned);
  EXPECT_EQ(scene.known.tombs_new, (std::vector<std::string>{"https://example.org/new"}));
}

TEST(ItemIdentity, AsksNothingForAUsualNewPost) {
  Scene scene;
  scene.known.departed = {"dropped"};
  scene.known.newest = day_s;
  EXPECT_TRUE(scene.asked().empty());
  scene.list("new", later);
  EXPECT_TRUE(scene.asked().empty()) << "newer than all that is stored";
  scene.list("undated", undated);
  EXPECT_TRUE(scene.asked().empty());
  scene.list("of-that-second", plain);
  EXPECT_EQ(scene.asked().look_up.size(), 1U);
  EXPECT_EQ(scene.asked().seconds, (std::vector<std::int64_t>{day_s}));
}

TEST(ItemIdentity, LooksUpPostsWithAClampedDate) {
  Scene scene;
  scene.known.departed = {"dropped"};
  scene.list("new", {.date = "2030-01-01T00:00:00Z"});
  EXPECT_EQ(scene.asked().look_up.size(), 1U);
  EXPECT_TRUE(scene.asked().seconds.empty());
}

TEST(ItemIdentity, IsForFeedsThatAreIdentifiedByGuid) {
  Scene scene;
  scene.known.departed = {"dropped"};
  scene.list("new", plain, "old");
  EXPECT_EQ(scene.asked().look_up.size(), 2U);
  FeedState by_link = healthy();
  by_link.identity.by = IdentifiedBy::link;
  EXPECT_TRUE(suspects(by_link.identity, scene.document, scene.known, now).empty());
  scene.known.stored = 0;
  EXPECT_TRUE(scene.asked().empty()) << "a first import";
}

TEST(ItemIdentity, CountsAsReplacedWhenItIsMoreThanAFewPosts) {
  Scene scene;
  for (int n = 0; n < 2; ++n) {
    const Post post{.title = "Post " + std::to_string(n)};
    scene.list("new" + std::to_string(n), post);
    scene.store("old" + std::to_string(n), post);
  }
  scene.run();
  EXPECT_TRUE(scene.known.replaced) << "2 of 32";
  FeedState state = healthy();
  count_document(state, scene.document, scene.known, now);
  EXPECT_EQ(state.identity.replaced_documents, 1U);

  Scene one;
  one.list("new", plain);
  one.store("old", plain);
  one.run();
  EXPECT_FALSE(one.known.replaced) << "1 of 31";
  count_document(state, one.document, one.known, now);
  EXPECT_EQ(state.identity.replaced_documents, 0U);
}

TEST(ItemIdentity, AsksForAFewPostsHoweverManyAreUnknown) {
  Scene scene;
  for (std::size_t n = 0; n <= StoredSnapshot::max_departed; ++n) {
    scene.known.departed.push_back("dropped" + std::to_string(n));
  }
  for (int n = 0; n < 50; ++n) scene.list("new" + std::to_string(n), plain);
  EXPECT_FALSE(are_too_many(healthy().identity, scene.document, scene.known));
  EXPECT_TRUE(scene.asked().look_up.empty()) << "too many left";
  EXPECT_EQ(scene.asked().seconds.size(), 1U);
  scene.known.departed.pop_back();
  EXPECT_EQ(scene.asked().look_up.size(), 50U);
  scene.list("one more", plain);
  EXPECT_TRUE(scene.asked().empty());
  scene.known.departed.emplace_back("another");
  EXPECT_TRUE(are_too_many(healthy().identity, scene.document, scene.known)) << "then all posts are compared";
}

// Each of 10,000 unknown posts matches each of 5,000 stored ones: none are merged, and it takes little time.
TEST(ItemIdentity, TakesFloodsOfEqualPosts) {
  Scene scene;
  for (int n = 0; n < 10'000; ++n) scene.list("new" + std::to_string(n), plain, "old" + std::to_string(n / 2));
  for (int n = 0; n < 5000; ++n) scene.store("old" + std::to_string(n), plain);
  scene.run();
  for (const StoredSnapshot::Guid& guid : scene.known.guids) EXPECT_EQ(guid.stored_guid, "");
}

}  // namespace
}  // namespace feedmill::item_identity_test
