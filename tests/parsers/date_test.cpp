#include "parsers/text/date.hpp"

#include <gtest/gtest.h>

namespace feedmill::date_test {
namespace {

struct DateCase {
  const char* name;
  const char* text;
  const char* utc;  // "": must be refused
};

class Dates : public testing::TestWithParam<DateCase> {};

TEST_P(Dates, AreRead) {
  EXPECT_EQ(iso8601(parse_date(GetParam().text)), GetParam().utc);
}

INSTANTIATE_TEST_SUITE_P(
    Rfc822, Dates,
    testing::Values(DateCase{"Plain", "Thu, 01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21Z"},
                    DateCase{"TwoDigitYear", "Tue, 03 Jun 03 09:39:21 GMT", "2003-06-03T09:39:21Z"},
                    DateCase{"TwoDigitYearOfTheNineties", "Tue, 03 Jun 97 09:39:21 GMT", "1997-06-03T09:39:21Z"},
                    DateCase{"Offset", "Thu, 01 Jan 2004 19:48:21 +0130", "2004-01-01T18:18:21Z"},
                    DateCase{"OffsetWithColon", "Wed, 19 Feb 2012 22:40:00 -01:01", "2012-02-19T23:41:00Z"},
                    DateCase{"OffsetBehindName", "Thu, 01 Jan 2004 19:48:21 GMT+0100", "2004-01-01T18:48:21Z"},
                    DateCase{"NoSeconds", "Thu, 01 Jan 2004 00:00 GMT", "2004-01-01T00:00:00Z"},
                    DateCase{"NoTime", "Thu, 01 Jan 2004", "2004-01-01T00:00:00Z"},
                    DateCase{"NoWeekday", "1 Jan 2004 05:00:00 EST", "2004-01-01T10:00:00Z"},
                    DateCase{"LongNames", "Thursday, 1 January 2004 00:00:00 PDT", "2004-01-01T07:00:00Z"},
                    DateCase{"CommaBehindMonth", "Mon, 13 Feb, 2012 06:28:00 UTC", "2012-02-13T06:28:00Z"},
                    DateCase{"NoSpaceBehindWeekday", "Fri,24 Nov 2023 18:28:36 -0000", "2023-11-24T18:28:36Z"},
                    DateCase{"MilitaryZone", "Thu, 01 Jan 2004 12:00:00 M", "2004-01-02T00:00:00Z"},
                    DateCase{"CentralEuropeanSummer", "Thu, 30 Apr 2015 08:57:00 MEST", "2015-04-30T06:57:00Z"},
                    DateCase{"Remark", "Thu Nov 12 2020 17:00:00 GMT+0000 (Coordinated Universal Time)",
                             "2020-11-12T17:00:00Z"},
                    DateCase{"LeapSecond", "Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00Z"},
                    DateCase{"EndOfTheDay", "Thu, 01 Jan 2004 24:00:00 GMT", "2004-01-02T00:00:00Z"},
                    DateCase{"NoSuchDay", "Mon, 31 Feb 2004 00:00:00 GMT", ""},
                    DateCase{"NoSuchHour", "1 Jan 2004 25:00:00", ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Iso8601, Dates,
    testing::Values(DateCase{"Rfc3339", "2003-12-13T18:30:02+01:00", "2003-12-13T17:30:02Z"},
                    DateCase{"Zulu", "2003-12-31T10:14:55Z", "2003-12-31T10:14:55Z"},
                    DateCase{"Fraction", "2007-04-23T23:25:47.538+10:00", "2007-04-23T13:25:47.538Z"},
                    DateCase{"Year", "2003", "2003-01-01T00:00:00Z"},
                    DateCase{"Month", "2003-12", "2003-12-01T00:00:00Z"},
                    DateCase{"Day", "2003-12-31", "2003-12-31T00:00:00Z"},
                    DateCase{"Basic", "20031231T101455Z", "2003-12-31T10:14:55Z"},
                    DateCase{"ShortBasic", "031231", "2003-12-31T00:00:00Z"},
                    DateCase{"TruncatedMonth", "-0312", "2003-12-01T00:00:00Z"},
                    DateCase{"Ordinal", "2003-335", "2003-12-01T00:00:00Z"},
                    DateCase{"OrdinalBasic", "2003335", "2003-12-01T00:00:00Z"},
                    DateCase{"LeapYearsLastDay", "2004-366", "2004-12-31T00:00:00Z"},
                    DateCase{"NoSuchOrdinal", "2003-366", ""}, DateCase{"Week", "2009-W01-1", "2008-12-29T00:00:00Z"},
                    DateCase{"WeekBasic", "2009W537", "2010-01-03T00:00:00Z"},
                    DateCase{"SpaceForT", "2018-10-23 04:07:42 +00:00", "2018-10-23T04:07:42Z"},
                    DateCase{"Mssql", "2004-07-08 23:56:58.0", "2004-07-08T23:56:58Z"},
                    DateCase{"DoubleZone", "2020-11-08T16:20:00-05:00Z", "2020-11-08T21:20:00Z"},
                    DateCase{"NoSuchMonth", "2003-13-01", ""}, DateCase{"NoSuchDay", "2003-02-29", ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Loose, Dates,
    testing::Values(DateCase{"Asctime", "Sun Jan  4 16:29:06 2004", "2004-01-04T16:29:06Z"},
                    DateCase{"AsctimeWithZone", "Sun Jan 04 16:29:06 PST 2004", "2004-01-05T00:29:06Z"},
                    DateCase{"Perforce", "Fri, 2006/09/15 08:19:53 EDT", "2006-09-15T12:19:53Z"},
                    DateCase{"American", "09/15/2014 4:20 pm PST", "2014-09-16T00:20:00Z"},
                    DateCase{"DayFirst", "Fri, 26/06/2020", "2020-06-26T00:00:00Z"},
                    DateCase{"German", "15. März 2021 10:00", "2021-03-15T10:00:00Z"},
                    DateCase{"French", "ven., 03 juil. 2020 15:09:58 +0000", "2020-07-03T15:09:58Z"},
                    DateCase{"FrenchMarch", "mar., 02 mars 2021 08:00:00 +0100", "2021-03-02T07:00:00Z"},
                    DateCase{"Spanish", "3 de diciembre de 2019", "2019-12-03T00:00:00Z"},
                    DateCase{"Greek", "Κυρ, 11 Ιούλ 2004 12:00:00 EST", "2004-07-11T17:00:00Z"},
                    DateCase{"Hungarian", "2004-július-13T9:15-05:00", "2004-07-13T14:15:00Z"},
                    DateCase{"Russian", "12 января 2022 18:00:00 MSK", "2022-01-12T15:00:00Z"},
                    DateCase{"KoreanMarks", "2004년 05월 28일  01:31:15", "2004-05-27T16:31:15Z"},
                    DateCase{"KoreanAfternoon", "2004-05-25 오후 11:23:17", "2004-05-25T14:23:17Z"},
                    DateCase{"Ordinals", "Fri, 23rd Jun 2023 09:32:20 GMT", "2023-06-23T09:32:20Z"},
                    DateCase{"HalfDay", "Nov. 16, 2020, 10:57 a.m.", "2020-11-16T10:57:00Z"},
                    DateCase{"Noon", "June 1, 2020 12:00 PM", "2020-06-01T12:00:00Z"},
                    DateCase{"Midnight", "June 1, 2020 12:00 AM", "2020-06-01T00:00:00Z"},
                    DateCase{"MonthOnly", "Nov. 2020", "2020-11-01T00:00:00Z"},
                    DateCase{"Seconds", "1500000000", "2017-07-14T02:40:00Z"},
                    DateCase{"Milliseconds", "1500000000500", "2017-07-14T02:40:00.5Z"},
                    DateCase{"EpochTooFar", "520555550060700", ""}, DateCase{"Words", "yesterday", ""},
                    DateCase{"Relative", "3 days ago", ""}, DateCase{"Empty", "", ""},
                    DateCase{"TooFar", "Fri, 31 Dec 9999 23:59:59 -1200", ""}),
    [](const auto& test) { return test.param.name; });

// Months and weekdays in the languages that publishers' software writes them in.
INSTANTIATE_TEST_SUITE_P(
    Localised, Dates,
    testing::Values(DateCase{"GreekFull", "Τρι, 05 Αύγ 2003 12:00:00 GMT", "2003-08-05T12:00:00Z"},
                    DateCase{"GreekMarch", "Δευ, 08 Μάρ 2004 10:00:00 +0200", "2004-03-08T08:00:00Z"},
                    DateCase{"HungarianLong", "2004-augusztus-03T10:00Z", "2004-08-03T10:00:00Z"},
                    DateCase{"KoreanNateMorning", "2004-05-25 오전 11:23:17", "2004-05-25T02:23:17Z"},
                    DateCase{"KoreanMidnight", "2004-05-25 오전 12:00:00", "2004-05-24T15:00:00Z"},
                    DateCase{"Danish", "ons, 12 maj 2021 10:00:00 +0200", "2021-05-12T08:00:00Z"},
                    DateCase{"Swedish", "lör, 03 okt 2020 10:00:00 +0200", "2020-10-03T08:00:00Z"},
                    DateCase{"Norwegian", "fre, 18 des. 2020 10:00:00 +0100", "2020-12-18T09:00:00Z"},
                    DateCase{"FrenchAugust", "sam., 15 août 2020 12:00:00 +0200", "2020-08-15T10:00:00Z"},
                    DateCase{"FrenchFebruary", "5 février 2021", "2021-02-05T00:00:00Z"},
                    DateCase{"GermanShort", "Mi, 05 Okt 2022 08:00:00 +0200", "2022-10-05T06:00:00Z"},
                    DateCase{"GermanDecember", "24. Dezember 2020 18:00", "2020-12-24T18:00:00Z"},
                    DateCase{"SpanishShort", "lun, 04 ene 2021 09:00:00 +0100", "2021-01-04T08:00:00Z"},
                    DateCase{"SpanishAugust", "15 de agosto de 2020", "2020-08-15T00:00:00Z"},
                    DateCase{"RussianShort", "Пт, 05 фев 2021 12:00:00 +0300", "2021-02-05T09:00:00Z"},
                    DateCase{"RussianMay", "9 мая 2021", "2021-05-09T00:00:00Z"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Zones, Dates,
    // RFC 822 §5.1 counts the military zones the other way round than the military; feeds were written by it.
    testing::Values(DateCase{"Alpha", "Thu, 01 Jan 2004 12:00:00 A", "2004-01-01T13:00:00Z"},
                    DateCase{"Yankee", "Thu, 01 Jan 2004 12:00:00 Y", "2004-01-01T00:00:00Z"},
                    DateCase{"Universal", "Thu, 01 Jan 2004 12:00:00 UT", "2004-01-01T12:00:00Z"},
                    DateCase{"AtlanticTime", "Thu, 01 Jan 2004 12:00:00 AT", "2004-01-01T16:00:00Z"},
                    DateCase{"EasternTime", "Thu, 01 Jan 2004 12:00:00 ET", "2004-01-01T17:00:00Z"},
                    DateCase{"India", "2020-01-01T12:00:00+05:30", "2020-01-01T06:30:00Z"},
                    DateCase{"Nepal", "2020-01-01 12:00:00 +0545", "2020-01-01T06:15:00Z"},
                    DateCase{"HoursOnly", "2003-12-31T10:14:55+01", "2003-12-31T09:14:55Z"},
                    DateCase{"Lower", "2003-12-31t10:14:55z", "2003-12-31T10:14:55Z"},
                    DateCase{"NobodyKnows", "Thu, 01 Jan 2004 12:00:00 XYZZY", "2004-01-01T12:00:00Z"},
                    DateCase{"LeapSecondIso", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
                    DateCase{"EndOfDayIso", "2003-12-31T24:00:00Z", "2004-01-01T00:00:00Z"},
                    DateCase{"WeekWithoutDay", "2009-W01", "2008-12-29T00:00:00Z"},
                    DateCase{"NoSuchWeek", "2009-W54-1", ""},
                    DateCase{"TwoDigits68", "1 Jan 68 00:00:00 GMT", "2068-01-01T00:00:00Z"},
                    DateCase{"TwoDigits90", "1 Jan 90 00:00:00 GMT", "1990-01-01T00:00:00Z"},
                    DateCase{"Ancient", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"}),
    [](const auto& test) { return test.param.name; });

struct DurationCase {
  const char* name;
  const char* text;
  double seconds;  // negative: must be refused
};

class Durations : public testing::TestWithParam<DurationCase> {};

TEST_P(Durations, AreRead) {
  EXPECT_DOUBLE_EQ(parse_duration(GetParam().text).value_or(-1), GetParam().seconds);
}

INSTANTIATE_TEST_SUITE_P(All, Durations,
                         testing::Values(DurationCase{"Seconds", "187", 187}, DurationCase{"Minutes", "3:07", 187},
                                         DurationCase{"Hours", "01:03:07.250", 3787.25},
                                         DurationCase{"Iso", "PT1H2M3S", 3723}, DurationCase{"Words", "long", -1},
                                         DurationCase{"Negative", "-5", -1}, DurationCase{"Empty", "", -1}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::date_test
