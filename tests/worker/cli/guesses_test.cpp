// Words and flags that people know from other programs: each leads to the right verb or flag, and none runs.
#include "worker/cli/guesses.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "worker/cli/cli.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill::guesses_test {
namespace {

using Words = std::vector<std::string>;

const std::vector<VerbGroup>& verbs() {
  static const std::vector<VerbGroup> groups = verb_groups();
  return groups;
}

const CommandNode& tree() {
  static const CommandNode whole = command_tree(verbs());
  return whole;
}

Words split(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// The error for a command line without its closing "(see feedmill … -h)"; "" if it is right.
std::string error_of(const std::string& line) {
  const auto found = read_command_line(split(line), verbs());
  if (found.has_value()) return {};
  EXPECT_EQ(found.error().exit, 64) << line;
  return found.error().text.substr(0, found.error().text.find(" (see "));
}

const CommandNode* node_of(const std::string& path) {
  const CommandNode* node = &tree();
  for (const std::string& word : split(path)) {
    const auto next = std::ranges::find(node->verbs, word, &CommandNode::name);
    if (next == node->verbs.end()) return nullptr;
    node = &*next;
  }
  return node;
}

/// Whether a text recommends a verb that removes things after asking.
bool recommends_removal(const std::string& text) {
  for (const VerbGroup& group : verbs()) {
    for (const VerbRow& verb : group.verbs) {
      const CommandNode* const node = node_of(std::string(verb.name));
      const bool asks = std::ranges::any_of(node->flags, [](const auto& flag) { return flag.names.back() == "--yes"; });
      const std::string name = "feedmill " + std::string(verb.name);
      const std::size_t at = text.find(name);
      const bool whole = at != std::string::npos && !std::isalpha(static_cast<unsigned char>(text[at + name.size()]));
      if (asks && whole) return true;
    }
  }
  return false;
}

struct Guess {
  const char* line;
  const char* leads_to;  ///< in the answer: a verb or a flag; "" = the line is right
};

// Of the first two groups, 6 led to the right name and 7 to a wrong one before they were answered.
constexpr Guess guesses[] = {
    // From users and from Miniflux, kubectl, systemctl and docker (first contact, §4)
    {"help", ""},
    {"help add", ""},
    {"version", ""},
    {"-V", ""},
    {"ls", "feedmill list"},
    {"feeds", "feedmill list"},
    {"posts", "feedmill entries"},
    {"items", "feedmill entries"},
    {"info https://a.example/f", "feedmill show"},
    {"search rust", "feedmill discover"},
    {"users", "feedmill channel list"},
    {"status", "feedmill stats"},
    {"start", "feedmill run"},
    {"restore store.jsonl", "feedmill store import"},
    {"test https://a.example/f", "feedmill check"},
    {"serve", "feedmill run"},
    {"run --daemon", "feedmill run"},
    {"logs", "feedmill tail"},
    {"events", "feedmill tail"},
    {"watch", "feedmill top"},
    {"validate", "feedmill config check"},
    {"config get redis.url", "feedmill config show"},
    {"config init", "feedmill config show"},
    {"rm https://a.example/f", "feedmill remove"},
    {"delete https://a.example/f", "feedmill remove"},
    {"get https://a.example/f", "feedmill show"},
    {"fetch https://a.example/f", "feedmill refresh"},
    {"update https://a.example/f", "feedmill refresh"},
    {"subscribe https://a.example/f --user anna", "feedmill add"},
    {"webhooks", "feedmill webhook list"},
    {"channels", "feedmill channel list"},
    {"channel create anna/news", "feedmill channel add"},
    {"import --opml f.opml", "feedmill import FILE"},
    {"export -o f.opml", "feedmill export >"},
    {"run -c f.toml", "--config"},
    {"run --port 8080", "--listen"},
    {"--redis-url redis://h list", "--redis URL"},
    {"list --limit 5", ""},
    {"list --format json", "--json"},
    {"tail -f", "feedmill tail"},
    {"add https://a.example/f --user anna", "--channel"},
    {"add https://a.example/f --title X", "--channel"},
    {"add https://a.example/f --name X", "--title"},
    {"add https://a.example/f --tag x", "--channel"},
    {"add https://a.example/f --category x", "--channel"},
    {"set https://a.example/f interval=10m", "interval_min"},
    {"set https://a.example/f title=X", "keep"},
    {"hook add https://a.example/h", "feedmill webhook add"},
    // From habits with brew, npm, git, redis-cli, docker and kubectl
    {"unsubscribe https://a.example/f",
     "use feedmill channel feeds CHANNEL --remove URL; to remove it for all users, use feedmill remove "},
    {"unfollow https://a.example/f",
     "use feedmill channel feeds CHANNEL --remove URL; to remove it for all users, use feedmill remove "},
    {"channel unfollow a/b https://a.example/f", "channel feeds CHANNEL --remove URL"},
    {"channel subscribe a/b https://a.example/f", "channel feeds CHANNEL --add URL"},
    {"rename https://a.example/f Foo", "feedmill move URL NEW"},
    {"run --host 0.0.0.0", "--listen"},
    {"ps", "feedmill stats"},
    {"stop", "feedmill pause"},
    {"restart", "feedmill run"},
    {"reload", "SIGHUP"},
    {"create https://a.example/f", "feedmill add"},
    {"install https://a.example/f", "feedmill add"},
    {"uninstall https://a.example/f", "feedmill remove"},
    {"inspect https://a.example/f", "feedmill show"},
    {"describe https://a.example/f", "feedmill show"},
    {"edit https://a.example/f", "feedmill set"},
    {"enable https://a.example/f", "feedmill resume"},
    {"disable https://a.example/f", "feedmill pause"},
    {"poll https://a.example/f", "feedmill refresh"},
    {"monitor", "feedmill tail"},
    {"ping", "feedmill health"},
    {"healthcheck", "feedmill health"},
    {"backup", "feedmill store export"},
    {"dump", "feedmill store export"},
    {"config set redis.url x", "feedmill config show"},
    {"config list", "feedmill config show"},
    {"config view", "feedmill config show"},
    {"feed add https://a.example/f", "feedmill add"},
    {"feed list", "feedmill list"},
    {"feed remove https://a.example/f", "feedmill remove"},
    {"list feeds", "feedmill list"},
    {"get feeds", "feedmill list"},
    {"delete webhook wh_x", "feedmill webhook remove"},
    {"entries list https://a.example/f", "feedmill entries URL"},
    {"list -o json", "--json"},
    {"list --output json", "--json"},
    {"list -n 5", "--limit"},
    {"list --all", "all feeds"},
    {"remove -f https://a.example/f", "--yes"},
    {"remove --force https://a.example/f", "--yes"},
    {"remove -y https://a.example/f", "--yes"},
    {"refresh --force https://a.example/f", "--ignore-floor"},
    {"refresh -a", "--all"},
    {"run -d", "feedmill run"},
    {"run --workers 4", "--threads"},
    {"help channel add", ""},
    // Further ones
    {"create channel anna/news", "feedmill channel add"},
    {"add channel anna/news", "feedmill channel add"},
    {"remove channel anna/news", "feedmill channel remove"},
    {"list channels", "feedmill channel list"},
    {"list posts", "feedmill entries"},
    {"show webhook wh_1", "feedmill webhook show"},
    {"webhook create https://a.example/h", "feedmill webhook add"},
    {"webhook rm wh_1", "feedmill webhook remove"},
    {"webhook enable wh_1", "feedmill webhook resume"},
    {"webhook help", "feedmill help"},
    {"notify remove anna 1", "feedmill notify delete"},
    {"topic create https://a.example/f", "feedmill topic add"},
    {"share https://a.example/f", "feedmill topic add"},
    {"entry delete 17", "feedmill entry remove"},
    {"config validate", "feedmill config check"},
    {"store backup", "feedmill store export"},
    {"mark-read 17", "feedmill channel read"},
    {"unread", "feedmill channel unread-count"},
    {"folders", "feedmill channel list"},
    {"refresh all", "use --all"},
    {"add https://a.example/f --interval 5m", "--interval-min"},
    {"add https://a.example/f -n", "--dry-run"},
    {"entries https://a.example/f --count 5", "--limit"},
    {"import f.opml --category x", "--user"},
    {"run --schedule-floor 5m", "FEEDMILL_SCHEDULE_FLOOR"},
    {"run --log.format json", "FEEDMILL_LOG_FORMAT"},
    {"tail --since 1h", "--from"},
    {"read https://a.example/f", "use feedmill entries URL"},
    {"read Entry:17", "feedmill channel read"},
    {"purge https://a.example/f", "use feedmill expire URL"},
    {"reset", "feedmill refresh URL"},
    {"clear", "feedmill notices --clear"},
    {"failed", "feedmill list --state failing"},
    {"queue", "feedmill list --due"},
    {"download https://a.example/f", "feedmill refresh"},
    {"sanitise", "feedmill verify --resanitise"},
    {"undo", "feedmill move URL --undo"},
    {"apply", "SIGHUP"},
    {"upgrade", "feedmill store import"},
    {"search lamp", "--words WORDS"},
    {"subscribe https://a.example/f --user anna", "--channel USER/NAME"},
    {"set https://a.example/f interval=10m", "did you mean interval_min?"},
    {"set https://a.example/f title=X", "--title TEXT"},
    {"redis-cli", "redis.url"},
    {"metrics", "/metrics"},
    {"gc", "use feedmill expire URL"},
    {"tail -n 5", "--from ID"},
    {"move https://a.example/f anna/news", "channel feeds CHANNEL --add URL"},
    // Arguments of another kind
    {"list anna/news", "feedmill channel feeds CHANNEL"},
    {"list anna", "channel list --user USER"},
    {"list healthy", "--state STATE"},
    {"tail https://a.example/f", "--json"},
    {"stats https://a.example/f", "feedmill show URL"},
    {"verify https://a.example/f", "use --feed URL"},
    {"export anna", "use --user USER"},
    {"notices anna", "feedmill notify list USER"},
    {"notify anna", "feedmill notify list USER"},
    {"show Entry:1", "feedmill entry ID"},
    {"entries Entry:1", "feedmill entry ID"},
    {"show anna/news", "feedmill channel -h"},
    {"entries anna/news", "feedmill channel timeline"},
    {"remove anna/news", "feedmill channel -h"},
    {"move anna/news anna/old", "feedmill channel"},
    {"entry https://a.example/f", "feedmill entries URL"},
    {"add m.opml", "feedmill import FILE"},
    {"import https://a.example/m.opml", "| feedmill import -"},
    {"topic add anna/news", "use --channel CHANNEL"},
    {"channel feeds anna/news https://a.example/f", "use --add URL or --remove URL"},
    {"set schedule.floor=5m", "URL must precede NAME=VALUE"},
    {"config path", "--origin"},
    // Flags
    {"webhook add https://a.example/h --secret x", "feedmill webhook rotate"},
    {"pause --all", "--no-ingest"},
    {"expire https://a.example/f --older-than 3d", "use --age DURATION"},
    {"expire https://a.example/f --days 3", "use --age DURATION"},
    {"expire --all", "retention.age"},
    {"refresh --now", "--ignore-floor"},
    {"export --channel x", "use --user USER"},
    {"entries https://a.example/f --last 3", "use --limit N"},
    {"entries https://a.example/f --since 1h", "use --limit N"},
    {"tail --feed https://a.example/f", "--json"},
    {"list --search x", "grep"},
    {"list --unread", "feedmill channel unread-count"},
    {"add --file x", "feedmill import FILE"},
    {"add --force https://a.example/f", "feedmill import -"},
    {"run --no-push", "--push-out"},
    {"verify --all", "--feed URL"},
    {"verify --dry-run", "--repair"},
    {"doctor --fix", "feedmill verify --repair"},
    {"HELP", "feedmill help"},
    // Channels, webhooks, topics, tokens, feeds and entries
    {"channel rename a/b a/c", "feedmill channel add NEW"},
    {"rename channel a/b a/c", "feedmill channel add NEW"},
    {"channel merge a/b a/c", "feedmill channel feeds NEW --add URL"},
    {"channel edit a/b", "feedmill channel feeds CHANNEL"},
    {"channel clear a/b", "feedmill channel read"},
    {"channel title a/b X", "feedmill add URL --channel CHANNEL --title"},
    {"channel users a/b", "feedmill channel list --user USER"},
    {"channel share a/b", "feedmill topic add --channel"},
    {"channel refresh a/b", "feedmill refresh URL..."},
    {"channel watch a/b", "feedmill notify rules USER --channel"},
    {"webhook disable wh_1", "feedmill webhook remove ID"},
    {"webhook pause wh_1", "feedmill webhook remove ID"},
    {"pause webhook wh_1", "feedmill webhook remove ID"},
    {"webhook enable wh_1", "feedmill webhook resume"},
    {"webhook retry wh_1", "feedmill webhook resume"},
    {"webhook deliveries wh_1", "feedmill webhook show"},
    {"webhook logs wh_1", "feedmill webhook show"},
    {"webhook filter wh_1", "feedmill webhook set"},
    {"webhook rename wh_1 x", "feedmill webhook set"},
    {"topic rename a/b", "feedmill topic add"},
    {"topic edit a/b", "feedmill topic add"},
    {"topic show a/b", "feedmill topic list"},
    {"topic url a/b", "feedmill topic list"},
    {"topic revoke a/b", "feedmill topic remove"},
    {"topic pause a/b", "feedmill topic remove"},
    {"topic rotate a/b", "feedmill topic remove"},
    {"topic subscriptions a/b", "feedmill topic subscribers"},
    {"token", "feedmill config show"},
    {"tokens", "feedmill config show"},
    {"token create app", "[api.token."},
    {"create token app", "[api.token."},
    {"token revoke app", "[api.token."},
    {"list tokens", "feedmill config show"},
    {"api-key add app", "FEEDMILL_API_TOKEN_NAME"},
    {"feed rename https://a.example/f X", "feedmill add URL --channel CHANNEL --title TEXT"},
    {"feed title https://a.example/f X", "feedmill add URL --channel CHANNEL --title TEXT"},
    {"feed url https://a.example/f https://a.example/g", "feedmill move"},
    {"feed settings https://a.example/f", "feedmill set"},
    {"feed disable https://a.example/f", "feedmill pause"},
    {"feed stop https://a.example/f", "feedmill pause"},
    {"feed history https://a.example/f", "feedmill entries"},
    {"entry show 17", "feedmill entry ID"},
    {"entry get 17", "feedmill entry ID"},
    {"entry list https://a.example/f", "feedmill entries URL"},
    {"entry search x", "feedmill entries URL"},
    {"entry read 17", "feedmill channel read CHANNEL ID"},
    {"mark entry 17", "feedmill channel read CHANNEL ID"},
    {"entry text 17", "feedmill entry ID --text"},
    {"lst", "list?"},
    {"docter", "doctor?"},
    {"explian https://a.example/f", "explain?"},
    {"remov https://a.example/f", "remove?"},
    {"list --jsn", "--json?"},
    {"list --hots a.example", "--host?"},
    // Words after one dash, as Miniflux has them, and words of redis-cli
    {"-healthcheck auto", "feedmill health"},
    {"-create-feed https://a.example/f", "feedmill add"},
    {"-create-admin", "feedmill channel list"},
    {"-config-dump", "feedmill config show"},
    {"-refresh-feeds", "feedmill refresh"},
    {"-export-user-feeds", "feedmill export"},
    {"-migrate", "feedmill store import"},
    {"-info", "feedmill stats"},
    {"-v", "-V"},
    {"refresh-feeds", "feedmill refresh"},
    {"import-opml f.opml", "feedmill import"},
    {"export-opml", "feedmill export"},
    {"save", "feedmill store export"},
    {"label", "feedmill channel"},
    {"grep hello", "--words WORDS"},
    {"star 17", "read marks only"},
    {"get posts", "feedmill entries"},
    {"whoami", "feedmill channel list"},
};

TEST(Guesses, LeadToTheRightVerbOrFlag) {
  for (const Guess& guess : guesses) {
    const std::string text = error_of(guess.line), right = guess.leads_to;
    EXPECT_NE(text.find(right), std::string::npos) << guess.line << ": " << text;
    EXPECT_EQ(right.empty(), text.empty()) << guess.line << ": " << text;
    EXPECT_TRUE(!recommends_removal(text) || recommends_removal(right + " ")) << guess.line << ": " << text;
  }
}

TEST(Guesses, AreNotMistakenForUnrelatedVerbs) {
  for (const char* const line : {"rn", "ru", "sed", "let", "rem", "res", "cancel", "remove --all", "remove --allways",
                                 "list --al", "foo", "x", "push"}) {
    const std::string text = error_of(line), verb = split(line).front();
    const std::string begin = verb == "remove" || verb == "list" ? verb + ": unknown flag " + split(line)[1]
                                                                 : "unknown verb \"" + verb + "\"";
    EXPECT_EQ(text, begin);
  }
  EXPECT_EQ(error_of("webhook reload wh_1"),
            "webhook: unknown verb \"reload\"; verbs: add list show set rotate resume remove test");
}

TEST(Guesses, AreOutsideWords) {
  EXPECT_EQ(error_of("\x1b[31m"), "unknown verb \"\\x1B[31m\"");
  EXPECT_EQ(error_of("--\x1b[31m"), "unknown flag --\\x1B[31m");
  EXPECT_EQ(error_of(std::string(1 << 20, 'l')).size(), (1U << 20U) + 15);
}

TEST(Guesses, DoNotTakeValuesForVerbs) {
  EXPECT_EQ(error_of("--config rm list"), "");
  EXPECT_EQ(error_of("import store"), "");
  EXPECT_EQ(error_of("list --host feeds"), "");
  EXPECT_EQ(error_of("help rm"), "");  // read again as: rm -h
  EXPECT_NE(error_of("rm -h").find("feedmill remove"), std::string::npos);
}

/// Every word of `text`, and that it occurs once.
Words words_once(std::string_view text, const std::string& of) {
  Words words = split(std::string(text));
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size()) << of << ": " << text;
  return words;
}

TEST(Guesses, BelongToVerbsAndFlagsThatExist) {
  for (const VerbGuesses& row : verb_guesses) {
    const std::string path(row.verb);
    EXPECT_NE(node_of(path), nullptr) << path;
    const std::size_t space = path.rfind(' ');
    const CommandNode* const group = space == std::string::npos ? &tree() : node_of(path.substr(0, space));
    for (const std::string& word : words_once(row.words, path)) {
      const bool is_verb = std::ranges::find(group->verbs, word, &CommandNode::name) != group->verbs.end();
      EXPECT_TRUE(!is_verb || word == "entries") << path << ": " << word;  // "list entries" needs it
    }
    for (const std::string& word : words_once(row.anywhere, path)) EXPECT_EQ(node_of(word), nullptr) << word;
  }
  std::set<std::string> known;
  const auto add = [&](const CommandNode& node) {
    for (const CommandFlag& flag : node.flags) known.insert(flag.names.back());
    for (const CommandArgument& argument : node.arguments) known.insert(argument.name);
  };
  add(tree());
  for (const VerbGroup& group : verbs()) {
    for (const VerbRow& verb : group.verbs) add(*node_of(std::string(verb.name)));
  }
  for (const FlagGuesses& row : flag_guesses) {
    EXPECT_TRUE(known.contains(std::string(row.name))) << row.name;
    for (const std::string& word : words_once(row.flags, std::string(row.name))) EXPECT_NE(word, row.name);
  }
  for (const AnsweredGuesses& row : answered_guesses) EXPECT_NE(node_of(std::string(row.verb)), nullptr) << row.verb;
}

}  // namespace
}  // namespace feedmill::guesses_test
