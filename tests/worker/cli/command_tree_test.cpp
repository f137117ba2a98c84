// Completions and the manual are generated from the tree of verbs (OPERATIONS §1).
#include "worker/cli/command_tree.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/temporary_directory.hpp"
#include "worker/cli/cli.hpp"
#include "worker/config/config.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill::command_tree_test {
namespace {

namespace fs = std::filesystem;

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

/// Output of a shell command, with stderr.
std::string output_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char part[4096];
  for (std::size_t size; (size = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, size);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << text;
  return text;
}

class CommandTree : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(home / name) << text;
    return (home / name).string();
  }

  test::TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  CommandNode tree = command_tree(verb_groups());
};

TEST_F(CommandTree, HoldsVerbsArgumentsAndFlags) {
  EXPECT_EQ(tree.name, "feedmill");
  std::set<std::string> verbs;
  for (const CommandNode& verb : tree.verbs) verbs.insert(verb.name);
  for (const char* const name : {"add", "run", "channel", "config", "completion", "man"})
    EXPECT_TRUE(verbs.contains(name));
  const auto found =
      std::find_if(tree.verbs.begin(), tree.verbs.end(), [](const auto& verb) { return verb.name == "list"; });
  ASSERT_NE(found, tree.verbs.end());
  const auto flag_of = [&](const std::string& name) {
    return std::find_if(found->flags.begin(), found->flags.end(),
                        [&](const CommandFlag& flag) { return flag.names.back() == name; });
  };
  ASSERT_NE(flag_of("--state"), found->flags.end());
  EXPECT_EQ(flag_of("--state")->value, "STATE");
  ASSERT_NE(flag_of("--due"), found->flags.end());
  EXPECT_EQ(flag_of("--due")->value, "");
}

/// Calls `look` with the words and the node of each verb, starting with the program itself.
void each(const CommandNode& node, const std::string& path,
          const std::function<void(const std::string&, const CommandNode&)>& look) {
  look(path, node);
  for (const CommandNode& verb : node.verbs) each(verb, path.empty() ? verb.name : path + " " + verb.name, look);
}

TEST_F(CommandTree, EveryVerbAndFlagIsInAllTexts) {
  const std::string bash = completion_script(tree, "bash"), zsh = completion_script(tree, "zsh");
  const std::string fish = completion_script(tree, "fish"), manual = manual_page(tree);
  const std::string page = reference_page(tree);
  each(tree, "", [&](const std::string& path, const CommandNode& node) {
    EXPECT_NE(bash.find("'" + path + "')"), std::string::npos) << path;
    EXPECT_NE(zsh.find("'" + path + "')"), std::string::npos) << path;
    const bool group = !node.verbs.empty() && !path.empty();
    EXPECT_TRUE(!group || fish.find("__feedmill_at \"" + path + "\"") != std::string::npos) << path;
    std::string heading = ".SS \"" + path;
    for (std::size_t at = 0; (at = heading.find('-', at)) != std::string::npos; at += 2) heading.insert(at, "\\");
    EXPECT_TRUE(!node.verbs.empty() || manual.find(heading) != std::string::npos) << path;
    EXPECT_TRUE(node.example.empty() || path.empty() || page.find("\n### " + path + "\n") != std::string::npos) << path;
    for (const CommandFlag& flag : node.flags) {
      for (const std::string& name : flag.names) {
        EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << path << " " << name;
        EXPECT_NE(bash.find(name), std::string::npos) << path << " " << name;
        EXPECT_NE(zsh.find("'" + name + ":"), std::string::npos) << path << " " << name;
        const std::string in_fish = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        EXPECT_NE(fish.find(in_fish + " "), std::string::npos) << path << " " << name;
        std::string in_manual = name;
        for (std::size_t at = 0; (at = in_manual.find('-', at)) != std::string::npos; at += 2)
          in_manual.insert(at, "\\");
        EXPECT_NE(manual.find("\\fB" + in_manual + "\\fR"), std::string::npos) << path << " " << name;
      }
    }
  });
  for (const Option& option : option_table()) {
    EXPECT_NE(manual.find("\\fB" + std::string(option.key) + "\\fR"), std::string::npos) << option.key;
  }
}

class Shells : public CommandTree, public testing::WithParamInterface<const char*> {};

TEST_P(Shells, ReadTheirScript) {
  const std::string shell = GetParam();
  if (!is_installed(shell)) GTEST_SKIP() << shell << " is not installed";
  output_of(shell + " -n " + write("script", completion_script(tree, shell)));
}
INSTANTIATE_TEST_SUITE_P(All, Shells, testing::Values("bash", "zsh", "fish"),
                         [](const auto& test) { return test.param; });

/// Completions that bash offers for the last of `words`.
std::string offered(const std::string& script, const std::string& words) {
  return output_of("bash -c 'source " + script + "; COMP_WORDS=(" + words +
                   "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _feedmill; printf \"%s \" \"${COMPREPLY[@]}\"'");
}

TEST_F(CommandTree, BashCompletesWhatFits) {
  const std::string script = write("bash", completion_script(tree, "bash"));
  EXPECT_EQ(offered(script, "feedmill exp"), "export expire explain ");
  EXPECT_EQ(offered(script, "feedmill --json channel un"), "unread unread-count ");
  EXPECT_EQ(offered(script, "feedmill list --st"), "--state ");
  EXPECT_EQ(offered(script, "feedmill list --state n"), "new never_read ");
  EXPECT_EQ(offered(script, "feedmill tail --type feed_g"), "feed_gone feed_gap ");
  EXPECT_EQ(offered(script, "feedmill set https://a.example/ interval_m"), "interval_min= interval_max= ");
  EXPECT_EQ(offered(script, "feedmill completion z"), "zsh ");
  EXPECT_EQ(offered(script, "feedmill help exp"), "export expire explain ");
  EXPECT_EQ(offered(script, "feedmill entries --columns ti"), "time title ");
  EXPECT_EQ(offered(script, "feedmill --color a"), "auto always ");
  const std::string listing = "feedmill() { printf \"%s\\n\" \"anna/the news\" x; }; ";
  EXPECT_EQ(
      output_of("bash -c '" + listing + "source " + script +
                "; COMP_WORDS=(feedmill channel add a); COMP_CWORD=3; _feedmill; printf \"%s|\" \"${COMPREPLY[@]}\"'"),
      "anna/the\\ news|");
  EXPECT_EQ(offered(script, "feedmill --config run config s"), "show ");  // "run" is the value of --config
  EXPECT_EQ(offered(script, "feedmill channel add --us"), " ");           // --user belongs to channel list
}

TEST_F(CommandTree, FishCompletesWhatFits) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string script = write("fish", completion_script(tree, "fish"));
  const auto complete = [&](const std::string& line) {
    return output_of("fish --no-config -c 'source " + script + "; complete -C \"" + line +
                     "\"' | cut -f 1 | sort | tr '\\n' ' '");
  };
  EXPECT_EQ(complete("feedmill exp"), "expire explain export ");
  EXPECT_EQ(complete("feedmill channel unread-"), "unread-count ");
  EXPECT_EQ(complete("feedmill list --sta"), "--state ");  // fish 4 also offers subsequence matches
  EXPECT_EQ(complete("feedmill list --state ne"), "never_read new ");
  EXPECT_EQ(complete("feedmill set https://a.example/ interval_mi"), "interval_min= ");
}

TEST_F(CommandTree, TheManualPageIsClean) {
  if (!is_installed("mandoc")) GTEST_SKIP() << "mandoc is not installed";
  EXPECT_EQ(output_of("mandoc -Tlint -Wwarning " + write("feedmill.1", manual_page(tree))), "");
}

}  // namespace
}  // namespace feedmill::command_tree_test
