#include <gtest/gtest.h>

#include "parsers/feed/reading.hpp"

namespace feedmill::person_test {
namespace {

struct PersonCase {
  const char* name;
  const char* text;
  const char* person;
  const char* email;
  const char* shown;
};

class Persons : public testing::TestWithParam<PersonCase> {};

TEST_P(Persons, AreSplit) {
  const Person person = parse_person(GetParam().text);
  EXPECT_EQ(person.name, GetParam().person);
  EXPECT_EQ(person.email, GetParam().email);
  EXPECT_EQ(display_name(person), GetParam().shown);
}

INSTANTIATE_TEST_SUITE_P(
    All, Persons,
    testing::Values(
        PersonCase{"Rss", "me@example.com (Jo Doe)", "Jo Doe", "me@example.com", "Jo Doe (me@example.com)"},
        PersonCase{"Reversed", "Jo Doe (me@example.com)", "Jo Doe", "me@example.com", "Jo Doe (me@example.com)"},
        PersonCase{"Mail", "Jo Doe <me+tag@mail.example.com>", "Jo Doe", "me+tag@mail.example.com",
                   "Jo Doe (me+tag@mail.example.com)"},
        PersonCase{"Quoted", "\"Doe, Jo\" <me@example.com>", "Doe, Jo", "me@example.com", "Doe, Jo (me@example.com)"},
        PersonCase{"AddressOnly", "me@example.com", "", "me@example.com", "me@example.com"},
        PersonCase{"NameOnly", "Jo  Doe", "Jo Doe", "", "Jo Doe"}, PersonCase{"Handle", "@jo", "@jo", "", "@jo"},
        PersonCase{"Empty", " ", "", "", ""}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::person_test
