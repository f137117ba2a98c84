#include "worker/command_line/cli.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::cli_test {
namespace {

using Words = std::vector<std::string>;

CommandLine line(const Words& words) {
  auto read = read_command_line(words);
  EXPECT_TRUE(read.has_value()) << (read.has_error() ? read.error().text : "");
  return read.has_value() ? *read : CommandLine{};
}

template <class Kind>
Kind verb(const Words& words) {
  const CommandLine read = line(words);
  const Kind* const found = std::get_if<Kind>(&read.verb);
  EXPECT_NE(found, nullptr) << "another verb";
  return found == nullptr ? Kind{} : *found;
}

TEST(CommandLine, ReadsEachVerb) {
  EXPECT_TRUE(verb<RunVerb>({"run", "--once"}).once);
  EXPECT_FALSE(verb<RunVerb>({"run"}).once);

  const auto add = verb<AddVerb>(
      {"add", "http://a.example/", "--now", "http://b.example/", "--keep", "7", "--interval-min", "90min"});
  EXPECT_EQ(add.urls, (Words{"http://a.example/", "http://b.example/"}));
  EXPECT_TRUE(add.now);
  EXPECT_EQ(add.settings.keep, 7U);
  EXPECT_EQ(add.settings.interval_min, 5400U);

  const auto remove = verb<RemoveVerb>({"remove", "--yes", "http://a.example/", "--dry-run"});
  EXPECT_TRUE(remove.yes && remove.dry_run);

  const auto list = verb<ListVerb>({"list", "--state", "failing", "--host", "a.example", "--due"});
  EXPECT_EQ(list.state + list.host, "failinga.example");
  EXPECT_TRUE(list.due);

  EXPECT_EQ(verb<ShowVerb>({"show", "http://a.example/"}).url, "http://a.example/");
  EXPECT_EQ(verb<ImportVerb>({"import", "-"}).file, "-");
  EXPECT_TRUE(verb<ImportVerb>({"import", "f.opml", "--dry-run"}).dry_run);
  verb<ExportVerb>({"export"});

  const auto refresh = verb<RefreshVerb>({"refresh", "--all", "--defer", "--ignore-floor"});
  EXPECT_TRUE(refresh.all && refresh.defer && refresh.ignore_floor);

  const auto entries =
      verb<EntriesVerb>({"entries", "http://a.example/", "--limit", "5", "--before", "1763689990:Entry:17"});
  EXPECT_EQ(entries.limit, 5U);
  EXPECT_EQ(entries.before->score, 1763689990);
  EXPECT_EQ(entries.before->id, "Entry:17");

  EXPECT_EQ(verb<EntryVerb>({"entry", "Entry:17"}).id, "Entry:17");
  EXPECT_EQ(verb<EntryVerb>({"entry", "--feed", "http://a.example/", "--guid", "g"}).guid, "g");

  const auto put = verb<EntryPutVerb>(
      {"entry", "put", "--feed", "http://a.example/", "--guid", "g", "title=a=b", "summary=", "--replace"});
  EXPECT_EQ(put.feed + put.guid, "http://a.example/g");
  EXPECT_EQ(put.fields, (Fields{{"title", "a=b"}, {"summary", ""}}));
  EXPECT_TRUE(put.replace);
  EXPECT_EQ(verb<EntryPutVerb>({"entry", "put", "--file", "-"}).file, "-");
  const auto gone = verb<EntryRemoveVerb>({"entry", "remove", "Entry:17", "--yes", "Entry:18", "--dry-run"});
  EXPECT_EQ(gone.ids, (Words{"Entry:17", "Entry:18"}));
  EXPECT_TRUE(gone.yes && gone.dry_run);
  EXPECT_EQ(verb<ExpireVerb>({"expire", "http://a.example/"}).expiry.limit, 50U);
  const auto expire = verb<ExpireVerb>({"expire", "http://a.example/", "--age", "90d", "--bytes", "1MiB", "--yes"});
  EXPECT_FALSE(expire.expiry.limit);
  EXPECT_EQ(expire.expiry.age, std::chrono::hours(90 * 24));
  EXPECT_EQ(expire.expiry.bytes, 1U << 20U);

  const auto tail = verb<TailVerb>({"tail", "--from", "17-3", "--type", "post_created", "--type", "feed_gone"});
  EXPECT_EQ(tail.from, "17-3");
  EXPECT_EQ(tail.types, (Words{"post_created", "feed_gone"}));
  EXPECT_EQ(verb<TailVerb>({"tail"}).from, "$");

  const auto parse =
      verb<ParseVerb>({"parse", "--url", "http://a.example/", "--header", "Content-Language: de ", "--header", "X:y",
                       "feed.xml", "--content-type", "text/xml", "--html-policy", "classic"});
  EXPECT_EQ(parse.file, "feed.xml");
  EXPECT_EQ(parse.headers, (std::vector<std::pair<std::string, std::string>>{{"Content-Language", "de"}, {"X", "y"}}));
  EXPECT_EQ(parse.html(), HtmlPolicy::classic);
  EXPECT_EQ(verb<ParseVerb>({"parse", "--raw-html", "-"}).html(), HtmlPolicy::raw);
  EXPECT_TRUE(verb<ParseVerb>({"parse", "--pipe"}).pipe);

  EXPECT_TRUE(verb<AddVerb>({"add", "http://a.example/", "--first"}).first);
  EXPECT_EQ(verb<ExplainVerb>({"explain", "http://a.example/"}).url, "http://a.example/");
  EXPECT_EQ(verb<CheckVerb>({"check", "http://a.example/"}).url, "http://a.example/");
  EXPECT_EQ(verb<DiscoverVerb>({"discover", "http://a.example/"}).url, "http://a.example/");
  const auto plan = verb<PlanVerb>({"plan", "--days", "7", "--host", "a.example", "--feeds", "100"});
  EXPECT_EQ(plan.days, 7U);
  EXPECT_EQ(plan.host + plan.feeds, "a.example100");
  EXPECT_EQ(verb<PlanVerb>({"plan"}).days, 1U);
  verb<DoctorVerb>({"doctor"});
  EXPECT_TRUE(verb<HealthVerb>({"health", "--ready"}).ready);
  EXPECT_EQ(verb<WhereVerb>({"where", "Entry:5"}).what, "Entry:5");
  EXPECT_TRUE(verb<TopVerb>({"top", "--once"}).once);
  EXPECT_FALSE(verb<TopVerb>({"top"}).interval);
  EXPECT_EQ(verb<TopVerb>({"top", "--interval", "5s"}).interval, std::chrono::seconds(5));

  const auto verify = verb<VerifyVerb>({"verify", "--feed", "http://a.example/", "--repair", "--journal", "j"});
  EXPECT_TRUE(verify.repair);
  EXPECT_EQ(verify.feeds, Words{"http://a.example/"});
  EXPECT_EQ(verify.journal, "j");
  const auto exported = verb<StoreExportVerb>({"store", "export", "f", "--feed", "http://a.example/"});
  EXPECT_EQ(exported.file, "f");
  EXPECT_EQ(exported.feeds, Words{"http://a.example/"});
  EXPECT_EQ(verb<StoreExportVerb>({"store", "export"}).file, "-");
  const auto brought = verb<StoreImportVerb>({"store", "import", "f", "--dry-run", "--replace", "--yes"});
  EXPECT_TRUE(brought.dry_run && brought.replace && brought.yes);

  EXPECT_TRUE(verb<ConfigShowVerb>({"config", "show", "--origin", "--changed"}).origin);
  verb<VersionVerb>({"--version"});
}

TEST(CommandLine, AcceptsGeneralFlagsBeforeAndAfterTheVerb) {
  for (const Words& words : {Words{"--json", "--config", "f.toml", "--redis", "unix:/r", "list"},
                             Words{"list", "--json", "--config=f.toml", "--redis=unix:/r"}}) {
    const CommandLine read = line(words);
    EXPECT_TRUE(read.terminal.json);
    EXPECT_EQ(read.config_file, "f.toml");
    EXPECT_EQ(read.flags.at("redis.url"), "unix:/r");
  }
  EXPECT_EQ(line({"list", "-q"}).flags.at("log.level"), "error");
  EXPECT_EQ(line({"list", "-v"}).flags.at("log.level"), "debug");
  EXPECT_EQ(line({"list", "--color", "never"}).terminal.color, ColorMode::never);
}

TEST(CommandLine, TellsTheFeedsKeepFromTheConfigurations) {
  EXPECT_FALSE(line({"add", "http://a.example/", "--keep", "7"}).flags.contains("retention.entries"));
  EXPECT_EQ(line({"run", "--keep", "7"}).flags.at("retention.entries"), "7");
}

struct WrongCase {
  const char* name;
  Words words;
  const char* text;
};
class WrongCommandLines : public testing::TestWithParam<WrongCase> {};
TEST_P(WrongCommandLines, ReportTheFault) {
  const auto read = read_command_line(GetParam().words);
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().exit, 64);
  EXPECT_EQ(read.error().text, GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(
    All, WrongCommandLines,
    testing::Values(
        WrongCase{"UnknownVerb", {"lst"}, "unknown verb \"lst\", did you mean list? (see feedmill -h)"},
        WrongCase{
            "UnknownFlag", {"list", "--jsn"}, "list: unknown flag --jsn, did you mean --json? (see feedmill list -h)"},
        WrongCase{"UnknownFlagOfVerb",
                  {"list", "--stat=x"},
                  "list: unknown flag --stat, did you mean --state? (see feedmill list -h)"},
        WrongCase{"UnknownSubverb",
                  {"config", "shw"},
                  "config: unknown verb \"shw\", did you mean show? (see feedmill config -h)"},
        WrongCase{
            "TooMany", {"show", "http://a.example/", "b"}, "show: unexpected argument \"b\" (see feedmill show -h)"},
        WrongCase{"NoUrl", {"add"}, "add: URL is missing (see feedmill add -h)"},
        WrongCase{"NoFile", {"import"}, "import: FILE is missing (- for stdin) (see feedmill import -h)"},
        WrongCase{"UnknownState",
                  {"list", "--state", "faling"},
                  "list: --state: \"faling\" is not one of new never_read healthy degraded failing blocked gone "
                  "quarantined paused, did you mean failing? (see feedmill list -h)"},
        WrongCase{"BadNumber",
                  {"entries", "http://a.example/", "--limit", "many"},
                  "entries: --limit: \"many\" is not a number from 1 to 1000000 (see feedmill entries -h)"},
        WrongCase{
            "BadCursor",
            {"entries", "http://a.example/", "--before", "Entry:17"},
            "entries: --before: \"Entry:17\" is not a SCORE:ID such as 1763689990:Entry:17 (see feedmill entries -h)"},
        WrongCase{
            "BadStreamId",
            {"tail", "--from", "yesterday"},
            "tail: --from: \"yesterday\" is not a stream id such as 1763690000000-3, 0 or $ (see feedmill tail -h)"},
        WrongCase{"BadHeader",
                  {"parse", "--header", "x", "f"},
                  "parse: --header: \"x\" is not a \"Name: value\" (see feedmill parse -h)"},
        WrongCase{"RefreshNothing", {"refresh"}, "refresh: URL is missing (or --all) (see feedmill refresh -h)"},
        WrongCase{"RefreshBoth",
                  {"refresh", "--all", "http://a.example/"},
                  "refresh: URL and --all exclude each other (see feedmill refresh -h)"},
        WrongCase{"EntryHalf",
                  {"entry", "--guid", "g"},
                  "entry: --feed and --guid must be given together (see feedmill entry -h)"},
        WrongCase{"EntryNothing", {"entry"}, "entry: ID is missing (or --feed and --guid) (see feedmill entry -h)"},
        WrongCase{"PutNothing",
                  {"entry", "put", "--feed", "http://a.example/", "--guid", "g"},
                  "entry put: nothing to store: give NAME=VALUE (or --file) (see feedmill entry put -h)"},
        WrongCase{"PutNowhere",
                  {"entry", "put", "title=x"},
                  "entry put: --feed and --guid are missing (or --file) (see feedmill entry put -h)"},
        WrongCase{"PutUnknown",
                  {"entry", "put", "--feed", "http://a.example/", "--guid", "g", "titel=x"},
                  "entry put: unknown field \"titel\", did you mean title? (see feedmill entry put -h)"},
        WrongCase{"RemoveNoEntry", {"entry", "remove"}, "entry remove: ID is missing (see feedmill entry remove -h)"},
        WrongCase{
            "ReadNoEntry",
            {"channel", "read", "news", "17", "foo"},
            "channel read: expected an entry id such as Entry:17 or 17, not \"foo\" (see feedmill channel read -h)"},
        WrongCase{"UnreadNoEntry",
                  {"channel", "unread", "news", "Entry:"},
                  "channel unread: expected an entry id such as Entry:17 or 17, not \"Entry:\" (see feedmill channel "
                  "unread -h)"},
        WrongCase{"ExpireNothing", {"expire"}, "expire: URL is missing (see feedmill expire -h)"},
        WrongCase{"ExpireAge",
                  {"expire", "http://a.example/", "--age", "90"},
                  "expire: --age: write a duration with its unit: 24h 30d (see feedmill expire -h)"},
        WrongCase{"NoPage", {"discover"}, "discover: URL is missing (see feedmill discover -h)"},
        WrongCase{"TooManyDays",
                  {"plan", "--days", "366"},
                  "plan: --days: \"366\" is not a number from 1 to 365 (see feedmill plan -h)"},
        WrongCase{"NearVerb", {"docter"}, "unknown verb \"docter\", did you mean doctor? (see feedmill -h)"},
        WrongCase{"QuietAndVerbose", {"list", "-q", "-v"}, "-q and -v exclude each other"}),
    [](const auto& test) { return test.param.name; });

TEST(CommandLine, RejectsNamesThatCannotBeWritten) {
  const std::string url = "http://a.example/";
  for (const Words& words : {Words{"channel", "add", "\xff"},
                             {"channel", "add", ""},
                             {"channel", "add", " "},
                             {"channel", "add", "good", "/a"},
                             {"channel", "add", "a/"},
                             {"channel", "feeds", "\xff", "--add", url},
                             {"add", url, "--channel", "c2\xff"},
                             {"add", url, "--channel", "/"},
                             {"add", url, "--channel", ""},
                             {"topic", "add", "--channel", "\xff"},
                             {"notify", "rules", "\xff", "--words", "w"},
                             {"notify", "rules", "anna", "--channel", "\xff"},
                             {"import", "-", "--user", ""},
                             {"import", "-", "--user", "\xff"},
                             {"import", "-", "--user", "a\nb"},
                             {"import", "-", "--user", "a/b"},
                             {"export", "--user", ""},
                             {"channel", "list", "--user", ""},
                             {"channel", "unread-count", "--user", ""}}) {
    const auto read = read_command_line(words);
    ASSERT_TRUE(read.has_error()) << words[0] << " " << words[1] << " " << words.back();
    EXPECT_EQ(read.error().exit, 64);
    EXPECT_NE(read.error().text.find("invalid "), std::string::npos) << read.error().text;
    EXPECT_EQ(read.error().text.find('\xff'), std::string::npos);
  }
  EXPECT_EQ(verb<ImportVerb>({"import", "-", "--user", "anna"}).user, "anna");
}

TEST(CommandLine, ReadsAndRemovesChannelsOfAnyName) {
  for (const char* const name : {"\xff", "/", "/a", "a/", " "}) {
    EXPECT_EQ(verb<ChannelRemoveVerb>({"channel", "remove", name, "--yes"}).channels, Words{name});
    EXPECT_EQ(verb<ChannelTimelineVerb>({"channel", "timeline", name}).channel, name);
    EXPECT_EQ(verb<ChannelReadVerb>({"channel", "read", name, "--all"}).channel, name);
    EXPECT_EQ(verb<ChannelUnreadVerb>({"channel", "unread", name, "17"}).channel, name);
    EXPECT_EQ(verb<ChannelUnreadCountVerb>({"channel", "unread-count", name}).channels, Words{name});
    EXPECT_EQ(verb<ChannelOrderVerb>({"channel", "order", name}).channels, Words{name});
    EXPECT_EQ(verb<ChannelFeedsVerb>({"channel", "feeds", name, "--remove", "http://a.example/"}).channel, name);
    EXPECT_EQ(std::get<OperationVerb>(line({"topic", "remove", "--channel", name}).verb).given.text("channel"), name);
    EXPECT_EQ(verb<ExportVerb>({"export", "--user", name}).user, name);
    EXPECT_EQ(verb<NotifyRulesVerb>({"notify", "rules", name, "--remove", "1"}).user, name);
    EXPECT_EQ(verb<NotifyDeleteVerb>({"notify", "delete", name, "--all"}).user, name);
  }
}

TEST(CommandLine, AloneIsHelpAndAMistake) {
  const auto read = read_command_line({});
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().exit, 64);
  EXPECT_TRUE(read.error().help);
  EXPECT_NE(read.error().text.find("import"), std::string::npos);
}

TEST(CommandLine, HasHelpWithAnExampleForEachVerb) {
  for (const char* const name : {"run",     "add",    "remove", "move",     "set",     "pause",  "resume", "list",
                                 "show",    "import", "export", "refresh",  "entries", "entry",  "tail",   "parse",
                                 "explain", "plan",   "check",  "discover", "doctor",  "health", "expire"}) {
    const auto read = read_command_line({name, "-h"});
    ASSERT_TRUE(read.has_error()) << name;
    EXPECT_EQ(read.error().exit, 0) << name;
    EXPECT_NE(read.error().text.find("Example:\n  feedmill " + std::string(name)), std::string::npos)
        << read.error().text;
  }
  EXPECT_NE(read_command_line({"config", "show", "-h"}).error().text.find("feedmill config show"), std::string::npos);
  for (const char* const name : {"put", "remove"}) {
    const std::string help = read_command_line({"entry", name, "-h"}).error().text;
    EXPECT_NE(help.find(std::string("feedmill entry ") + name), std::string::npos) << help;
  }
  EXPECT_EQ(read_command_line({"-h"}).error().exit, 0);
}

TEST(CommandLine, HelpShowsVerbsByGroupAndBracketsRoundWhatMayBeLeftOut) {
  const auto help = [](const Words& words) { return read_command_line(words).error().text; };
  EXPECT_NE(help({"-h"}).find("\nFeeds:\n  add  "), std::string::npos);
  EXPECT_NE(help({"-h"}).find("\n\nOperation:\n  doctor  "), std::string::npos);
  EXPECT_NE(help({"move", "-h"}).find("feedmill move [OPTIONS] URL [NEW]\n"), std::string::npos);
  EXPECT_NE(help({"set", "-h"}).find("feedmill set [OPTIONS] URL NAME=VALUE...\n"), std::string::npos);
  EXPECT_NE(help({"entry", "-h"}).find("feedmill entry [OPTIONS] [ID] [VERB]\n"), std::string::npos);
}

}  // namespace
}  // namespace feedmill::cli_test
