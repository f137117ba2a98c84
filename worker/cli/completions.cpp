#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/cli/command_tree.hpp"

namespace feedmill {
namespace {

void collect(const VerbPlace& place, std::vector<VerbPlace>& places) {
  places.push_back(place);
  for (const CommandNode& verb : place.node->verbs) collect(place.below(verb), places);
}

/// The program and all verbs.
std::vector<VerbPlace> places_of(const CommandNode& tree) {
  std::vector<VerbPlace> places;
  collect({"", &tree}, places);
  return places;
}

/// Quotes `text` for bash and zsh, or for fish, which accepts \' in quotes.
std::string in_quotes(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// Case patterns, joined by `between`, that lead from `group` to its verbs: "' add'" from the program, "'channel list'"
/// from a group.
std::string steps(const VerbPlace& group, std::string_view between) {
  std::string text;
  for (const CommandNode& verb : group.node->verbs) {
    text.append(text.empty() ? "" : between).append(in_quotes(group.path + " " + verb.name));
  }
  return text;
}

enum class Flags { all, with_value, with_file };

/// Names of the flags of `node`, and of the verbs below it if `below`.
std::string flag_names(const CommandNode& node, Flags which, std::string_view between, bool below) {
  std::string text;
  const std::function<void(const CommandNode&)> add = [&](const CommandNode& one) {
    for (const CommandFlag& flag : one.flags) {
      if (which != Flags::all && flag.value.empty()) continue;
      if (which == Flags::with_file && flag.value != "FILE" && flag.value != "path") continue;
      for (const std::string& name : flag.names) text.append(text.empty() ? "" : between).append(name);
    }
    if (!below) return;
    for (const CommandNode& verb : one.verbs) add(verb);
  };
  add(node);
  return text;
}

/// Known values of the positional arguments.
CommandValues argument_values(const CommandNode& node) {
  CommandValues values;
  for (const CommandArgument& argument : node.arguments) {
    values.words.insert(values.words.end(), argument.values.words.begin(), argument.values.words.end());
    values.channels = values.channels || argument.values.channels;
  }
  return values;
}

/// Shell code that passes the known values to the script's _feedmill_offer, one per line.
std::string offer(const CommandValues& values) {
  std::string lines;
  if (!values.words.empty()) lines += "printf '%s\\n'";
  for (const std::string& word : values.words) lines += " " + word;
  if (values.channels) lines += (lines.empty() ? "" : "; ") + std::string("_feedmill_channels");
  return "_feedmill_offer < <(" + lines + ")";
}

/// Case branches for bash and zsh that offer known values and return. They match "$verb FLAG", where `flag_word` is the
/// shell's expression for the previous word, or "$verb" if `flag_word` is "".
std::string value_cases(const CommandNode& tree, const std::string& flag_word) {
  std::string text;
  const auto add = [&](const std::string& pattern, const CommandValues& values) {
    if (values.any()) text += "    " + pattern + ") " + offer(values) + "; return ;;\n";
  };
  for (const VerbPlace& place : places_of(tree)) {
    if (flag_word.empty()) {
      add(in_quotes(place.path), argument_values(*place.node));
      continue;
    }
    for (const CommandFlag& flag : place.node->flags) {
      for (const std::string& name : flag.names)
        add(place.path.empty() ? "*" + in_quotes(" " + name) : in_quotes(place.path + " " + name), flag.values);
    }
  }
  return "  case \"$verb" + (flag_word.empty() ? "" : " " + flag_word) + "\" in\n" + text + "  esac\n";
}

constexpr std::string_view channels_function =
    "_feedmill_channels() { feedmill channel list --columns channel 2>/dev/null; }\n";

std::string verb_names(const CommandNode& node) {
  std::string text;
  for (const CommandNode& verb : node.verbs) text.append(text.empty() ? "" : " ").append(verb.name);
  return text;
}

/// Lines that find `verb` among the words before the cursor, for both bash and zsh.
std::string find_verb(const CommandNode& tree, std::string_view word) {
  std::string text = "    case \"$verb " + std::string(word) + "\" in\n";
  for (const VerbPlace& place : places_of(tree)) {
    if (place.node->verbs.empty()) continue;
    const std::string longer = place.path.empty() ? "${verb:+$verb }" : "$verb ";
    text += "      " + steps(place, "|") + ") verb=\"" + longer + std::string(word) + "\" ;;\n";
  }
  return text + "    esac\n";
}

std::string bash(const CommandNode& tree) {
  std::string text =
      "# bash completion of feedmill; made by: feedmill completion bash\n" + std::string(channels_function) +
      "_feedmill_offer() {\n"
      "  local word\n"
      "  while IFS= read -r word; do\n"
      "    printf -v word %q \"$word\"\n"
      "    [[ $word != \"${COMP_WORDS[COMP_CWORD]}\"* ]] || COMPREPLY+=(\"$word\")\n"
      "  done\n"
      "  [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
      "}\n"
      "_feedmill() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb='' verbs='' flags='' i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${COMP_WORDS[i]}\" in " +
      flag_names(tree, Flags::with_value, "|", true) + ") ((i++)); continue ;; esac\n" +
      find_verb(tree, "${COMP_WORDS[i]}") + "  done\n" + value_cases(tree, "$previous") + "  case \"$previous\" in " +
      flag_names(tree, Flags::with_file, "|", true) +
      ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n    " +
      flag_names(tree, Flags::with_value, "|", true) +
      ") return ;; esac\n"
      "  case \"$verb\" in\n";
  for (const VerbPlace& place : places_of(tree)) {
    const bool root = place.path.empty();
    text += "    " + in_quotes(place.path) + ") verbs=" + in_quotes(verb_names(*place.node)) +
            " flags=" + in_quotes(root ? "" : flag_names(*place.node, Flags::all, " ", false)) + " ;;\n";
  }
  text +=
      "  esac\n  flags=\"$flags " + flag_names(tree, Flags::all, " ", false) +
      "\"\n"
      "  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\"); return; fi\n"
      "  if [[ -n $verbs ]]; then mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$current\"); return; fi\n" +
      value_cases(tree, "") +
      "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "}\n"
      "complete -F _feedmill feedmill\n";
  return text;
}

/// "name:description", the format of zsh's _describe.
std::string described(std::string_view name, const std::string& about) {
  std::string text;
  for (const char c : name) text += c == ':' ? std::string("\\:") : std::string(1, c);
  return in_quotes(text + ":" + about);
}

std::string zsh_flags(const CommandNode& node) {
  std::string text;
  for (const CommandFlag& flag : node.flags) {
    for (const std::string& name : flag.names) text.append(text.empty() ? "" : " ").append(described(name, flag.about));
  }
  return text;
}

std::string zsh(const CommandNode& tree) {
  std::string text =
      "#compdef feedmill\n"
      "# zsh completion of feedmill; made by: feedmill completion zsh\n" +
      std::string(channels_function) +
      "_feedmill_offer() {\n"
      "  local -a all=(\"${(@f)$(cat)}\")\n"
      "  compadd -S '' -- ${(M)all:#*=}\n"
      "  compadd -- ${all:#*=}\n"
      "}\n"
      "_feedmill() {\n"
      "  local verb=''\n"
      "  local -i i\n"
      "  local -i none=1\n"
      "  local -a verbs flags\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"${words[i]}\" in " +
      flag_names(tree, Flags::with_value, "|", true) + ") ((i++)); continue ;; esac\n" +
      find_verb(tree, "${words[i]}") + "  done\n" + value_cases(tree, "${words[CURRENT-1]}") +
      "  case \"${words[CURRENT-1]}\" in " + flag_names(tree, Flags::with_file, "|", true) +
      ") _files; return ;;\n    " + flag_names(tree, Flags::with_value, "|", true) +
      ") return ;; esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    case \"$verb\" in\n";
  for (const VerbPlace& place : places_of(tree)) {
    if (!place.path.empty()) text += "      " + in_quotes(place.path) + ") flags=(" + zsh_flags(*place.node) + ") ;;\n";
  }
  text += "    esac\n    flags+=(" + zsh_flags(tree) +
          ")\n"
          "    _describe flag flags\n"
          "    return\n"
          "  fi\n"
          "  case \"$verb\" in\n";
  for (const VerbPlace& place : places_of(tree)) {
    if (place.node->verbs.empty()) continue;
    text += "    " + in_quotes(place.path) + ")";
    std::string group;
    for (const CommandNode& verb : place.node->verbs) {
      if (verb.group != group) {
        if (!group.empty()) text += "); _describe " + in_quotes(group) + " verbs && none=0";
        group = verb.group;
        text += "\n      verbs=(";
      }
      text += (text.back() == '(' ? "" : " ") + described(verb.name, verb.about);
    }
    text += "); _describe " + in_quotes(group) + " verbs && none=0\n      ;;\n";
  }
  text += "    *)\n" + value_cases(tree, "") +
          "      _files && none=0 ;;\n"
          "  esac\n"
          "  return none\n"
          "}\n"
          "_feedmill \"$@\"\n";
  return text;
}

/// " -a 'WORD WORD (command)'"; "" if no value is known.
std::string fish_values(const CommandValues& values) {
  std::string text;
  for (const std::string& word : values.words) text.append(text.empty() ? "" : " ").append(word);
  if (values.channels)
    text += std::string(text.empty() ? "" : " ") + "(feedmill channel list --columns channel 2>/dev/null)";
  return text.empty() ? text : " -f -a " + in_quotes(text, true);
}

std::string fish_flag(const std::string& condition, const CommandFlag& flag) {
  std::string text = "complete -c feedmill" + condition;
  for (const std::string& name : flag.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!flag.value.empty()) text += " -r";
  return text + fish_values(flag.values) + " -d " + in_quotes(flag.about, true) + "\n";
}

std::string fish(const CommandNode& tree) {
  std::string text =
      "# fish completion of feedmill; made by: feedmill completion fish\n"
      "function __feedmill_at --description 'whether these are the verbs so far'\n"
      "  set -l verb ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$verb $word\"\n";
  for (const VerbPlace& place : places_of(tree)) {
    if (place.node->verbs.empty()) continue;
    text += "      case " + steps(place, " ") + "\n        set verb " +
            (place.path.empty() ? "$word" : "\"$verb $word\"") + "\n";
  }
  text +=
      "    end\n"
      "  end\n"
      "  test \"$verb\" = \"$argv[1]\"\n"
      "end\n";
  for (const CommandFlag& flag : tree.flags) text += fish_flag("", flag);
  for (const VerbPlace& place : places_of(tree)) {
    const std::string condition = " -n " + in_quotes("__feedmill_at \"" + place.path + "\"");
    for (const CommandNode& verb : place.node->verbs) {
      const std::string about = place.path.empty() ? verb.group + ": " + verb.about : verb.about;
      text += "complete -c feedmill" + condition + " -f -a " + verb.name + " -d " + in_quotes(about, true) + "\n";
    }
    if (place.path.empty()) continue;
    for (const CommandFlag& flag : place.node->flags) text += fish_flag(condition, flag);
    const std::string values = fish_values(argument_values(*place.node));
    if (!values.empty()) text.append("complete -c feedmill").append(condition).append(values).append("\n");
  }
  return text;
}

}  // namespace

std::string completion_script(const CommandNode& tree, std::string_view shell) {
  if (shell == "bash") return bash(tree);
  return shell == "zsh" ? zsh(tree) : fish(tree);
}

}  // namespace feedmill
