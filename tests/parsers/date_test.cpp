#include "parsers/text/date.hpp"

#include <gtest/gtest.h>

namespace feedmill::date_test {
namespace {

struct DateCase {
  const char* name;
  const char* text;
  const char* utc;  // "": must be rejected
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
                    DateCase{"TwoDigitIsoYearOfTheNineties", "97-06-03T09:39:21Z", "1997-06-03T09:39:21Z"},
                    DateCase{"HoursInSpanish", "13 de enero de 2026 15:38 h", "2026-01-13T15:38:00Z"},
                    DateCase{"HoursInSpanishWithAZone", "13 Jan 2026, 15:38 h CET", "2026-01-13T14:38:00Z"},
                    DateCase{"HoursInFlemish", "5 feb 2026 09:05 u.", "2026-02-05T09:05:00Z"},
                    DateCase{"AtInCzech", "13. ledna 2026 v 15:38", "2026-01-13T15:38:00Z"},
                    DateCase{"AtInEstonian", "13. jaanuar 2026 kell 15:38", "2026-01-13T15:38:00Z"},
                    DateCase{"WindowsZone", "13 Jan 2026 15:38:00 W. Europe Daylight Time", "2026-01-13T15:38:00Z"},
                    DateCase{"OffsetInBrackets", "Tue, 13 Jan 2026 09:38:00 (GMT+7)", "2026-01-13T02:38:00Z"},
                    DateCase{"TwoDigitIsoYearOfToday", "26-06-03", "2026-06-03T00:00:00Z"},
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

// Months and weekdays in the languages that publishing software writes.
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
    // RFC 822 §5.1 gives the military zones the opposite signs; feeds follow the RFC.
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
                    DateCase{"Iran", "Wed, 05 Nov 2014 18:04:00 IRST", "2014-11-05T14:34:00Z"},
                    DateCase{"NepalByName", "Wed, 05 Nov 2014 18:04:00 NPT", "2014-11-05T12:19:00Z"},
                    DateCase{"Philippines", "Wed, 05 Nov 2014 18:04:00 PHT", "2014-11-05T10:04:00Z"},
                    DateCase{"French", "13 mars 2026 12:22 HNE", "2026-03-13T17:22:00Z"},
                    DateCase{"Remark", "14 Jul 2025 10:20:30 (CEST)", "2025-07-14T08:20:30Z"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Iana, Dates,
    testing::Values(DateCase{"Summer", "Fri, 04 Jul 2025 10:00:00 Europe/Berlin", "2025-07-04T08:00:00Z"},
                    DateCase{"Winter", "Wed, 05 Nov 2014 18:04:00 Europe/Berlin", "2014-11-05T17:04:00Z"},
                    DateCase{"Iso", "2025-07-04 10:00:00 Europe/Berlin", "2025-07-04T08:00:00Z"},
                    DateCase{"West", "Fri, 31 Mar 2023 20:19:00 America/Los_Angeles", "2023-04-01T03:19:00Z"},
                    DateCase{"South", "20:19, 31 Jan 2023 Australia/Sydney", "2023-01-31T09:19:00Z"},
                    DateCase{"ThreeParts", "31 Mar 2023 20:19 america/argentina/buenos_aires", "2023-03-31T23:19:00Z"},
                    DateCase{"Hyphens", "31 Mar 2023 20:19 America/Port-au-Prince", "2023-04-01T00:19:00Z"},
                    DateCase{"Etc", "31 Mar 2023 20:19 Etc/GMT+5", "2023-04-01T01:19:00Z"},
                    DateCase{"Java", "2025-07-04T10:00:00+02:00[Europe/Berlin]", "2025-07-04T08:00:00Z"},
                    DateCase{"JavaLocal", "2025-07-04T10:00[Asia/Kolkata]", "2025-07-04T04:30:00Z"},
                    DateCase{"OffsetWins", "2025-07-04 10:00 Europe/Berlin +0000", "2025-07-04T10:00:00Z"},
                    DateCase{"ShownTwice", "26 Oct 2025 02:30 Europe/Berlin", "2025-10-26T00:30:00Z"},
                    DateCase{"NeverShown", "30 Mar 2025 02:30 Europe/Berlin", "2025-03-30T01:30:00Z"},
                    DateCase{"OtherYears", "31 Jul 2035 20:19 Europe/Paris", "2035-07-31T18:19:00Z"},
                    DateCase{"NoSuchPlace", "31 Mar 2023 20:19 Mars/Base", "2023-03-31T20:19:00Z"},
                    DateCase{"Path", "31 Mar 2023 20:19 ../../etc/passwd", "2023-03-31T20:19:00Z"}),
    [](const auto& test) { return test.param.name; });

// DESIGN §3.4: placeholders that software writes for a missing or broken date.
INSTANTIATE_TEST_SUITE_P(
    Undated, Dates,
    testing::Values(DateCase{"WordPress", "Wed, 30 Nov -0001 00:00:00 +0000", ""},
                    DateCase{"WordPressIso", "-0001-11-30T00:00:00+00:00", ""},
                    DateCase{"SignedYear", "-0001-11-30", ""}, DateCase{"Go", "Mon, 01 Jan 0001 00:00:00 +0000", ""},
                    DateCase{"GoIso", "0001-01-01T00:00:00Z", ""}, DateCase{"Mysql", "0000-00-00 00:00:00", ""},
                    DateCase{"Excel", "1899-12-30T00:00:00Z", ""},
                    DateCase{"ThreeDigits", "Tue, 14 Jul 202 10:00:00 GMT", ""},
                    DateCase{"FiveDigits", "Tue, 14 Jul 20250 10:00:00 GMT", ""},
                    DateCase{"GoSeconds", "-62135596800", ""}, DateCase{"Windows", "Mon, 01 Jan 1601 00:00:00 GMT", ""},
                    DateCase{"Epoch", "Thu, 01 Jan 1970 00:00:00 +0000", ""},
                    DateCase{"EpochIso", "1970-01-01T00:00:00Z", ""}, DateCase{"EpochDay", "1970-01-01", ""},
                    DateCase{"EpochInBerlin", "1970-01-01T01:00:00+01:00", ""},
                    DateCase{"EpochSeenFromNewYork", "Wed, 31 Dec 1969 19:00:00 GMT", ""},
                    DateCase{"EpochSeenFromTokyo", "Thu, 01 Jan 1970 09:00:00 GMT", ""},
                    DateCase{"EpochSeconds", "000000000", ""}, DateCase{"PersianCalendar", "۲۳ ژوئیه ۱۴۰۴", ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    FarYears, Dates,
    testing::Values(DateCase{"BrokenWeekday", "026, 26 Mar 2023 22:43:38 +0000", "2023-03-26T22:43:38Z"},
                    DateCase{"ThreeDigits", "Thu, 01 Jan 0100 00:00:01 +0100", "0099-12-31T23:00:01Z"},
                    DateCase{"First", "1900-01-01T00:00:00Z", "1900-01-01T00:00:00Z"},
                    DateCase{"BeforeTheFirst", "1899-12-31T23:59:59Z", ""},
                    DateCase{"BeforeTheEpoch", "Sun, 20 Jul 1969 20:17:40 GMT", "1969-07-20T20:17:40Z"},
                    DateCase{"AfterTheEpoch", "Sat, 03 Jan 1970 00:00:00 GMT", "1970-01-03T00:00:00Z"},
                    DateCase{"Future", "2099-12-31T23:59:59Z", "2099-12-31T23:59:59Z"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Weekdays, Dates,
                         testing::Values(DateCase{"American", "Fri, 03/07/2025 - 09:15", "2025-03-07T09:15:00Z"},
                                         DateCase{"DayFirst", "Thu, 03/07/2025 - 09:15", "2025-07-03T09:15:00Z"},
                                         DateCase{"DayFirstInTheAfternoon", "Thu, 03/07/2025 3:15 pm",
                                                  "2025-07-03T15:15:00Z"},
                                         DateCase{"Neither", "Mon, 03/07/2025", "2025-07-03T00:00:00Z"},
                                         DateCase{"TwoDigits", "Friday 03-07-25 09:15", "2025-03-07T09:15:00Z"},
                                         DateCase{"OtherLanguage", "viernes, 07.03.2025", "2025-03-07T00:00:00Z"},
                                         DateCase{"Behind", "03/10/2025 (Mon) 10:20", "2025-03-10T10:20:00Z"},
                                         DateCase{"PolishJuly", "pon., 14 lip 2025", "2025-07-14T00:00:00Z"},
                                         DateCase{"CroatianJune", "sub, 14. lip 2025", "2025-06-14T00:00:00Z"}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Hours, Dates,
    testing::Values(DateCase{"French", "13 mars 2026 12h22", "2026-03-13T12:22:00Z"},
                    DateCase{"FrenchNumeric", "10/03/2026 9h05", "2026-03-10T09:05:00Z"},
                    DateCase{"Seconds", "2026-03-10 9h05m07s", "2026-03-10T09:05:07Z"},
                    DateCase{"Spaces", "mar. 10 mars 2026 9 h 05", "2026-03-10T09:05:00Z"},
                    DateCase{"HourAlone", "10 mars 2026 à 9h", "2026-03-10T09:00:00Z"},
                    DateCase{"Portuguese", "10 de março de 2026 às 9h05min", "2026-03-10T09:05:00Z"},
                    DateCase{"FullStop", "10. marts 2026 kl. 9.05", "2026-03-10T09:05:00Z"},
                    DateCase{"FullStopIso", "2026-03-10 09.05", "2026-03-10T09:05:00Z"},
                    DateCase{"LetterBehindADigit", "Tue, 10 Mar 2026 09:05:00H", "2026-03-10T09:05:00Z"},
                    DateCase{"LetterInIso", "2026-03-10T09:05:00K", "2026-03-10T09:05:00Z"},
                    DateCase{"ShortAfternoon", "03/10/2026 3:45p", "2026-03-10T15:45:00Z"},
                    DateCase{"TwentyFourHours", "10 Mar 2026 15:45 pm", "2026-03-10T15:45:00Z"}),
    [](const auto& test) { return test.param.name; });

// A date for each of the languages that CLDR covers best, written by its patterns.
INSTANTIATE_TEST_SUITE_P(
    Languages, Dates,
    testing::Values(DateCase{"English", "Wednesday, November 5, 2025 at 3:20 PM", "2025-11-05T15:20:00Z"},
                    DateCase{"Mandarin", "2025年11月5日星期三 15:20", "2025-11-05T15:20:00Z"},
                    DateCase{"Hindi", "सोमवार, 14 जुलाई 2025 को 3:20 pm", "2025-07-14T15:20:00Z"},
                    DateCase{"Spanish", "miércoles, 5 de noviembre de 2025, 15:20", "2025-11-05T15:20:00Z"},
                    DateCase{"Arabic", "الخميس، 25 ديسمبر 2025 في 3:20 م", "2025-12-25T15:20:00Z"},
                    DateCase{"Urdu", "اتوار، 21 ستمبر، 2025 3:20 PM", "2025-09-21T15:20:00Z"},
                    DateCase{"French", "mardi 6 mai 2025 à 15:20", "2025-05-06T15:20:00Z"},
                    DateCase{"Bengali", "বুধবার, 5 নভেম্বর, 2025 3:20 PM", "2025-11-05T15:20:00Z"},
                    DateCase{"Portuguese", "quinta-feira, 20 de fevereiro de 2025 15:20", "2025-02-20T15:20:00Z"},
                    DateCase{"Russian", "пятница, 8 августа 2025 г., 15:20", "2025-08-08T15:20:00Z"},
                    DateCase{"Swahili", "Jumatatu, 3 Machi 2025 15:20", "2025-03-03T15:20:00Z"},
                    DateCase{"Indonesian", "Senin, 14 Juli 2025 15.20", "2025-07-14T15:20:00Z"},
                    DateCase{"German", "Donnerstag, 25. Dezember 2025 um 15:20", "2025-12-25T15:20:00Z"},
                    DateCase{"Japanese", "2025年6月9日月曜日 15:20", "2025-06-09T15:20:00Z"},
                    DateCase{"Telugu", "5, నవంబర్ 2025, బుధవారం 3:20 PMకి", "2025-11-05T15:20:00Z"},
                    DateCase{"Marathi", "गुरुवार, 25 डिसेंबर, 2025 रोजी 3:20 PM", "2025-12-25T15:20:00Z"},
                    DateCase{"Javanese", "Jumat, 8 Agustus 2025 15:20", "2025-08-08T15:20:00Z"},
                    DateCase{"Vietnamese", "15:20 Thứ Sáu, 8 tháng 8, 2025", "2025-08-08T15:20:00Z"},
                    DateCase{"Tamil", "புதன், 1 ஜனவரி, 2025 அன்று பிற்பகல் 3:20", "2025-01-01T15:20:00Z"},
                    DateCase{"Persian", "پنجشنبه 25 دسامبر 2025، ساعت 15:20", "2025-12-25T15:20:00Z"},
                    DateCase{"Turkish", "25 Aralık 2025 Perşembe 15:20", "2025-12-25T15:20:00Z"},
                    DateCase{"Italian", "martedì 6 maggio 2025 15:20", "2025-05-06T15:20:00Z"},
                    DateCase{"Filipino", "Martes, Mayo 6, 2025 nang 3:20 PM", "2025-05-06T15:20:00Z"},
                    DateCase{"Gujarati", "ગુરુવાર, 20 ફેબ્રુઆરી, 2025 એ 03:20 PM વાગ્યે", "2025-02-20T15:20:00Z"},
                    DateCase{"Thai", "วันพุธที่ 5 พฤศจิกายน  2025 15:20", "2025-11-05T15:20:00Z"},
                    DateCase{"Kannada", "ಗುರುವಾರ, ಡಿಸೆಂಬರ್ 25, 2025 03:20 ಅಪರಾಹ್ನ", "2025-12-25T15:20:00Z"},
                    DateCase{"Malayalam", "2025, ജനുവരി 1, ബുധനാഴ്‌ച 3:20 PM",
                             "2025-01-01T15:20:00Z"},
                    DateCase{"Polish", "środa, 1 stycznia 2025 15:20", "2025-01-01T15:20:00Z"},
                    DateCase{"Burmese", "2025- ဇွန် 9- တနင်္လာ 15:20", "2025-06-09T15:20:00Z"},
                    DateCase{"Ukrainian", "середа, 5 листопада 2025 р. о 15:20", "2025-11-05T15:20:00Z"},
                    DateCase{"Dutch", "maandag 14 juli 2025 om 15:20", "2025-07-14T15:20:00Z"},
                    DateCase{"Romanian", "sâmbătă, 12 aprilie 2025, 15:20", "2025-04-12T15:20:00Z"},
                    DateCase{"Czech", "pondělí 3. března 2025 15:20", "2025-03-03T15:20:00Z"},
                    DateCase{"Swedish", "torsdag 20 februari 2025 15:20", "2025-02-20T15:20:00Z"},
                    DateCase{"Hungarian", "2025. március 3., hétfő 15:20", "2025-03-03T15:20:00Z"},
                    DateCase{"Greek", "Πέμπτη 25 Δεκεμβρίου 2025 - 3:20 μ.μ.", "2025-12-25T15:20:00Z"},
                    DateCase{"Bulgarian", "събота, 12 април 2025 г., 15:20 ч.", "2025-04-12T15:20:00Z"},
                    DateCase{"Danish", "onsdag den 1. januar 2025 kl. 15.20", "2025-01-01T15:20:00Z"},
                    DateCase{"Finnish", "keskiviikkona 1. tammikuuta 2025 klo 15.20", "2025-01-01T15:20:00Z"},
                    DateCase{"Norwegian", "torsdag 25. desember 2025 kl. 15:20", "2025-12-25T15:20:00Z"},
                    DateCase{"Slovak", "pondelok 14. júla 2025, 15:20", "2025-07-14T15:20:00Z"},
                    DateCase{"Croatian", "ponedjeljak, 3. ožujka 2025. u 15:20", "2025-03-03T15:20:00Z"},
                    DateCase{"Serbian", "понедељак, 14. јул 2025. 15:20", "2025-07-14T15:20:00Z"},
                    DateCase{"Lithuanian", "2025 m. balandžio 12 d., šeštadienis 15:20", "2025-04-12T15:20:00Z"},
                    DateCase{"Latvian", "trešdiena, 2025. gada 1. janvāris 15:20", "2025-01-01T15:20:00Z"},
                    DateCase{"Estonian", "Laupäev, 12. aprill 2025 15:20", "2025-04-12T15:20:00Z"},
                    DateCase{"Slovene", "ponedeljek, 14. julij 2025 15:20", "2025-07-14T15:20:00Z"},
                    DateCase{"Hebrew", "יום שבת, 12 באפריל 2025 בשעה 15:20", "2025-04-12T15:20:00Z"},
                    DateCase{"Catalan", "diumenge, 21 de setembre de 2025, a les 15:20", "2025-09-21T15:20:00Z"},
                    DateCase{"Basque", "2025(e)ko abuztuakren 8(a), ostirala 15:20", "2025-08-08T15:20:00Z"},
                    DateCase{"Galician", "15:20 do luns, 14 de xullo de 2025", "2025-07-14T15:20:00Z"},
                    DateCase{"Irish", "Déardaoin 20 Feabhra 2025 15:20", "2025-02-20T15:20:00Z"},
                    DateCase{"Azerbaijani", "30 oktyabr 2025, cümə axşamı 15:20", "2025-10-30T15:20:00Z"},
                    DateCase{"Georgian", "კვირა, 21 სექტემბერი, 2025, 15:20", "2025-09-21T15:20:00Z"},
                    DateCase{"Armenian", "2025 թ. փետրվարի 20, հինգշաբթի, 15:20", "2025-02-20T15:20:00Z"},
                    DateCase{"Kazakh", "2025 ж. 25 желтоқсан, бейсенбі, 15:20", "2025-12-25T15:20:00Z"},
                    DateCase{"Malay", "Ahad, 21 September 2025 3:20 PTG", "2025-09-21T15:20:00Z"},
                    DateCase{"Nepali", "2025 मार्च 3, सोमबार 15:20", "2025-03-03T15:20:00Z"},
                    DateCase{"Sinhala", "2025 සැප්තැම්බර් 21, ඉරිදා 15.20", "2025-09-21T15:20:00Z"},
                    DateCase{"Khmer", "ពុធ 1 មករា 2025 នៅ​ម៉ោង 3:20 PM",
                             "2025-01-01T15:20:00Z"},
                    DateCase{"Amharic", "2025 ኦገስት 8, ዓርብ 3:20 ከሰዓት", "2025-08-08T15:20:00Z"},
                    DateCase{"Pashto", "څلرنۍ د 2025 د جنوري 1 15:20", "2025-01-01T15:20:00Z"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Words, Dates,
    testing::Values(DateCase{"CzechLong", "14. července 2025 10:20", "2025-07-14T10:20:00Z"},
                    DateCase{"CzechJune", "14. června 2025", "2025-06-14T00:00:00Z"},
                    DateCase{"Dutch", "ma 8 mrt 2024 10:00 +0100", "2024-03-08T09:00:00Z"},
                    DateCase{"Ukrainian", "14 серпня 2025 10:20", "2025-08-14T10:20:00Z"},
                    DateCase{"Chinese", "2025年3月14日 下午3:20", "2025-03-14T15:20:00Z"},
                    DateCase{"ChineseWeekday", "2025年3月14日 星期五 10:20:30", "2025-03-14T10:20:30Z"},
                    DateCase{"ChineseMonth", "十一月 14, 2025", "2025-11-14T00:00:00Z"},
                    DateCase{"ChineseNight", "2025年3月14日 凌晨12:20", "2025-03-14T00:20:00Z"},
                    DateCase{"Japanese", "2025年3月14日（金）午後3時20分", "2025-03-14T15:20:00Z"},
                    DateCase{"KoreanHours", "2025년 7월 14일 오후 3시 20분", "2025-07-14T06:20:00Z"},
                    DateCase{"RomanianShort", "14 Ian 2025", "2025-01-14T00:00:00Z"},
                    DateCase{"RomanianHour", "4 iunie 2025 ore 10:00", "2025-06-04T10:00:00Z"},
                    DateCase{"Indonesian", "14 Agustus 2025 pukul 10.20", "2025-08-14T10:20:00Z"},
                    DateCase{"ThaiYear", "14 ก.ค. 2568 10:20 น.", "2025-07-14T10:20:00Z"},
                    DateCase{"ArabicDigits", "١٤ يوليو ٢٠٢٥ ١٠:٢٠ ص", "2025-07-14T10:20:00Z"},
                    DateCase{"LevantineMonth", "14 تموز 2025", "2025-07-14T00:00:00Z"},
                    DateCase{"HindiDigits", "२०२५-०७-१४ १०:२०", "2025-07-14T10:20:00Z"},
                    DateCase{"FullWidth", "２０２５年７月１４日　１０：２０", "2025-07-14T10:20:00Z"},
                    DateCase{"Capitals", "LUNDI 14 AOÛT 2023", "2023-08-14T00:00:00Z"},
                    DateCase{"CyrillicCapitals", "14 ИЮЛЯ 2025", "2025-07-14T00:00:00Z"},
                    DateCase{"Marks",
                             "Mon,\xC2\xA0"
                             "14 Jul\xE2\x80\xAF"
                             "2025 10:20",
                             "2025-07-14T10:20:00Z"},
                    DateCase{"FirstOfTheMonth", "1er juillet 2025", "2025-07-01T00:00:00Z"},
                    DateCase{"OrdinalMark", "1º de julio de 2025", "2025-07-01T00:00:00Z"},
                    DateCase{"Hyphens", "14-Jul-25 10:20", "2025-07-14T10:20:00Z"},
                    DateCase{"At", "July 14, 2025 at 3:20 PM", "2025-07-14T15:20:00Z"}),
    [](const auto& test) { return test.param.name; });

TEST(UnknownZones, AreDistinguishedFromKnownAndMissingOnes) {
  for (const char* text : {"Mon, 14 Jul 2025 10:20:30 XYZ", "2025-07-14 10:20:30 XYZT", "14 Jul 2025 10:20 Mars/Base",
                           "2025-07-14T10:20:30K", "2025-07-14T10:20:30[Mars/Base]"}) {
    EXPECT_TRUE(has_unknown_zone(text)) << text;
  }
  for (const char* text : {"Mon, 14 Jul 2025 10:20:30 GMT", "Mon, 14 Jul 2025 10:20:30 IRST", "2025-07-14T10:20:30Z",
                           "14 Jul 2025 10:20 Europe/Paris", "14 juillet 2025 10h", "14.07.2025 10:20 Uhr", "yesterday",
                           "", "Mon Jul 14 2025 10:20:30 GMT+0200 (Somewhere)", "14 Jul 2025", "2025-07-14 10:20 PM"}) {
    EXPECT_FALSE(has_unknown_zone(text)) << text;
  }
}

TEST(Moments, MayBeTheEpoch) {
  EXPECT_EQ(iso8601(parse_moment("1970-01-01T00:00+00:00")), "1970-01-01T00:00:00Z");
}

struct DurationCase {
  const char* name;
  const char* text;
  double seconds;  // negative: must be rejected
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
