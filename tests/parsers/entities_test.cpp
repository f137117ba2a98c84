#include "parsers/text/entities.hpp"

#include <gtest/gtest.h>

namespace feedmill::entities_test {
namespace {

struct EntityCase {
  const char* name;
  const char* text;
  const char* decoded;
};

class References : public testing::TestWithParam<EntityCase> {};

TEST_P(References, AreDecoded) {
  EXPECT_EQ(decode_references(GetParam().text), GetParam().decoded);
}

INSTANTIATE_TEST_SUITE_P(
    All, References,
    testing::Values(EntityCase{"Predefined", "&lt;&amp;&gt;&quot;&apos;", "<&>\"'"},
                    EntityCase{"Named", "&eacute;&hellip;&nGt;", "é…≫⃒"},
                    EntityCase{"Html4Brackets", "&lang;&rang;", "\u2329\u232A"}, EntityCase{"Decimal", "&#8364;", "€"},
                    EntityCase{"Hexadecimal", "&#x20AC;&#X20ac;", "€€"},
                    EntityCase{"Windows1252", "&#146;&#x80;", "’€"}, EntityCase{"Control", "a&#1;b&#0;c", "abc"},
                    EntityCase{"Surrogate", "&#xD800;", "\xEF\xBF\xBD"},
                    EntityCase{"TooBig", "&#99999999999;", "\xEF\xBF\xBD"},
                    EntityCase{"LegacyWithoutSemicolon", "&copy 2020 &nbspx", "© 2020 \xC2\xA0x"},
                    EntityCase{"Unknown", "&doesnotexist; & &; &#; &#x;", "&doesnotexist; & &; &#; &#x;"},
                    EntityCase{"AtTheEnd", "&amp", "&"}),
    [](const auto& test) { return test.param.name; });

TEST(References, InAttributesNeedTheirSemicolonInFrontOfLetters) {
  std::string out;
  append_decoded(out, "?a=1&copy=2&amp;b=3&lt", true);
  EXPECT_EQ(out, "?a=1&copy=2&b=3<");
}

}  // namespace
}  // namespace feedmill::entities_test
