#include "worker/config/config_named.hpp"

#include <algorithm>
#include <map>

#include "worker/base/small_file.hpp"
#include "worker/config/config_values.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {

std::string check_plain_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 64 && has_only_alnum_and(name, "_.-");
  return good ? "" : "a name has only letters, digits and _ . -";
}

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// --- checks of cells and names ---------------------------------------------------------------------------------------

std::string check_host(const std::string& host) {
  const auto url = canonical_feed_url("http://" + host + "/");
  return url && host_of(*url) == host
             ? ""
             : "\"" + host + "\" is not a host name as in a URL: lower case, no port, such as example.org";
}

std::string check_hosts(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (std::string remedy = check_host(host); !remedy.empty()) return remedy;
  }
  return hosts.empty() ? "list the hosts that belong together" : "";
}

std::string check_origin(const std::string& text) {
  const auto url = canonical_feed_url(text);
  const bool bare = url && std::ranges::count(*url, '/') == 3 && url->ends_with('/') && url->find('?') == url->npos;
  return bare ? "" : "write scheme://host[:port], such as https://example.org";
}

std::string check_user(const std::string& user) {
  return is_sendable_value(user) && user.find(':') == user.npos ? ""
                                                                : "a user name has no colon and no control characters";
}

std::string check_auth_header(const std::string& name) {
  const std::string refused = refused_header(name);
  return refused.empty() ? "" : "write the name of a header, such as Authorization or X-Api-Key: " + refused;
}

std::string check_http_version(const std::string& version) {
  return version == "1.1" ? "" : "write \"1.1\" or omit it";
}

std::string check_concurrency(const std::optional<std::uint32_t>& count) {
  return *count >= 1 && *count <= 1000 ? "" : "between 1 and 1000";
}

std::string check_spacing(const std::optional<std::chrono::milliseconds>& spacing) {
  return *spacing <= 1h ? "" : "at most 1h";
}

std::string check_min_interval(const std::optional<std::chrono::milliseconds>& interval) {
  return *interval <= 24h * 30 ? "" : "at most 30d";
}

// --- the tables ------------------------------------------------------------------------------------------------------

/// A column for a member of the table's row.
template <auto Rows, auto Member, auto Check>
constexpr NamedColumn column(std::string_view name, std::string_view unit, std::string_view meaning,
                             std::string_view example) {
  return {name,
          unit,
          meaning,
          example,
          [](std::string_view text, Config& config, const std::string& row) {
            auto& cell = (config.*Rows)[row].*Member;
            std::string remedy = read_value(text, cell);
            return remedy.empty() ? Check(cell) : remedy;
          },
          [](const Config& config, const std::string& row) { return show_value((config.*Rows).at(row).*Member); }};
}

std::string check_asks(bool) {
  return {};
}

std::string check_calls(const std::optional<std::uint32_t>& calls) {
  return *calls >= 1 && *calls <= 100'000 ? "" : "between 1 and 100000";
}

std::string check_file(const fs::path& file) {
  return file.empty() ? "give a file" : "";
}

const NamedColumn auth_columns[] = {
    column<&Config::feed_auth, &FeedAuth::user, check_user>(
        "user", "text", "user name of HTTP Basic; needs password_file", "\"reader\""),
    column<&Config::feed_auth, &FeedAuth::password_file, check_file>(
        "password_file", "path", "file that holds the password", "\"/etc/feedmill/news-password\""),
    column<&Config::feed_auth, &FeedAuth::header, check_auth_header>("header", "text", "header name; needs value_file",
                                                                     "\"X-Api-Key\""),
    column<&Config::feed_auth, &FeedAuth::value_file, check_file>(
        "value_file", "path", "file that holds the header's value", "\"/etc/feedmill/news-key\""),
    column<&Config::feed_auth, &FeedAuth::origin, check_origin>(
        "origin", "URL", "origin it may be sent to: scheme://host[:port]", "\"https://news.example\"")};

const NamedColumn token_columns[] = {
    column<&Config::api_tokens, &ApiToken::file, check_file>(
        "file", "path", "file that holds a token of 16 bytes or more", "\"/etc/feedmill/reader-token\""),
    column<&Config::api_tokens, &ApiToken::asks, check_asks>("asks", "bool", "allow changes, too; default: read only",
                                                             "true"),
    column<&Config::api_tokens, &ApiToken::rate, check_calls>("rate", "calls", "calls a second; default: 50", "200"),
    column<&Config::api_tokens, &ApiToken::burst, check_calls>("burst", "calls",
                                                               "calls at once after a pause; default: 200", "1000")};

const NamedColumn host_columns[] = {column<&Config::hosts, &HostOverride::concurrency, check_concurrency>(
                                        "concurrency", "requests", "concurrent requests, over all workers", "2"),
                                    column<&Config::hosts, &HostOverride::spacing, check_spacing>(
                                        "spacing", "duration", "time between requests", "\"30s\""),
                                    column<&Config::hosts, &HostOverride::min_interval, check_min_interval>(
                                        "min_interval", "duration", "time between refreshes of one feed", "\"6h\""),
                                    column<&Config::hosts, &HostOverride::http_version, check_http_version>(
                                        "http_version", "1.1", "the only HTTP version to use", "\"1.1\"")};

const NamedColumn group_columns[] = {column<&Config::host_groups, &HostGroup::hosts, check_hosts>(
    "hosts", "list", "hosts that share one rate limit and back-off", "[\"a.example\", \"b.example\"]")};

const NamedColumn policy_columns[] = {
    column<&Config::egress_policies, &EgressRules::allow, check_egress_rules>(
        "allow", "CIDR[:port] list", "addresses to allow", "[\"10.20.0.0/16:443\"]"),
    column<&Config::egress_policies, &EgressRules::deny, check_egress_rules>(
        "deny", "CIDR[:port] list", "addresses never to connect to", "[\"10.20.30.0/24\"]"),
    column<&Config::egress_policies, &EgressRules::ports, check_egress_ports>("ports", "list", "ports to allow",
                                                                              "[\"443\"]")};

template <auto Rows>
constexpr NamedTable table(std::string_view path, std::span<const NamedColumn> columns,
                           std::string (*check_name)(const std::string&), std::string_view example, bool reloads,
                           bool per_worker = false,
                           void (*set_secret)(Config&, const std::string&, const std::string&) = nullptr) {
  return {path,
          columns,
          check_name,
          [](Config& config, const std::string& name) { (config.*Rows)[name]; },
          [](const Config& config) {
            std::vector<std::string> names;
            for (const auto& [name, row] : config.*Rows) names.push_back(name);
            return names;
          },
          [](Config& into, const Config& from) { into.*Rows = from.*Rows; },
          example,
          reloads,
          per_worker,
          set_secret};
}

void set_token(Config& config, const std::string& name, const std::string& token) {
  config.api_tokens[name].token = token;
  config.api_tokens[name].file.clear();
}

const NamedTable tables[] = {
    table<&Config::feed_auth>("feed_auth", auth_columns, check_plain_name, "news", true),
    table<&Config::api_tokens>("api.token", token_columns, check_plain_name, "reader", true, true, set_token),
    table<&Config::hosts>("host", host_columns, check_host, "slow.example", true),
    table<&Config::host_groups>("host_group", group_columns, check_plain_name, "mirrors", true),
    table<&Config::egress_policies>("egress.policy", policy_columns, check_plain_name, "intranet", false)};

// --- checks of rows --------------------------------------------------------------------------------------------------

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text += digits[bits >> (count - 6) & 63U];
  }
  if (count > 0) text += digits[bits << (6 - count) & 63U];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

/// Fills in the header line; returns the problem, if any.
std::string take_secret(FeedAuth& auth, const std::string& secret) {
  if (!is_sendable_value(secret))
    return "the secret must be one line of 1 to 4096 bytes, without control characters and spaces around it";
  auth.header_line =
      auth.header.empty() ? "Authorization: Basic " + base64(auth.user + ":" + secret) : auth.header + ": " + secret;
  return {};
}

/// Reads the secret; returns the problem, if any. The values have been checked one by one.
std::string finish(FeedAuth& auth, std::vector<std::string>& warnings, const SecretReader& read_secret) {
  const bool basic = !auth.user.empty() || !auth.password_file.empty();
  const bool header = !auth.header.empty() || !auth.value_file.empty();
  if (basic == header) return "give either user and password_file, or header and value_file";
  if (basic && (auth.user.empty() || auth.password_file.empty())) return "user and password_file must be set together";
  if (header && (auth.header.empty() || auth.value_file.empty())) return "header and value_file must be set together";
  if (auth.origin.empty())
    return "origin is missing: set the origin it may be sent to, such as origin = \"https://example.org\"";
  const fs::path& file = basic ? auth.password_file : auth.value_file;
  const auto secret = read_secret(file);
  if (!secret) return file.string() + ": " + secret.error();
  if (readable_by_all(file)) warnings.push_back(readable_warning(file));
  const std::string remedy = take_secret(auth, *secret);
  return remedy.empty() ? "" : file.string() + ": " + remedy;
}

/// Reads the token; returns the problem, if any.
std::string finish(ApiToken& row, std::vector<std::string>& warnings, const SecretReader& read_secret) {
  if (row.file.empty() && row.token.empty()) return "file is missing: name the file that holds the token";
  if (!row.file.empty()) {
    const auto secret = read_secret(row.file);
    if (!secret) return row.file.string() + ": " + secret.error();
    if (readable_by_all(row.file)) warnings.push_back(readable_warning(row.file));
    row.token = *secret;
  }
  if (row.token.size() >= 16 && is_sendable_value(row.token)) return {};
  return (row.file.empty() ? "the token" : row.file.string()) + " must hold one line of 16 to 4096 bytes";
}

}  // namespace

std::string complete(FeedAuth& auth, const std::string& secret) {
  for (std::string remedy :
       {auth.header.empty() ? check_user(auth.user) : check_auth_header(auth.header), check_origin(auth.origin)}) {
    if (!remedy.empty()) return remedy;
  }
  return take_secret(auth, secret);
}

std::span<const NamedTable> named_tables() {
  return tables;
}

const NamedTable* named_table(std::string_view path) {
  const auto found = std::ranges::find(tables, path, &NamedTable::path);
  return found == std::end(tables) ? nullptr : found;
}

std::string row_key(const NamedTable& table, const std::string& name) {
  return std::string(table.path) + ".\"" + name + "\"";
}

RowVariable row_variable(std::string_view name, const Config& config) {
  RowVariable found;
  for (const NamedTable& table : tables) {
    const std::string stem = variable_part(table.path);
    if (table.set_secret == nullptr || !name.starts_with(stem)) continue;
    std::string_view part = name.substr(stem.size());
    if (!part.empty() && part.front() != '_') continue;
    found.table = &table;
    for (const NamedColumn& column : table.columns) {
      const std::string ending = "_" + variable_part(column.name);
      if (found.column != nullptr || !part.ends_with(ending)) continue;
      found.column = &column;
      part.remove_suffix(ending.size());
    }
    part.remove_prefix(std::min<std::size_t>(part.size(), 1));
    for (const char c : part) found.row += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const std::string in_lower_case = found.row;
    bool is_known = false;
    for (const std::string& row : table.names(config)) {
      if (variable_part(row) != part) continue;
      is_known = true;
      if (found.row != in_lower_case && found.row != row)
        found.remedy = "this may mean " + found.row + " or " + row + ": rename either";
      found.row = row;
    }
    if (found.row.empty()) {
      found.remedy = "end it with a name: FEEDMILL_" + stem + "_" + variable_part(table.example) +
                     " is the secret of [" + row_key(table, std::string(table.example)) + "]";
    } else if (found.column != nullptr && found.column->name == "file" && part.ends_with("_FILE") && !is_known) {
      found.remedy = "one _FILE is enough: FEEDMILL_" + stem + "_" + std::string(part) + " names the file";
    } else if (found.remedy.empty()) {
      found.remedy = table.check_name(found.row);
    }
  }
  return found;
}

std::vector<NamedProblem> finish_named(Config& config, const SecretReader& read_secret) {
  std::vector<NamedProblem> problems;
  for (auto& [name, auth] : config.feed_auth) {
    std::string remedy = finish(auth, config.warnings, read_secret);
    if (!remedy.empty()) problems.push_back({row_key(*named_table("feed_auth"), name), std::move(remedy)});
  }
  std::map<std::string_view, std::string_view> app_of;
  for (auto& [name, row] : config.api_tokens) {
    const std::string key = row_key(*named_table("api.token"), name);
    std::string remedy = finish(row, config.warnings, read_secret);
    if (!remedy.empty()) {
      problems.push_back({key, std::move(remedy)});
      continue;
    }
    const auto [known, is_new] = app_of.emplace(row.token, name);
    if (!is_new) problems.push_back({key, "same token as " + std::string(known->second) + "; each needs its own"});
  }
  std::map<std::string_view, std::string_view> group_of;
  for (const auto& [name, group] : config.host_groups) {
    const std::string key = row_key(*named_table("host_group"), name);
    if (group.hosts.empty()) problems.push_back({key, "hosts is missing: list the hosts that belong together"});
    for (const std::string& host : group.hosts) {
      const auto [known, is_new] = group_of.emplace(host, name);
      if (!is_new) problems.push_back({key, host + " is already in the group " + std::string(known->second)});
    }
  }
  return problems;
}

namespace {

/// The rows of one table: key → contents.
std::map<std::string, std::string> rows_of(const NamedTable& table, const Config& config) {
  std::map<std::string, std::string> rows;
  for (const std::string& name : table.names(config)) {
    std::string& row = rows[row_key(table, name)];
    for (const NamedColumn& column : table.columns) row.append(column.show(config, name)).append("\n");
  }
  return rows;
}

std::vector<std::string> differing(const NamedTable& table, const Config& before, const Config& after) {
  const auto old_rows = rows_of(table, before), new_rows = rows_of(table, after);
  std::vector<std::string> keys;
  for (const auto& [key, row] : old_rows) {
    const auto found = new_rows.find(key);
    if (found == new_rows.end() || found->second != row) keys.push_back(key);
  }
  for (const auto& [key, row] : new_rows) {
    if (!old_rows.contains(key)) keys.push_back(key);
  }
  return keys;
}

}  // namespace

std::vector<std::string> keep_named(Config& config, const Config& running) {
  std::vector<std::string> kept;
  for (const NamedTable& table : tables) {
    if (table.reloads) continue;
    for (std::string& key : differing(table, running, config)) kept.push_back(std::move(key));
    table.copy(config, running);
  }
  return kept;
}

std::vector<std::string> changed_named(const Config& before, const Config& after) {
  std::vector<std::string> changed;
  for (const NamedTable& table : tables) {
    for (std::string& key : differing(table, before, after)) changed.push_back(std::move(key));
  }
  for (const auto& [name, auth] : after.feed_auth) {  // the file may have another secret
    const auto known = before.feed_auth.find(name);
    std::string key = row_key(*named_table("feed_auth"), name);
    const bool is_other = known != before.feed_auth.end() && known->second.header_line != auth.header_line;
    if (is_other && std::ranges::find(changed, key) == changed.end()) changed.push_back(std::move(key));
  }
  return changed;
}

std::string common_rows(const NamedTable& table, const Config& config) {
  std::string text;
  for (const std::string& name : table.names(config)) {
    text.append(name).append("\n");
    for (const NamedColumn& column : table.columns) {
      if (column.unit != "path") text.append(column.show(config, name)).append("\n");
    }
  }
  return text;
}

std::vector<ShownOption> show_named(const Config& config) {
  std::vector<ShownOption> shown;
  for (const NamedTable& rows : tables) {
    for (const std::string& name : rows.names(config)) {
      for (const NamedColumn& column : rows.columns) {
        const std::string key = row_key(rows, name) + "." + std::string(column.name);
        const auto origin = config.origins.find(key);
        if (origin == config.origins.end()) continue;
        shown.push_back({key, column.show(config, name), origin->second, "", std::string(column.meaning)});
      }
    }
  }
  return shown;
}

}  // namespace feedmill
