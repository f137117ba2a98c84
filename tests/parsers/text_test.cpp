#include "parsers/markup/text.hpp"

#include <gtest/gtest.h>

namespace feedmill::text_test {
namespace {

TEST(PlainText, IsWhatAReaderSees) {
  EXPECT_EQ(plain_text("<p>One &amp; two</p><p>three<br>four</p>"), "One & two three four");
  EXPECT_EQ(plain_text("a<script>b</script><style>c</style><!-- d -->e"), "ae");
  EXPECT_EQ(plain_text("in<b>line</b>d"), "inlined");
  EXPECT_EQ(plain_text(" \n spaced \t out "), "spaced out");
  EXPECT_EQ(plain_text("1 < 2 &lt;b&gt;"), "1 < 2 <b>");
  EXPECT_EQ(plain_text(""), "");
}

TEST(PlainText, IsCutAtACodePoint) {
  EXPECT_EQ(plain_text("ééé", 3), "é");
  EXPECT_EQ(plain_text("<p>abcdef", 3), "abc");
}

TEST(ReadableText, StripsMarkupOfHtmlTypesOnly) {
  EXPECT_EQ(readable_text("Science &amp; <i>Tech</i>", "text/html"), "Science & Tech");
  EXPECT_EQ(readable_text("a &lt;b&gt;", "application/xhtml+xml"), "a <b>");
  EXPECT_EQ(readable_text(" R&amp;D  <i>", "text/plain"), " R&amp;D  <i>");
  EXPECT_EQ(readable_text("R&amp;D", ""), "R&amp;D");
}

}  // namespace
}  // namespace feedmill::text_test
