#include <gtest/gtest.h>

#include "storage/records/post_identity.hpp"

namespace feedmill::identity_test {
namespace {

constexpr const char* long_text = "A text that is long enough to be told from the texts of other posts";

EntryRecord record(const std::string& guid, const std::string& link, const std::string& title = "t",
                   const std::string& text = long_text) {
  EntryRecord made;
  made.guid = guid;
  made.fields = {{"link", link}, {"summary_text", text}, {"title", title}};
  return made;
}

Entry entry(const std::string& id, const std::string& link, const std::string& title) {
  Entry made;
  made.id = made.guid = id;
  made.link = link;
  made.title.value = title;
  return made;
}

/// `count` posts with distinct guids and links.
Feed sound(std::size_t count) {
  Feed feed;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    feed.entries.push_back(entry("g" + n, "https://example.org/" + n, "Post " + n));
  }
  return feed;
}

TEST(TextKey, TellsTextsApart) {
  const Fields base{{"date_published", "2026-03-01T12:00:00Z"}, {"summary_text", "x"}, {"title", "t"}};
  EXPECT_EQ(text_key(base), text_key(base));
  for (const char* name : {"date_published", "summary_text", "title"}) {
    Fields other = base;
    for (auto& [field, value] : other) {
      if (field == name) value += "!";
    }
    EXPECT_NE(text_key(other), text_key(base)) << name;
  }
  EXPECT_EQ(text_key({{"title", "Untitled"}}), "") << "any number of posts are called so";
  EXPECT_NE(text_key({{"summary_text", long_text}}), "");
}

TEST(GuidBy, GoesAlongTheChain) {
  const Fields all = record("", "https://WWW.Example.org/a/?utm_source=x").fields;
  EXPECT_EQ(guid_by(IdentifiedBy::guid, all, "g"), "g");
  EXPECT_EQ(guid_by(IdentifiedBy::link, all, "g"), "link:example.org/a");
  EXPECT_EQ(guid_by(IdentifiedBy::digest, all, "g"), "digest:" + text_key(all));
  EXPECT_EQ(guid_by(IdentifiedBy::link, {{"summary_text", long_text}}, "g"),
            "digest:" + text_key({{"summary_text", long_text}}));
  EXPECT_EQ(guid_by(IdentifiedBy::digest, {{"title", "t"}}, "g"), "g") << "nothing else is left";
  EXPECT_EQ(guid_by(IdentifiedBy::link, {{"link", "https://e.org/" + std::string(1500, 'x')}}, "g").size(), 5U + 32U);
}

TEST(Identify, TellsEqualLinksApartByTheirTexts) {
  std::vector<EntryRecord> records{record("1", "https://e.org/a"), record("2", "https://e.org/a", "other"),
                                   record("3", "https://e.org/a")};
  identify(records, IdentifiedBy::link);
  EXPECT_EQ(records[0].guid, "link:e.org/a");
  EXPECT_EQ(records[1].guid, "link:e.org/a " + text_key(records[1].fields));
  EXPECT_EQ(records[1].former_guid, "2");
  EXPECT_NE(records[2].guid, records[0].guid);
  EXPECT_NE(records[2].guid, records[1].guid);
}

TEST(Identify, KeepsTheFirstOfIndistinguishablePosts) {
  std::vector<EntryRecord> records{record("1", ""), record("2", "")};
  identify(records, IdentifiedBy::digest);
  EXPECT_NE(records[0].guid, "");
  EXPECT_EQ(records[1].guid, "");
}

TEST(Identify, DoesNotIdentifyPostsByAGuidSharedUnderOtherLinks) {
  std::vector<EntryRecord> records{record("g", "https://e.org/a"), record("g", "https://e.org/b"),
                                   record("h", "https://e.org/h"), record("g", "")};
  for (EntryRecord& made : records) made.given_guid = made.guid;
  identify(records, IdentifiedBy::guid);
  EXPECT_EQ(records[0].guid, "g https://e.org/a");
  EXPECT_EQ(records[1].guid, "g https://e.org/b");
  EXPECT_EQ(records[2].guid, "h");
  EXPECT_EQ(records[3].guid, "g") << "but to the one that nothing else tells apart";
  EXPECT_EQ(records[0].shared_guid + records[1].shared_guid + records[3].shared_guid, "ggg");
  EXPECT_EQ(records[2].shared_guid, "");
  records = {record("https://e.org/a", "https://e.org/b"), record("https://e.org/a", "https://e.org/a")};
  for (EntryRecord& made : records) made.given_guid = made.guid;
  identify(records, IdentifiedBy::guid);
  EXPECT_EQ(records[0].guid, "https://e.org/a https://e.org/b");
  EXPECT_EQ(records[1].guid, "https://e.org/a") << "and to the page whose address it is";
}

TEST(Identify, StoreDecidesWhichPostHasASharedGuidWhenLinksAreEqual) {
  std::vector<EntryRecord> records{record("g", "https://e.org/a"), record("g", "https://e.org/a", "other")};
  for (EntryRecord& made : records) made.given_guid = made.guid;
  identify(records, IdentifiedBy::guid);
  EXPECT_EQ(records[0].guid, "g");
  EXPECT_EQ(records[1].guid, "g");
  EXPECT_EQ(records[0].shared_guid + records[1].shared_guid, "gg");
}

TEST(Identify, TellsPostsWithoutGuidsAndWithOneLinkApartByTheirTexts) {
  std::vector<EntryRecord> records{record("https://e.org/", "https://e.org/"),
                                   record("https://e.org/", "https://e.org/", "other")};
  identify(records, IdentifiedBy::guid);
  EXPECT_EQ(records[0].guid, "https://e.org/");
  EXPECT_EQ(records[1].guid, "https://e.org/ " + text_key(records[1].fields));
}

TEST(Substitutes, AreRecognisedByTheirForm) {
  for (const char* guid : {"link:e.org/a", "digest:0", "https://e.org/a", "g https://e.org/a", "https://e.org/a 12"}) {
    EXPECT_TRUE(is_substitute(guid, "https://e.org/a", false)) << guid;
  }
  EXPECT_FALSE(is_substitute("https://e.org/a", "https://e.org/a", true)) << "the feed's guids are its links";
  EXPECT_FALSE(is_substitute("g", "https://e.org/a", false));
  EXPECT_FALSE(is_substitute("g", "", false));
}

TEST(FittingIdentity, StaysWithGuidsThatAreSound) {
  EXPECT_EQ(fitting_identity(sound(20), IdentifiedBy::guid), IdentifiedBy::guid);
  EXPECT_EQ(fitting_identity(sound(1), IdentifiedBy::guid), IdentifiedBy::guid);
  EXPECT_EQ(fitting_identity(Feed(), IdentifiedBy::guid), IdentifiedBy::guid);
  for (const IdentifiedBy by : {IdentifiedBy::link, IdentifiedBy::digest}) {
    EXPECT_EQ(fitting_identity(sound(20), by), by) << "what brings a feed back is more than one document";
  }
}

TEST(FittingIdentity, BearsHalf) {
  Feed missing = sound(20), equal = sound(20);
  for (std::size_t i = 0; i < 10; ++i) {
    missing.entries[i].id.clear();
    equal.entries[i].id = "https://example.org/";
  }
  EXPECT_EQ(fitting_identity(missing, IdentifiedBy::guid), IdentifiedBy::guid) << "item by item";
  EXPECT_EQ(fitting_identity(equal, IdentifiedBy::guid), IdentifiedBy::guid);
  missing.entries[10].id.clear();
  equal.entries[10].id = "https://example.org/";
  EXPECT_EQ(fitting_identity(missing, IdentifiedBy::guid), IdentifiedBy::link);
  EXPECT_EQ(fitting_identity(equal, IdentifiedBy::guid), IdentifiedBy::link);
}

TEST(FittingIdentity, TakesRepetitionsForNothing) {
  Feed feed = sound(4);
  for (int i = 0; i < 4; ++i) feed.entries.push_back(feed.entries[static_cast<std::size_t>(i)]);
  EXPECT_EQ(fitting_identity(feed, IdentifiedBy::guid), IdentifiedBy::guid) << "the same post listed twice";
}

TEST(FittingIdentity, NeverSwitchesToALessDistinctiveIdentity) {
  Feed unlinked = sound(20);
  for (Entry& post : unlinked.entries) post.link.clear();
  for (std::size_t i = 0; i < 15; ++i) unlinked.entries[i].id.clear();
  EXPECT_EQ(fitting_identity(unlinked, IdentifiedBy::guid), IdentifiedBy::guid) << "each has something";
  Feed one_page = sound(20);
  for (Entry& post : one_page.entries) post.link = "https://example.org/";
  EXPECT_EQ(fitting_identity(one_page, IdentifiedBy::guid), IdentifiedBy::guid);
  EXPECT_EQ(fitting_identity(one_page, IdentifiedBy::link), IdentifiedBy::digest);
  for (Entry& post : one_page.entries) post.id = "https://example.org/";
  EXPECT_EQ(fitting_identity(one_page, IdentifiedBy::guid), IdentifiedBy::digest);
}

TEST(FittingIdentity, OfAFeedWithoutGuidsIsTheChain) {
  Feed feed = sound(20);
  for (Entry& post : feed.entries) post.id.clear();
  EXPECT_EQ(fitting_identity(feed, IdentifiedBy::guid), IdentifiedBy::guid) << "the chain comes to the links by itself";
  for (Entry& post : feed.entries) post.link = "https://example.org/";
  EXPECT_EQ(fitting_identity(feed, IdentifiedBy::guid), IdentifiedBy::digest) << "all but one would be lost";
}

}  // namespace
}  // namespace feedmill::identity_test
