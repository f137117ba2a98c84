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
#include "worker/command_line/cli.hpp"
#include "worker/command_line/completions.hpp"
#include "worker/command_line/manual.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/command_line/reference.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/doctor.hpp"

namespace feedmill {
namespace {

/// Names and versions of our components (OPERATIONS U8). Those that worker/ must not include come from the build.
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

}  // namespace

int run_verb(const ConfigShowVerb& verb, const Config& config, Terminal& terminal) {
  for (const ShownOption& option : show(config)) {
    if (verb.changed && option.origin == "default") continue;
    boost::json::object row = {{"key", option.key}, {"value", option.value}};
    if (verb.origin) row["origin"] = option.origin;
    row["default"] = option.fallback;
    row["meaning"] = option.meaning;
    const std::string line = fmt::format("{} = {}", option.key, visible(option.value));
    terminal.tell(row, verb.origin ? fmt::format("{:<44} # {}", line, visible(option.origin)) : line);
  }
  return exits::done;
}

int run_verb(const ConfigCheckVerb&, const ConfigSources& sources, Terminal& terminal) {
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

int run_verb(const CompletionVerb& verb, Terminal& terminal) {
  terminal.raw(completion_script(command_tree(), verb.shell));
  return exits::done;
}

int run_verb(const ManVerb& verb, Terminal& terminal) {
  terminal.raw(verb.markdown ? reference_page(command_tree()) : manual_page(command_tree()));
  return exits::done;
}

int run_verb(const VersionVerb&, Terminal& terminal) {
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

}  // namespace feedmill
