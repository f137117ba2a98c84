// Changes that are held back (RELIABILITY I11, L5) are taken a day later, even if the document does not change again.
#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::held_back_test {
namespace {

const std::string first_date = "2025-02-01T00:00:00Z", later_date = "2025-03-01T00:00:00Z";

std::string atom(const std::string& title, const std::string& updated) {
  return "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><entry><id>a</id><title>" + title + "</title><updated>" +
         updated + "</updated></entry><entry><id>b</id><title>Other</title></entry></feed>";
}

class HeldBack : public Polling {
 protected:
  /// Moves the stored times a day into the past.
  void a_day_passes() {
    redis({"HINCRBY", "Entry:1", "last_changed", "-86400"});
    if (state().document.compared_at.count() != 0) redis({"HINCRBY", "state:feed:" + url, "compared_at", "-86400000"});
  }
  bool asks_again() { return takes_held_back(state(), *store.now()); }
  std::string post() { return redis({"HMGET", "Entry:1", "title", "date_updated"}); }
};

TEST_F(HeldBack, AnOlderVersionIsACorrectionADayLater) {
  etag = "\"same\"";
  poll(atom("One", first_date));
  poll(atom("Typo", later_date));
  EXPECT_FALSE(state().document.holds_back);
  const std::string corrected = atom("Corrected", first_date);
  EXPECT_EQ(poll(corrected).events, 0U);
  EXPECT_EQ(poll(corrected).events, 0U);
  EXPECT_EQ(post(), "Typo " + later_date);
  EXPECT_FALSE(asks_again());
  a_day_passes();
  EXPECT_TRUE(asks_again());
  EXPECT_EQ(poll(corrected).modified, 1U);
  EXPECT_EQ(post(), "Corrected " + first_date);
  EXPECT_FALSE(asks_again());
  a_day_passes();
  EXPECT_FALSE(asks_again()) << "nothing waits any more";
}

TEST_F(HeldBack, ADocumentWithTheSameItemIsReadWholeADayLater) {
  poll(atom("One", first_date));
  poll(atom("Typo", later_date));
  const std::string corrected = atom("Corrected", first_date);
  EXPECT_EQ(poll(corrected).events, 0U);
  EXPECT_EQ(poll(corrected + "<!-- 2 -->").events, 0U);
  EXPECT_TRUE(state().document.holds_back) << "the item was passed over";
  a_day_passes();
  EXPECT_EQ(poll(corrected + "<!-- 3 -->").modified, 1U);
  EXPECT_EQ(post(), "Corrected " + first_date);
}

TEST_F(HeldBack, AVersionFromASlowCacheDoesNotReturn) {
  poll(atom("One", first_date));
  poll(atom("Two", later_date));
  poll(atom("One", first_date));
  poll(atom("Two", later_date));
  a_day_passes();
  EXPECT_EQ(poll(atom("Two", later_date)).events, 0U);
  EXPECT_FALSE(state().document.holds_back);
  EXPECT_EQ(post(), "Two " + later_date);
}

struct IdleCase {
  const char* name;
  const char *before, *after;
  const char* field;
  const char* stored;  ///< in the field in the end
};
std::ostream& operator<<(std::ostream& out, const IdleCase& test) {
  return out << test.name;
}

class HeldBackValues : public HeldBack, public testing::WithParamInterface<IdleCase> {};

TEST_P(HeldBackValues, AreStoredADayLater) {
  const IdleCase& test = GetParam();
  const auto with = [](const std::string& value) {
    return "<rss version='2.0' xmlns:slash='http://purl.org/rss/1.0/modules/slash/'><channel><title>Feed</title><item>"
           "<guid isPermaLink='false'>a</guid><title>Title</title>" +
           value + "</item></channel></rss>";
  };
  poll(with(test.before));
  EXPECT_FALSE(state().document.holds_back);
  const std::string before = redis({"HGET", "Entry:1", test.field});
  EXPECT_EQ(poll(with(test.after)).events, 0U);
  EXPECT_EQ(redis({"HGET", "Entry:1", test.field}), before);
  EXPECT_FALSE(asks_again());
  a_day_passes();
  EXPECT_TRUE(asks_again());
  EXPECT_EQ(poll(with(test.after)).modified, 0U);
  EXPECT_NE(redis({"HGET", "Entry:1", test.field}).find(test.stored), std::string::npos);
  EXPECT_EQ(count("post_mended"), 1U);
  a_day_passes();
  EXPECT_FALSE(asks_again());
}
INSTANTIATE_TEST_SUITE_P(
    All, HeldBackValues,
    testing::Values(IdleCase{"Moved", "<slash:comments>3</slash:comments>", "<slash:comments>4</slash:comments>",
                             "extensions", "\"4\""},
                    IdleCase{"Added", "", "<slash:comments>4</slash:comments>", "extensions", "\"4\""},
                    IdleCase{"Removed", "<slash:comments>3</slash:comments>", "", "extensions", "(nil)"},
                    IdleCase{"Tracked", "<link>https://e.org/1?utm_source=a</link>",
                             "<link>https://e.org/1?utm_source=b</link>", "link", "utm_source=b"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace feedmill::test::held_back_test
