#include "parsers/markup/well_formed.hpp"

#include <gtest/gtest.h>

namespace feedmill::well_formed_test {
namespace {

struct FaultCase {
  const char* name;
  const char* text;
  Bozo bozo;
};

class WellFormed : public testing::TestWithParam<FaultCase> {};

TEST_P(WellFormed, ReportsTheFault) {
  const WellFormedness found = check_well_formed(GetParam().text);
  EXPECT_EQ(found.bozo, GetParam().bozo) << found.detail;
}

INSTANTIATE_TEST_SUITE_P(
    Legal, WellFormed,
    testing::Values(FaultCase{"Empty", "<a/>", Bozo::none},
                    FaultCase{"Declared", "<?xml version=\"1.0\" encoding='utf-8' standalone=\"no\"?><a></a>",
                              Bozo::none},
                    FaultCase{"Misc", "\n<!-- c --><?pi x?>\n<a b='1' c=\"2\"/>\n<!-- d -->\n", Bozo::none},
                    FaultCase{"Doctype", "<!DOCTYPE a PUBLIC \"x\" 'y' [<!ENTITY e \"v\"><!-- ] --><?p ]?>]><a>&e;</a>",
                              Bozo::none},
                    FaultCase{"ExternalSubsetMayDeclare", "<!DOCTYPE a SYSTEM 'x'><a>&eacute;</a>", Bozo::none},
                    FaultCase{"Namespaces", "<x:a xmlns:x='u' x:b='1'><x:c/></x:a>", Bozo::none},
                    FaultCase{"Cdata", "<a><![CDATA[<&]]]]></a>", Bozo::none},
                    FaultCase{"References", "<a b='&#x9;&lt;'>&#169;&amp;</a>", Bozo::none}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Broken, WellFormed,
    testing::Values(FaultCase{"Nothing", " ", Bozo::truncated}, FaultCase{"Text", "hello", Bozo::malformed_xml},
                    FaultCase{"JunkInFront", "x<a/>", Bozo::malformed_xml},
                    FaultCase{"JunkBehind", "<a/>x", Bozo::malformed_xml},
                    FaultCase{"CutCommentBehind", "<a/><!-- ca", Bozo::malformed_xml},
                    FaultCase{"CutInstructionBehind", "<a/>\n<?php echo", Bozo::malformed_xml},
                    FaultCase{"TwoRoots", "<a/><b/>", Bozo::malformed_xml},
                    FaultCase{"SpaceBeforeDeclaration", " <?xml version='1.0'?><a/>", Bozo::malformed_xml},
                    FaultCase{"Unclosed", "<a><b></b>", Bozo::truncated},
                    FaultCase{"BadNesting", "<a><b></a></b>", Bozo::malformed_xml},
                    FaultCase{"CutInTag", "<a><b c=", Bozo::truncated},
                    FaultCase{"CutInCdata", "<a><![CDATA[x</a>", Bozo::truncated},
                    FaultCase{"CutInComment", "<a><!-- x</a>", Bozo::truncated},
                    FaultCase{"CommentDashes", "<a><!-- a -- b --></a>", Bozo::malformed_xml},
                    FaultCase{"Ampersand", "<a>b & c</a>", Bozo::malformed_xml},
                    FaultCase{"AmpersandInAttribute", "<a b='x&y'/>", Bozo::malformed_xml},
                    FaultCase{"NoQuotes", "<a b=c/>", Bozo::malformed_xml},
                    FaultCase{"NoValue", "<a b/>", Bozo::malformed_xml},
                    FaultCase{"NoSpace", "<a b='1'c='2'/>", Bozo::malformed_xml},
                    FaultCase{"Twice", "<a b='1' b='2'/>", Bozo::malformed_xml},
                    FaultCase{"LessThanInAttribute", "<a b='<'/>", Bozo::malformed_xml},
                    FaultCase{"CdataEnd", "<a>]]></a>", Bozo::malformed_xml},
                    FaultCase{"ForbiddenCharacter", "<a>&#1;</a>", Bozo::malformed_xml},
                    FaultCase{"BigX", "<a>&#X41;</a>", Bozo::malformed_xml},
                    FaultCase{"DoctypeInside", "<a><!DOCTYPE b></a>", Bozo::malformed_xml},
                    FaultCase{"UndefinedEntity", "<a>&nbsp;</a>", Bozo::undefined_entity},
                    FaultCase{"UndeclaredElement", "<x:a/>", Bozo::undeclared_namespace},
                    FaultCase{"UndeclaredAttribute", "<a x:b='1'/>", Bozo::undeclared_namespace},
                    FaultCase{"OutOfScope", "<a><b xmlns:x='u'/><x:c/></a>", Bozo::undeclared_namespace},
                    FaultCase{"NoUri", "<a xmlns:x='a b'/>", Bozo::undeclared_namespace}),
    [](const auto& test) { return test.param.name; });

TEST(WellFormed, ContinuesAfterFaultsThatKeepTheNesting) {
  EXPECT_TRUE(check_well_formed("<a>&nbsp;<x:b/></a>").nested);
  EXPECT_FALSE(check_well_formed("<a>&nbsp;<b></a>").nested);
}

TEST(WellFormed, ListsHarmlessEntitiesOnly) {
  const WellFormedness found = check_well_formed(
      "<!DOCTYPE a [<!ENTITY ok 'x&#33;'><!ENTITY bomb '&ok;&ok;'><!ENTITY file SYSTEM 'file:///etc/passwd'>"
      "<!ENTITY tag '<b>'>]><a>&bomb;</a>");
  ASSERT_EQ(found.entities.size(), 1U);
  EXPECT_EQ(found.entities[0].name, "ok");
  EXPECT_TRUE(found.ok());
}

TEST(WellFormed, StopsAtItsCaps) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "<a>";
  EXPECT_TRUE(check_well_formed(deep).limit);
  std::string wide = "<a";
  for (int i = 0; i < 300; ++i) wide += " b" + std::to_string(i) + "=''";
  EXPECT_TRUE(check_well_formed(wide + "/>").limit);
}

}  // namespace
}  // namespace feedmill::well_formed_test
