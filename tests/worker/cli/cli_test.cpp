#include "worker/cli/cli.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "storage/records/event_record.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill::cli_test {
namespace {

using Words = std::vector<std::string>;

const std::vector<VerbGroup>& verbs() {
  static const std::vector<VerbGroup> groups = verb_groups();
  return groups;
}

boost::system::result<CommandLine, NoCommand> read(const Words& words) {
  return read_command_line(words, verbs());
}

CommandLine line(const Words& words) {
  auto found = read(words);
  EXPECT_TRUE(found.has_value()) << (found.has_error() ? found.error().text : "");
  return found.has_value() ? *found : CommandLine{};
}

OperationValues given(const Words& words) {
  return line(words).given;
}

TEST(CommandLine, ReadsTheValuesOfAVerb) {
  EXPECT_TRUE(given({"run", "--once"}).truth("once"));
  EXPECT_FALSE(given({"run"}).truth("once"));
  EXPECT_EQ(line({"run"}).verb.name, "run");

  const auto add =
      given({"add", "http://a.example/", "--now", "http://b.example/", "--keep", "7", "--interval-min", "90min"});
  EXPECT_EQ(add.texts("URL"), (Words{"http://a.example/", "http://b.example/"}));
  EXPECT_TRUE(add.truth("now"));
  EXPECT_EQ(add.text("keep") + add.text("interval-min"), "790min");

  const auto list = given({"list", "--state", "failing", "--host", "a.example", "--due"});
  EXPECT_EQ(list.text("state") + list.text("host"), "failinga.example");
  EXPECT_EQ(given({"import", "-"}).text("FILE"), "-");

  const auto entries = given({"entries", "http://a.example/", "--limit", "5", "--before", "1763689990:Entry:17"});
  EXPECT_EQ(entries.number("limit", 20), 5);
  EXPECT_EQ(entries.place("before")->score, 1763689990);
  EXPECT_EQ(entries.place("before")->id, "Entry:17");
  EXPECT_EQ(given({"entry", "Entry:17"}).text("ID"), "Entry:17");

  const auto put = given({"entry", "put", "--feed", "http://a.example/", "--guid", "g", "title=a=b", "summary="});
  EXPECT_EQ(put.text("feed") + put.text("guid"), "http://a.example/g");
  EXPECT_EQ(put.texts("NAME=VALUE"), (Words{"title=a=b", "summary="}));
  const auto gone = given({"entry", "remove", "Entry:17", "--yes", "Entry:18", "--dry-run"});
  EXPECT_EQ(gone.texts("ID"), (Words{"Entry:17", "Entry:18"}));
  EXPECT_TRUE(gone.truth("yes") && gone.truth("dry-run"));

  const auto expire = given({"expire", "http://a.example/", "--age", "90d", "--bytes", "1MiB"});
  EXPECT_EQ(expire.duration("age", {}), std::chrono::days(90));
  EXPECT_EQ(expire.bytes("bytes"), 1U << 20U);
  EXPECT_EQ(given({"tail", "--type", "post_created", "--type", "feed_gone"}).texts("type"),
            (Words{"post_created", "feed_gone"}));
  EXPECT_EQ(given({"top", "--interval", "5s"}).duration("interval", {}), std::chrono::seconds(5));
  EXPECT_EQ(given({"set", "http://a.example/", "keep=5", "keep=6", "keep=5"}).texts("NAME=VALUE").size(), 3U);
  for (const Words& words : {Words{"version"}, {"--version"}, {"-V"}, {"list", "--version"}})
    EXPECT_EQ(line(words).verb.name, "version");
  EXPECT_EQ(given({"help", "channel", "add"}).texts("VERB"), (Words{"channel", "add"}));

  EXPECT_EQ(given({"list", "--state", "never read"}).text("state"), "never_read");
  const auto listed = given({"list", "--limit", "5", "--columns", "url,state,next", "--header"});
  EXPECT_EQ(listed.number("limit", 0), 5);
  EXPECT_EQ(chosen_columns(listed).names, (Words{"url", "state", "next"}));
  EXPECT_TRUE(chosen_columns(listed).header);
  EXPECT_EQ(chosen_columns(given({"topic", "list", "--columns", "url"})).names, Words{"url"});
}

TEST(CommandLine, OpensTheStoreForReadingUnlessAVerbChangesIt) {
  const auto use = [](const Words& words) {
    const CommandLine read = line(words);
    return read.verb.use(read.given);
  };
  EXPECT_EQ(use({"add", "http://a.example/"}), StoreUse::change);
  EXPECT_EQ(use({"add", "http://a.example/", "--dry-run"}), StoreUse::read);
  EXPECT_EQ(use({"channel", "feeds", "news"}), StoreUse::read);
  EXPECT_EQ(use({"channel", "feeds", "news", "--remove", "http://a.example/"}), StoreUse::change);
  EXPECT_EQ(use({"notify", "rules", "anna"}), StoreUse::read);
  EXPECT_EQ(use({"notify", "rules", "anna", "--words", "w"}), StoreUse::change);
  EXPECT_EQ(use({"verify", "--repair"}), StoreUse::inspect);
  EXPECT_EQ(use({"webhook", "list"}), StoreUse::read);
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

TEST(CommandLine, DistinguishesTheKeepFlagOfFeedsFromTheOption) {
  EXPECT_FALSE(line({"add", "http://a.example/", "--keep", "7"}).flags.contains("retention.entries"));
  EXPECT_EQ(line({"run", "--keep", "7"}).flags.at("retention.entries"), "7");
}

struct WrongCase {
  const char* name;
  Words words;
  std::string text;
};
const std::string types = fmt::format("{}", fmt::join(outside_event_types, " "));
class WrongCommandLines : public testing::TestWithParam<WrongCase> {};
TEST_P(WrongCommandLines, ReportTheFault) {
  const auto found = read(GetParam().words);
  ASSERT_TRUE(found.has_error());
  EXPECT_EQ(found.error().exit, 64);
  EXPECT_EQ(found.error().text, GetParam().text);
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
        WrongCase{"NoFile", {"import"}, "import: FILE is missing (see feedmill import -h)"},
        WrongCase{"UnknownState",
                  {"list", "--state", "faling"},
                  "list: --state: \"faling\" is not one of new never_read healthy degraded failing blocked gone "
                  "quarantined paused, did you mean failing? (see feedmill list -h)"},
        WrongCase{"UnknownColumn",
                  {"list", "--columns", "url,titel"},
                  "list: --columns: \"titel\" is not one of state entries next last title url, did you mean title? "
                  "(see feedmill list -h)"},
        WrongCase{"NoColumn", {"list", "--columns", "url,,state"}, "list: --columns is empty (see feedmill list -h)"},
        WrongCase{"UnknownType",
                  {"webhook", "add", "http://a.example/", "--type", "post_creatd"},
                  "webhook add: --type: \"post_creatd\" is not one of " + types +
                      ", did you mean post_created? (see feedmill webhook add -h)"},
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
            "channel read: ID: expected an entry id such as Entry:17 or 17, not foo (see feedmill channel read -h)"},
        WrongCase{"UnreadNoEntry",
                  {"channel", "unread", "news", "Entry:"},
                  "channel unread: ID: expected an entry id such as Entry:17 or 17, not Entry: (see feedmill channel "
                  "unread -h)"},
        WrongCase{"ExpireNothing", {"expire"}, "expire: URL is missing (see feedmill expire -h)"},
        WrongCase{"ExpireAge",
                  {"expire", "http://a.example/", "--age", "90"},
                  "expire: --age: expected a duration of at most 36500d, such as 24h (see feedmill expire -h)"},
        WrongCase{"NoPage", {"discover"}, "discover: URL is missing (see feedmill discover -h)"},
        WrongCase{"TooManyDays",
                  {"plan", "--days", "366"},
                  "plan: --days: \"366\" is not a number from 1 to 365 (see feedmill plan -h)"},
        WrongCase{"NearVerb", {"docter"}, "unknown verb \"docter\", did you mean doctor? (see feedmill -h)"},
        WrongCase{"UnusedFlag",
                  {"list", "--lanes", "7"},
                  "list: --lanes has no effect here; it sets worker.lanes of a worker: feedmill run --lanes (see "
                  "feedmill list -h)"},
        WrongCase{"UnusedFlagThatMeansAnother",
                  {"--keep", "2", "expire", "http://a.example/", "--yes"},
                  "expire: --keep has no effect here; to delete all but the N newest entries, use --limit N; to keep N "
                  "from now on, use feedmill set URL keep=N (see feedmill expire -h)"},
        WrongCase{"QuietAndVerbose", {"list", "-q", "-v"}, "-q and -v exclude each other"}),
    [](const auto& test) { return test.param.name; });

TEST(CommandLine, VerbsThatFetchTakeOptionsOfTheWorker) {
  for (const char* const verb : {"run", "refresh", "trace", "plan", "doctor", "config"}) {
    Words words{verb, "--lanes", "7"};
    if (words[0] == "trace" || words[0] == "refresh") words.emplace_back("http://a.example/");
    if (words[0] == "config") words.emplace_back("show");
    EXPECT_EQ(line(words).flags.at("worker.lanes"), "7") << verb;
  }
}

TEST(CommandLine, RejectsNamesThatCannotBeWritten) {
  const std::string url = "http://a.example/";
  for (const Words& words : {Words{"channel", "add", "\xff"},
                             {"channel", "add", ""},
                             {"channel", "add", " "},
                             {"channel", "add", "good", "/a"},
                             {"channel", "add", "a/"},
                             {"channel", "add", "anna/news", url},
                             {"channel", "feeds", "\xff", "--add", url},
                             {"add", url, "--channel", "c2\xff"},
                             {"add", url, "--channel", "/"},
                             {"add", url, "--channel", url},
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
    const auto found = read(words);
    ASSERT_TRUE(found.has_error()) << words[0] << " " << words[1] << " " << words.back();
    const std::string& text = found.error().text;
    EXPECT_EQ(found.error().exit, 64);
    EXPECT_TRUE(text.find("invalid ") != std::string::npos || text.find(" is empty") != std::string::npos) << text;
    EXPECT_EQ(text.find('\xff'), std::string::npos);
  }
  EXPECT_EQ(given({"import", "-", "--user", "anna"}).text("user"), "anna");
}

TEST(CommandLine, ReadsAndRemovesChannelsOfAnyName) {
  for (const char* const name : {"\xff", "/", "/a", "a/", " "}) {
    EXPECT_EQ(given({"channel", "remove", name, "--yes"}).texts("CHANNEL"), Words{name});
    EXPECT_EQ(given({"channel", "unread-count", name}).texts("CHANNEL"), Words{name});
    EXPECT_EQ(given({"channel", "order", name}).texts("CHANNEL"), Words{name});
    for (const Words& words : {Words{"channel", "timeline", name},
                               {"channel", "read", name, "--all"},
                               {"channel", "unread", name, "17"},
                               {"channel", "feeds", name, "--remove", "http://a.example/"}})
      EXPECT_EQ(given(words).text("CHANNEL"), name);
    EXPECT_EQ(given({"topic", "remove", "--channel", name}).text("channel"), name);
    EXPECT_EQ(given({"export", "--user", name}).text("user"), name);
    EXPECT_EQ(given({"notify", "rules", name, "--remove", "1"}).text("USER"), name);
    EXPECT_EQ(given({"notify", "delete", name, "--all"}).text("USER"), name);
  }
}

TEST(CommandLine, AloneIsHelpAndAMistake) {
  const auto found = read({});
  ASSERT_TRUE(found.has_error());
  EXPECT_EQ(found.error().exit, 64);
  EXPECT_TRUE(found.error().help);
  EXPECT_NE(found.error().text.find("import"), std::string::npos);
}

TEST(CommandLine, HasHelpWithAnExampleForEachVerb) {
  for (const char* const name : {"run",     "add",    "remove", "move",     "set",     "pause",  "resume", "list",
                                 "show",    "import", "export", "refresh",  "entries", "entry",  "tail",   "parse",
                                 "explain", "plan",   "check",  "discover", "doctor",  "health", "expire"}) {
    const auto found = read({name, "-h"});
    ASSERT_TRUE(found.has_error()) << name;
    EXPECT_EQ(found.error().exit, 0) << name;
    EXPECT_NE(found.error().text.find("Example:\n  feedmill " + std::string(name)), std::string::npos)
        << found.error().text;
  }
  EXPECT_NE(read({"config", "show", "-h"}).error().text.find("feedmill config show"), std::string::npos);
  for (const char* const name : {"put", "remove"}) {
    const std::string help = read({"entry", name, "-h"}).error().text;
    EXPECT_NE(help.find(std::string("feedmill entry ") + name), std::string::npos) << help;
  }
  EXPECT_EQ(read({"-h"}).error().exit, 0);
}

TEST(CommandLine, HelpShowsVerbsByGroupAndBracketsRoundWhatMayBeLeftOut) {
  const auto help = [](const Words& words) { return read(words).error().text; };
  EXPECT_NE(help({"-h"}).find("\nFeeds:\n  add  "), std::string::npos);
  EXPECT_NE(help({"-h"}).find("\n\nOperation:\n  doctor  "), std::string::npos);
  EXPECT_NE(help({"move", "-h"}).find("feedmill move [OPTIONS] URL [NEW]\n"), std::string::npos);
  EXPECT_NE(help({"set", "-h"}).find("feedmill set [OPTIONS] URL NAME=VALUE...\n"), std::string::npos);
  EXPECT_NE(help({"webhook", "add", "-h"}).find("may be repeated: post_created, "), std::string::npos);
  EXPECT_NE(help({"entry", "-h"}).find("feedmill entry [OPTIONS] [ID] [VERB]\n"), std::string::npos);
}

}  // namespace
}  // namespace feedmill::cli_test
