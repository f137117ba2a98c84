#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/text/strings.hpp"
#include "storage/records/stored_entry.hpp"
#include "worker/base/terminal.hpp"
#include "worker/cli/command_tree.hpp"
#include "worker/cli/guesses.hpp"
#include "worker/config/config.hpp"

namespace feedmill {
namespace {

constexpr std::size_t longest_word = 40;  // of a typing error
constexpr std::size_t most_answers = 4, most_words = 4;

using VerbPlaces = std::vector<VerbPlace>;

const CommandNode* verb_named(const CommandNode& group, std::string_view name) {
  const auto found = std::ranges::find(group.verbs, name, &CommandNode::name);
  return found == group.verbs.end() ? nullptr : &*found;
}

VerbPlace place_of(const CommandNode& tree, std::string_view path) {
  VerbPlace place{"", &tree};
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(' '), path.size());
    place = place.below(*verb_named(*place.node, path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return place;
}

VerbGuesses guesses_for(std::string_view path) {
  const auto* const row = std::ranges::find(verb_guesses, path, &VerbGuesses::verb);
  return row == std::end(verb_guesses) ? VerbGuesses{} : *row;
}

std::string_view answer_to(std::string_view path, std::string_view word) {
  const auto* const row = std::ranges::find_if(
      answered_guesses, [&](const AnsweredGuesses& one) { return one.verb == path && is_word_of(word, one.words); });
  return row == std::end(answered_guesses) ? std::string_view() : row->answer;
}

bool is_called(const VerbPlace& place, std::string_view word) {
  return place.node->name == word || is_word_of(word, guesses_for(place.path).words);
}

/// Whether both words mean one verb of the program, as "rm" and "delete" do.
bool are_synonyms(const CommandNode& tree, std::string_view a, std::string_view b) {
  return std::ranges::any_of(tree.verbs, [&](const CommandNode& verb) {
    const VerbPlace place = VerbPlace{"", &tree}.below(verb);
    return is_called(place, a) && is_called(place, b);
  });
}

/// The verbs of `group` that `word` may mean. What a word means for the program it also means below a heading.
VerbPlaces meant_in(const CommandNode& tree, const VerbPlace& group, std::string_view word) {
  VerbPlaces found;
  for (const CommandNode& verb : group.node->verbs) {
    const VerbPlace place = group.below(verb);
    if (is_called(place, word) || (!group.path.empty() && are_synonyms(tree, word, verb.name))) found.push_back(place);
  }
  return found;
}

bool is_heading(const VerbPlace& place) {
  return !place.node->verbs.empty();
}

/// The verbs that `word` may mean without a heading.
VerbPlaces meant(const CommandNode& tree, std::string_view word) {
  VerbPlaces found, by_name;
  for (const CommandNode& verb : tree.verbs) {
    const VerbPlace place = VerbPlace{"", &tree}.below(verb);
    if (is_called(place, word) && (!is_heading(place) || !verb.arguments.empty())) found.push_back(place);
    const CommandNode* const list = verb_named(verb, "list");
    for (const CommandNode& lower : verb.verbs) {
      const VerbPlace its = place.below(lower);
      // A heading alone is its list, or any of its verbs.
      const bool by_heading = is_called(place, word) && verb.arguments.empty() && (list == nullptr || list == &lower);
      if (by_heading || is_word_of(word, guesses_for(its.path).anywhere)) found.push_back(its);
      if (lower.name == word) by_name.push_back(its);
    }
  }
  return found.empty() ? by_name : found;
}

/// The verbs meant by a word for an action and a word for its object: "delete webhook".
VerbPlaces meant_by(const CommandNode& tree, std::string_view action, std::string_view object) {
  bool is_object = false;
  for (const CommandNode& verb : tree.verbs) {
    const VerbPlace place = VerbPlace{"", &tree}.below(verb);
    if (!is_heading(place) || !is_called(place, object)) continue;
    is_object = true;
    if (VerbPlaces found = meant_in(tree, place, action); !found.empty()) return found;
  }
  if (is_object) return meant(tree, object);
  return is_word_of(object, guesses_for("").words) ? meant(tree, action) : VerbPlaces();
}

/// The answer to a word for an action and a word for its object, a heading: "rename channel"; "" if there is none.
std::string_view answer_below(const CommandNode& tree, std::string_view action, std::string_view object) {
  for (const CommandNode& verb : tree.verbs) {
    const VerbPlace place = VerbPlace{"", &tree}.below(verb);
    const bool is_meant = is_heading(place) && is_called(place, object);
    if (const std::string_view answer = is_meant ? answer_to(place.path, action) : ""; !answer.empty()) return answer;
  }
  return {};
}

std::string usage_of(const VerbPlace& place) {
  std::string text = "feedmill " + place.path;
  for (const CommandArgument& argument : place.node->arguments) text += " " + argument.usage();
  return text;
}

/// "to remove feeds, use feedmill remove URL...; to …".
std::string recommended(const VerbPlaces& places) {
  std::vector<std::string> texts;
  for (const VerbPlace& place : places) {
    if (texts.size() == most_answers) break;
    std::string purpose = place.node->about.substr(0, place.node->about.find_first_of(":;("));
    purpose.front() = to_lower(purpose.front());
    purpose.resize(purpose.find_last_not_of(' ') + 1);
    texts.push_back(fmt::format("to {}, use {}", purpose, usage_of(place)));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

struct KnownName {
  std::string name;
  bool changes = false;  ///< changes stored data
};

/// ", did you mean list?" if a name differs from `word` by a typing error, or two in a long word; "" otherwise. The
/// first letter is never wrong. A name that changes something loses against one that does not, and is not suggested for
/// very short words. `dashes` precede the name.
std::string did_you_mean(std::string_view word, const std::vector<KnownName>& names, std::string_view dashes = "") {
  if (word.size() < 3 || word.size() > longest_word) return {};
  const KnownName* nearest = nullptr;
  std::size_t least = word.size() < 7 ? 2 : 3;
  for (const KnownName& one : names) {
    if (one.name.front() != word.front() || (one.changes && word.size() < 4)) continue;
    std::size_t errors = typing_errors(word, one.name);
    if (one.name.starts_with(word) && (dashes.empty() || one.name[word.size()] == '-')) errors = 1;
    const bool is_tie = errors == least && nearest != nullptr && nearest->changes && !one.changes;
    if (errors >= least && !is_tie) continue;
    least = errors;
    nearest = &one;
  }
  return nearest == nullptr ? std::string() : fmt::format(", did you mean {}{}?", dashes, nearest->name);
}

/// Words that are neither flags nor their values, up to the first unknown flag; at most `most_words`.
std::vector<std::string> words_of(const CommandNode& tree, std::span<const std::string> arguments) {
  std::vector<std::string> words;
  const CommandNode* verb = &tree;
  for (std::size_t i = 0; i < arguments.size() && words.size() < most_words; ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument.front() != '-') {
      words.push_back(argument);
      const CommandNode* const next = verb_named(*verb, argument);
      if (next != nullptr) verb = next;
      continue;
    }
    const std::string name = argument.substr(0, argument.find('='));
    const auto is_it = [&](const CommandFlag& flag) { return std::ranges::find(flag.names, name) != flag.names.end(); };
    const CommandFlag* flag = nullptr;
    for (const CommandNode* const node : {&tree, verb}) {
      if (const auto found = std::ranges::find_if(node->flags, is_it); found != node->flags.end()) flag = &*found;
    }
    if (flag == nullptr) break;  // the next word may be its value
    if (!flag->value.empty() && name == argument) ++i;
  }
  return words;
}

/// What a word looks like, by the name of an argument; "WORD" = anything else.
std::string_view shape_of(std::string_view word) {
  if (word.find("://") != word.npos) return "URL";
  if (is_entry_id(word) && word.find(':') != word.npos) return "ID";
  if (word.find('=') != word.npos) return "NAME=VALUE";
  if (word.ends_with(".opml")) return "FILE";
  const std::size_t slash = word.find('/');
  const bool is_channel = slash != word.npos && slash > 0 && word.find('.') > slash;
  return is_channel ? "CHANNEL" : "WORD";
}

/// The error for the verb's `index`th argument if it looks like another kind of value than the one expected.
std::string misfit(const VerbPlace& place, std::size_t index, const std::string& argument) {
  const auto& arguments = place.node->arguments;
  const bool is_many = !arguments.empty() && arguments.back().many;
  const bool is_extra = index >= arguments.size() && !is_many;
  std::string_view expected;
  if (!is_extra) expected = arguments[std::min(index, arguments.size() - 1)].name;
  const std::string_view shape = shape_of(argument);
  const std::string key = argument.substr(0, argument.find('=') + 1);
  const std::string& shown = shape == "NAME=VALUE" ? key : argument;  // the value may be a secret
  const std::string start = fmt::format("{}: unexpected argument \"{}\"", place.path, visible(shown));
  const bool wants_url = expected == "URL" || expected == "NEW";
  const bool is_wrong = is_extra || (wants_url && shape != "URL" && shape != "WORD") ||
                        (shape == "URL" && (expected == "ID" || expected == "FILE"));
  const auto flags_that = [&](const auto& take_it) {
    std::vector<std::string> right;
    for (const CommandFlag& flag : place.node->flags) {
      if (take_it(flag)) right.push_back(flag.names.back() + " " + flag.value);
    }
    return right.empty() ? std::string() : fmt::format("{}: use {}", start, fmt::join(right, " or "));
  };
  if (is_extra) {
    const auto names_it = [&](const CommandFlag& flag) {
      return std::ranges::find(flag.values.words, argument) != flag.values.words.end();
    };
    if (std::string text = flags_that(names_it); !text.empty()) return text;
  }
  const std::string_view own = answer_to(place.path, is_wrong ? shape : std::string_view(key));
  if (!own.empty()) return fmt::format("{}: {}", start, own);
  if (!is_wrong || expected == "FILE") return {};
  const auto takes_it = [&](const CommandFlag& flag) { return flag.value == (shape == "WORD" ? "USER" : shape); };
  if (std::string text = flags_that(takes_it); !text.empty()) return text;
  const std::string_view answer = answer_to("", shape);
  return answer.empty() ? std::string() : fmt::format("{}: {}", start, answer);
}

/// What the lower-case words `word` and `next` mean for `group`, "use feedmill …"; "" if nothing is known of them.
std::string known_meaning(const CommandNode& tree, const VerbPlace& group, const std::string& word,
                          const std::string& next) {
  std::string_view answer;
  if (group.path.empty()) answer = answer_below(tree, word, next);
  if (group.path.empty() && answer.empty()) answer = answer_below(tree, next, word);
  if (answer.empty()) answer = answer_to(group.path, word);
  if (!answer.empty()) return std::string(answer);
  VerbPlaces found;
  if (group.path.empty()) {
    found = meant_by(tree, word, next);
    if (found.empty()) found = meant_by(tree, next, word);
    if (found.empty()) answer = answer_to("", next);
    if (!answer.empty()) return std::string(answer);
    if (found.empty()) found = meant(tree, word);
    const auto takes_no_url = [](const VerbPlace& one) {
      return one.node->arguments.empty() || one.node->arguments.front().name != "URL";
    };
    if (next.find("://") != std::string::npos && !std::ranges::all_of(found, takes_no_url))
      std::erase_if(found, takes_no_url);
  } else {
    found = meant_in(tree, group, word);
    if (found.empty() && verb_named(tree, word) != nullptr && !verb_named(tree, word)->changes)
      found.push_back(place_of(tree, word));
  }
  return found.empty() ? std::string() : recommended(found);
}

/// What words joined by dashes mean for `group`, as "refresh-feeds" does: by their first and last word.
std::string meaning_of_dashed(const CommandNode& tree, const VerbPlace& group, const std::string& words) {
  const std::size_t first = words.find('-'), last = words.rfind('-');
  return first == std::string::npos ? known_meaning(tree, group, words, "")
                                    : known_meaning(tree, group, words.substr(0, first), words.substr(last + 1));
}

/// The error for `words`, which begin with an unknown verb of `group`.
std::string unknown_verb(const CommandNode& tree, const VerbPlace& group, const std::vector<std::string>& words) {
  const std::string word = lower(words.front());
  std::string start = fmt::format("unknown verb \"{}\"", visible(words.front()));
  if (!group.path.empty()) start = group.path + ": " + start;
  std::string meaning = known_meaning(tree, group, word, words.size() > 1 ? lower(words[1]) : std::string());
  if (meaning.empty()) meaning = meaning_of_dashed(tree, group, word);
  if (!meaning.empty()) return fmt::format("{}: {}", start, meaning);
  std::vector<KnownName> names;
  std::string all;
  for (const CommandNode& verb : group.node->verbs) {
    names.push_back({verb.name, verb.changes});
    all += " " + verb.name;
  }
  std::string likely = did_you_mean(word, names);
  const std::string_view answer = likely.empty() ? answer_to(group.path, shape_of(word)) : "";
  if (!answer.empty()) return fmt::format("{}: {}", start, answer);
  if (likely.empty() && !group.path.empty()) likely = "; verbs:" + all;
  return fmt::format("{}{} (see feedmill {}{}-h)", start, likely, group.path, group.path.empty() ? "" : " ");
}

/// The error for the first argument of a verb if it is a word for an action or an object: "list feeds", "refresh all".
std::string misplaced_word(const CommandNode& tree, const VerbPlace& place, const std::string& argument) {
  const auto& arguments = place.node->arguments;
  if (!arguments.empty() && arguments.front().name != "URL") return {};  // it may be a value
  const std::string word = lower(argument), flag = "--" + word;
  const std::string start = fmt::format("{}: unexpected argument \"{}\"", place.path, visible(argument));
  std::string_view answer = answer_below(tree, place.node->name, word);
  if (answer.empty()) answer = answer_to("", word);
  if (!answer.empty()) return fmt::format("{}: {}", start, answer);
  VerbPlaces found = meant_by(tree, place.node->name, word);
  const bool is_flag =
      std::ranges::any_of(place.node->flags, [&](const auto& one) { return one.names.back() == flag; });
  if (found.empty() && is_flag) return fmt::format("{}: use {}", start, flag);
  if (found.empty() && !meant(tree, word).empty()) found.push_back(place);
  return found.empty() ? std::string() : fmt::format("{}: {}", start, recommended(found));
}

/// What a flag or argument of `place` is called in an error.
std::string named(const VerbPlace& place, std::string_view name) {
  for (const CommandFlag& flag : place.node->flags) {
    const bool is_word = !flag.value.empty() && flag.value.find(' ') == std::string::npos;
    if (flag.names.back() == name) return flag.names.back() + (is_word ? " " + flag.value : "");
  }
  for (const CommandArgument& argument : place.node->arguments) {
    if (argument.name == name) return fmt::format("the argument {}: {}", name, usage_of(place));
  }
  return {};
}

/// How to set the option of the configuration that a flag is named after: "--schedule-floor"; "" if there is none.
std::string of_option(std::string_view flag) {
  const auto plain = [](char c) { return c == '.' || c == '_' ? '-' : c; };
  for (const Option& option : option_table()) {
    if (!std::ranges::equal(flag.substr(2), option.key, {}, plain, plain)) continue;
    if (!option.flag.empty()) return fmt::format("; use {}", option.flag);
    return fmt::format("; {} is set in the configuration file, or by {}", option.key, variable_of(option));
  }
  return {};
}

/// Whether `typed` is a word after one dash, as some programs write their flags: "-create-admin".
bool is_dashed_word(std::string_view typed) {
  return typed.size() > 2 && typed[0] == '-' && typed[1] != '-' &&
         std::ranges::all_of(typed, [](char c) { return c == '-' || is_alpha(c); });
}

}  // namespace

std::string misnamed_verb(const CommandNode& tree, std::span<const std::string> arguments) {
  const std::vector<std::string> words = words_of(tree, arguments);
  const VerbPlace root{"", &tree};
  if (words.empty()) return {};
  const CommandNode* const verb = verb_named(tree, words.front());
  if (verb == nullptr) return unknown_verb(tree, root, words);
  if (words.size() < 2) return {};
  VerbPlace place = root.below(*verb);
  std::size_t first = 1;
  std::string wrong;
  if (const CommandNode* const lower_verb = verb_named(*verb, words[1]); lower_verb != nullptr) {
    place = place.below(*lower_verb);
    first = 2;
  } else if (verb->verbs.empty()) {
    wrong = misplaced_word(tree, place, words[1]);
  } else if (const std::string next = lower(words[1]);
             verb->arguments.empty() || !meant_in(tree, place, next).empty() || !answer_to(place.path, next).empty()) {
    return unknown_verb(tree, place, {words.begin() + 1, words.end()});
  }
  for (std::size_t i = first; i < words.size() && wrong.empty(); ++i) wrong = misfit(place, i - first, words[i]);
  return wrong;
}

std::string dashed_word(const CommandNode& tree, std::span<const std::string> arguments) {
  VerbPlace place{"", &tree};
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (const CommandNode* const verb = verb_named(*place.node, argument)) place = place.below(*verb);
    if (is_dashed_word(argument) && argument.find_first_not_of("hqvV", 1) != std::string::npos)
      return unknown_flag(tree, place.path, argument);
  }
  return {};
}

std::string unknown_flag(const CommandNode& tree, std::string_view path, std::string_view typed) {
  std::string flag(typed.starts_with("--") ? typed.substr(0, typed.find('=')) : typed.substr(0, 2));
  const VerbPlace root{"", &tree}, place = place_of(tree, path);
  const bool is_word = is_dashed_word(typed);
  const std::string start =
      fmt::format("{}{}unknown flag {}", path, path.empty() ? "" : ": ", visible(is_word ? typed : flag));
  if (is_word) flag = fmt::format("-{}", typed);
  if (const std::string_view answer = answer_to(path, flag); !answer.empty())
    return fmt::format("{}; {}", start, answer);
  const std::string hint = fmt::format(" (see feedmill {}{}-h)", path, path.empty() ? "" : " ");
  std::vector<std::string> right;
  std::vector<KnownName> names;
  for (const VerbPlace* const owner : {&place, &root}) {
    for (const FlagGuesses& row : flag_guesses) {
      std::string name = is_word_of(flag, row.flags) ? named(*owner, row.name) : std::string();
      if (!name.empty() && right.size() < most_answers) right.push_back(std::move(name));
    }
    if (!right.empty()) return fmt::format("{}; use {}{}", start, fmt::join(right, " or "), hint);
    for (const CommandFlag& one : owner->node->flags) names.push_back({one.names.back().substr(2), false});
  }
  if (!flag.starts_with("--")) return start + hint;
  if (const std::string option = of_option(flag); !option.empty()) return start + option + hint;
  const std::string meaning = path.empty() ? meaning_of_dashed(tree, root, lower(flag.substr(2))) : "";
  if (!meaning.empty()) return fmt::format("{}: {}", start, meaning);
  return start + did_you_mean(std::string_view(flag).substr(2), names, "--") + hint;
}

std::string unused_flag(std::string_view path, const Option& option) {
  const std::string_view answer = answer_to(path, option.flag);
  return fmt::format(
      "{}: {} has no effect here; {}", path, option.flag,
      answer.empty() ? fmt::format("it sets {} of a worker: feedmill run {}", option.key, option.flag) : answer);
}

}  // namespace feedmill
