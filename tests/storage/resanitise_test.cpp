#include "storage/resanitise.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "storage/diff.hpp"
#include "storage/entry_record.hpp"
#include "storage/fields.hpp"

namespace feedmill {
namespace {

/// A stored post, its digest and bytes as they should be.
Fields post(Fields fields) {
  fields.insert(fields.end(), {{"guid", "g"}, {"feed_url", "https://a.example/"}, {"rev", "3"}});
  std::sort(fields.begin(), fields.end());
  fields.emplace_back("bytes", std::to_string(entry_bytes(fields)));
  fields.emplace_back("digest", reader_digest(fields));
  return fields;  // as a server gives them: in no order
}

Fields with(Fields fields, const Fields& changes) {
  for (const auto& [name, value] : changes) {
    std::erase_if(fields, [&, key = name](const auto& field) { return field.first == key; });
    if (!value.empty()) fields.emplace_back(name, value);
  }
  return fields;
}

TEST(Resanitised, FindsNothingInWhatTodaysPolicyMade) {
  EXPECT_EQ(resanitised(post({{"title", "1 < 2 & <b>"}, {"summary", "plain <script>"}}), {}), Fields());
  EXPECT_EQ(resanitised(post({{"content", "<p>Hello <em>you</em></p>"},
                              {"content_type", "text/html"},
                              {"summary_text", "Hello you"}}),
                        {}),
            Fields());
}

TEST(Resanitised, ChangesMarkupAndWhatFollowsFromIt) {
  const Fields stored = post({{"content", "<p onclick=\"x()\">Hello</p><script>1</script>"},
                              {"content_type", "text/html"},
                              {"summary_text", "Hello 1"},
                              {"title", "<b style=\"x\">T</b>"},
                              {"title_type", "text/html"}});
  const Fields changes = resanitised(stored, {});
  EXPECT_EQ(value_of(changes, "content"), "<p>Hello</p>");
  EXPECT_EQ(value_of(changes, "title"), "<b>T</b>");
  EXPECT_EQ(value_of(changes, "summary_text"), "Hello");
  Fields after = with(stored, changes);
  EXPECT_EQ(value_of(after, "bytes"), std::to_string(entry_bytes(after)));
  std::sort(after.begin(), after.end());
  EXPECT_EQ(value_of(after, "digest"), reader_digest(after));
  EXPECT_EQ(find_field(changes, "rev"), nullptr);
  EXPECT_EQ(resanitised(after, {}), Fields()) << "once is enough";
}

TEST(Resanitised, TakesAwayWhatNothingIsLeftOf) {
  const Fields changes =
      resanitised(post({{"summary", "<script>1</script>"}, {"summary_type", "text/html"}, {"summary_text", "1"}}), {});
  EXPECT_EQ(value_of(changes, "summary"), "");
  EXPECT_NE(find_field(changes, "summary"), nullptr);
  EXPECT_NE(find_field(changes, "summary_type"), nullptr);
  EXPECT_NE(find_field(changes, "summary_text"), nullptr);
}

TEST(Resanitised, LeavesTheDigestOfAnotherVersionAlone) {
  const Fields saved = with(post({{"content", "<p onclick=x>Hello</p>"}, {"content_type", "text/html"}}),
                            {{"digest", "0123456789abcdef"}, {"saved", "1"}});
  const Fields changes = resanitised(saved, {});
  EXPECT_EQ(value_of(changes, "content"), "<p>Hello</p>");
  EXPECT_EQ(find_field(changes, "digest"), nullptr) << "it is that of the publisher's version";
}

// SECURITY S14
TEST(Resanitised, LeavesRawFeedsAloneAndNoMarkBehind) {
  const Fields raw = post({{"content", "<p onclick=x>Hello</p>"}, {"content_type", "text/html"}, {"san_ver", "0"}});
  EXPECT_EQ(resanitised(raw, {HtmlPolicy::raw, false}), Fields());
  const Fields changes = resanitised(raw, {HtmlPolicy::strict, false});
  EXPECT_NE(find_field(changes, "san_ver"), nullptr);
  EXPECT_EQ(value_of(changes, "san_ver"), "");
}

}  // namespace
}  // namespace feedmill
