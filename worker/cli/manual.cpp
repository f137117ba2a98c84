#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "worker/cli/pages.hpp"
#include "worker/config/config.hpp"
#include "worker/config/config_named.hpp"

namespace feedmill {
namespace {

constexpr std::string_view written = "2026-11-30";  // date of the last change to this file's own text

/// Escapes text for roff: backslashes are kept, "-" can be copied, and no line is taken for a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&";
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string flag_heading(const CommandFlag& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    text += text.empty() ? "" : ", ";
    text += "\\fB" + roff(name) + "\\fR";
  }
  if (!flag.value.empty()) text += " \\fI" + roff(flag.value) + "\\fR";
  return text;
}

std::string paragraph(const std::string& heading, std::string_view text) {
  return ".TP\n" + heading + "\n" + roff(text) + "\n";
}

std::string flags(const CommandNode& node) {
  std::string text;
  for (const CommandFlag& flag : node.flags) text += paragraph(flag_heading(flag), flag.about);
  return text;
}

std::string verbatim(const std::vector<std::string>& lines) {
  std::string text = ".PP\n.RS 4\n.nf\n";
  for (const std::string& line : lines) text += roff(line) + "\n";
  return text + ".fi\n.RE\n";
}

void add_verb(std::string& text, const CommandNode& node, const std::string& path) {
  if (!node.example.empty()) {
    text += ".SS \"" + roff(path);
    for (const CommandArgument& argument : node.arguments) text += " " + roff(argument.usage());
    text += "\"\n" + roff(node.about) + ".\n";
    for (const CommandArgument& argument : node.arguments) {
      text += paragraph("\\fI" + roff(argument.name) + "\\fR", argument.about);
    }
    for (const CommandFlag& flag : node.flags) {
      if (flag.names.front() != "-h") text += paragraph(flag_heading(flag), flag.about);
    }
    if (!node.exits.empty()) text += ".PP\nExit status: " + roff(node.exits) + ".\n";
    if (!node.notes.lines.empty()) text += verbatim(node.notes.lines);
    text += verbatim(node.example);
  }
  for (const CommandNode& verb : node.verbs) add_verb(text, verb, path + " " + verb.name);
}

/// The verbs under the headings of their groups.
std::string verbs(const CommandNode& tree) {
  std::string text, group;
  for (const CommandNode& verb : tree.verbs) {
    if (verb.group != group) {
      group = verb.group;
      text += ".SH VERBS: ";
      for (const char c : group) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      text += "\n";
    }
    add_verb(text, verb, verb.name);
  }
  return text;
}

std::string configuration() {
  std::string text =
      ".SH CONFIGURATION\n"
      "Later ones win: default, file, environment, flag. The file is the one given by \\fB\\-\\-config\\fR, else the "
      "first \\fIfeedmill.toml\\fR in $CONFIGURATION_DIRECTORY, $XDG_CONFIG_HOME/feedmill and /etc/feedmill. With "
      "_FILE appended, a variable names a file that holds the value. Durations are written 500ms, 90s, 15min "
      "(or 15m), 24h, 7d; sizes 64KiB, 16MiB. Options marked (SIGHUP) are reloaded when the process receives that "
      "signal.\n";
  for (const Option& option : option_table()) {
    std::string heading = "\\fB" + roff(option.key) + "\\fR (\\fI" + roff(option.unit) + "\\fR)";
    std::string about = fmt::format("{}. Default: {}. Environment: {}", option.meaning,
                                    option.fallback.empty() ? "empty" : option.fallback, variable_of(option));
    if (!option.flag.empty()) about += fmt::format(". Flag: {}", option.flag);
    text += paragraph(heading, about + (option.reloads ? ". (SIGHUP)" : "."));
  }
  for (const NamedTable& table : named_tables()) {
    for (const NamedColumn& column : table.columns) {
      const std::string key = fmt::format("[{}.\"NAME\"] {}", table.path, column.name);
      text += paragraph("\\fB" + roff(key) + "\\fR (\\fI" + roff(column.unit) + "\\fR)",
                        fmt::format("{}.{}", column.meaning, table.reloads ? " (SIGHUP)" : ""));
    }
  }
  return text;
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes()) text += paragraph(fmt::format("\\fB{}\\fR", code.code), code.meaning);
  return text;
}

}  // namespace

std::string manual_page(const CommandNode& tree) {
  std::string text = fmt::format(
      ".TH FEEDMILL 1 {} \"feedmill {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "feedmill \\- asynchronous feed ingestion, from HTTP to Redis\n"
      ".SH SYNOPSIS\n"
      ".B feedmill\n"
      "[\\fIflags\\fR] \\fIverb\\fR [\\fIflags\\fR] [\\fIarguments\\fR]\n"
      ".SH DESCRIPTION\n"
      "Fetches RSS, Atom, RDF, CDF and JSON feeds, politely and safely, and stores their posts in Redis. Every new or "
      "changed post is published as a signal on pub/sub and on a stream. Data goes to stdout, messages to stderr; with "
      "\\fB\\-\\-json\\fR stdout contains only JSON, one object per line.\n"
      ".SH FLAGS\n"
      "These may be given before or after the verb.\n",
      written, FEEDMILL_VERSION);
  text += flags(tree) + verbs(tree) + configuration() + exit_status();
  text +=
      ".SH SIGNALS\n"
      "SIGTERM and SIGINT drain a running worker; a second signal cancels running refreshes and releases their feeds. "
      "SIGHUP reloads the configuration.\n"
      ".SH FILES\n"
      ".TP\n"
      ".I /etc/feedmill/feedmill.toml\n"
      "Settings of the service and of verbs run by root.\n"
      ".TP\n"
      ".I /var/lib/feedmill\n"
      "Data of the service's private server, also used by verbs run by root.\n"
      ".TP\n"
      ".I \\(ti/.local/share/feedmill\n"
      "Data of any other user's private server.\n"
      ".TP\n"
      ".I /usr/share/doc/feedmill\n"
      "README.md: keys, signals, verbs; OPERATIONS.md: runbook; CONFIGURATION.md.\n"
      ".SH SEE ALSO\n"
      ".BR redis\\-server (1)\n";
  return text;
}

}  // namespace feedmill
