#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ares.h>
#include <boost/json.hpp>
#include <boost/version.hpp>
#include <curl/curl.h>
#include <fmt/format.h>

#include "worker/base/terminal.hpp"
#include "worker/cli/cli.hpp"
#include "worker/config/config.hpp"
#include "worker/verbs/doctor.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

/// Names and versions of our components. Those that worker/ must not include come from the build.
std::vector<std::pair<std::string, std::string>> versions() {
  const curl_version_info_data* const curl = curl_version_info(CURLVERSION_NOW);
  std::vector<std::pair<std::string, std::string>> list;
  list.emplace_back("feedmill", FEEDMILL_VERSION);
  list.emplace_back("libcurl", curl->version);
  list.emplace_back("c-ares", ares_version(nullptr));
  list.emplace_back("hiredis", FEEDMILL_HIREDIS_VERSION);
  const std::string_view tls = FEEDMILL_HIREDIS_SSL_VERSION;  // NOLINT(readability-redundant-string-init): may be ""
  if (!tls.empty()) list.emplace_back("hiredis_ssl", tls);
  list.emplace_back("pugixml", FEEDMILL_PUGIXML_VERSION);
  list.emplace_back("simdjson", FEEDMILL_SIMDJSON_VERSION);
  list.emplace_back("Boost",
                    fmt::format("{}.{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
  return list;
}

/// libcurl features that fetches depend on.
std::vector<std::string> curl_features() {
  const curl_version_info_data* const curl = curl_version_info(CURLVERSION_NOW);
  std::vector<std::string> features;
  const auto add = [&](int bit, const char* name) {
    if ((curl->features & bit) != 0) features.emplace_back(name);
  };
  add(CURL_VERSION_SSL, "TLS");
  add(CURL_VERSION_HTTP2, "HTTP2");
  add(CURL_VERSION_IPV6, "IPv6");
  add(CURL_VERSION_IDN, "IDN");
  add(CURL_VERSION_LIBZ, "libz");
  add(CURL_VERSION_BROTLI, "brotli");
  add(CURL_VERSION_ZSTD, "zstd");
  add(CURL_VERSION_PSL, "PSL");
  add(CURL_VERSION_ASYNCHDNS, "AsynchDNS");
  if (curl->ssl_version != nullptr) features.emplace_back(curl->ssl_version);
  return features;
}

void tell(Terminal& terminal, const ConfigProblem& problem) {
  terminal.tell({{"key", problem.key}, {"origin", problem.origin}, {"remedy", problem.remedy}},
                visible(to_string(problem)));
}

int show_config(const OperationValues& given, const Config& config, Terminal& terminal) {
  for (const ShownOption& option : show(config)) {
    if (given.truth("changed") && option.origin == "default") continue;
    boost::json::object row = {{"key", option.key}, {"value", option.value}};
    if (given.truth("origin")) row["origin"] = option.origin;
    row["default"] = option.fallback;
    row["meaning"] = option.meaning;
    const std::string line = fmt::format("{} = {}", option.key, visible(option.value));
    terminal.tell(row, given.truth("origin") ? fmt::format("{:<44} # {}", line, visible(option.origin)) : line);
  }
  return exits::done;
}

int check_config(const OperationValues&, const ConfigSources& sources, Terminal& terminal) {
  const auto config = load_config(sources);
  if (!config.has_error()) {
    for (const std::string& warning : config->warnings) terminal.note("feedmill: warning: " + visible(warning));
    // Required, and rejected, only by `run`.
    if (const Finding kept = check_poison_directory(*config); kept.verdict == Verdict::fail) {
      tell(terminal, {"debug.keep_poison", config->debug.keep_poison.string(), config->origins.at("debug.keep_poison"),
                      kept.text + "; " + kept.remedy});
      return exits::no;
    }
    const std::string file = config_file(sources).string();
    terminal.note("feedmill: the configuration is valid" +
                  (file.empty() ? ", without a config file" : ": " + visible(file)));
    return exits::done;
  }
  for (const ConfigProblem& problem : config.error()) tell(terminal, problem);
  return exits::no;
}

int tell_completion(const OperationValues& given, Terminal& terminal) {
  terminal.raw(completion_script(command_tree(verb_groups()), given.text("SHELL")));
  return exits::done;
}

/// Reads the words of `help` with -h appended: yields the help, or the error of an unknown verb.
int tell_help(const OperationValues& given, Terminal& terminal) {
  std::vector<std::string> words = given.texts("VERB");
  words.emplace_back("-h");
  return tell(read_command_line(words, verb_groups()).error(), terminal);
}

int tell_manual(const OperationValues& given, Terminal& terminal) {
  const CommandNode tree = command_tree(verb_groups());
  terminal.raw(given.truth("markdown") ? reference_page(tree) : manual_page(tree));
  return exits::done;
}

int tell_version(const OperationValues&, Terminal& terminal) {
  const auto list = versions();
  const auto features = curl_features();
  if (terminal.json()) {
    boost::json::object row = json_row();
    row["version"] = FEEDMILL_VERSION;
    boost::json::object& libraries = row["libraries"].emplace_object();
    for (const auto& [name, version] : list) {
      if (name != "feedmill") libraries[name] = version;
    }
    row["libcurl_features"] = boost::json::value_from(features);
    terminal.line(row);
    return exits::done;
  }
  for (const auto& [name, version] : list) {
    terminal.line(name == "libcurl" ? fmt::format("{} {} ({})", name, version, fmt::join(features, " "))
                                    : fmt::format("{} {}", name, version));
  }
  return exits::done;
}

constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};

}  // namespace

VerbRow config_check_verb() {
  return {.name = "config check",
          .about = "Report every problem in the configuration",
          .example = "feedmill config check --config /etc/feedmill/feedmill.toml",
          .exits = "1 when there is one",
          .run = check_config};
}

VerbRow config_show_verb() {
  static constexpr std::array taken{fields::flag("--origin", "Also show where each value comes from"),
                                    fields::flag("--changed", "Only values that differ from the default")};
  return {.name = "config show",
          .about = "Show the value of every option",
          .example = "feedmill config show --changed",
          .fields = taken,
          .run = show_config};
}

VerbRow completion_verb() {
  static constexpr std::array taken{fields::one_of(fields::argument("SHELL", "bash, zsh or fish"), shells)};
  return {.name = "completion",
          .about = "Print a completion script for verbs and flags: bash, zsh or fish",
          .example = "feedmill completion bash > ~/.local/share/bash-completion/completions/feedmill",
          .fields = taken,
          .run = tell_completion};
}

VerbRow man_verb() {
  static constexpr std::array taken{fields::flag("--markdown", "Only the verbs, as in docs/CLI.md")};
  return {.name = "man",
          .about = "Print the manual page",
          .example = "feedmill man | man -l -",
          .fields = taken,
          .run = tell_manual};
}

VerbRow help_verb() {
  static constexpr std::array taken{
      fields::optional(fields::many(fields::argument("VERB", "Such as add, or channel list")))};
  return {.name = "help",
          .about = "Show help, or the help of a verb",
          .example = "feedmill help channel list",
          .fields = taken,
          .run = tell_help};
}

VerbRow version_verb() {
  return {.name = "version",
          .about = "Show the versions of feedmill and its libraries",
          .example = "feedmill version",
          .run = tell_version};
}

}  // namespace feedmill
