#include "worker/config/config.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "worker/base/small_file.hpp"
#include "worker/config/config_named.hpp"
#include "worker/config/config_values.hpp"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view env_prefix = "FEEDMILL_";
constexpr std::string_view from_file = "_FILE";  // variable suffix: the value names a file to read
constexpr std::string_view empty_secret = "empty: set it to the secret, or unset it";
constexpr std::size_t max_file_bytes = 16U << 20U;

/// The first option that `is` returns true for; null if there is none.
template <class Is>
const Option* find_option_if(Is is) {
  const auto table = option_table();
  const auto found = std::ranges::find_if(table, is);
  return found == table.end() ? nullptr : &*found;
}

const Option* find_option(std::string_view key) {
  return find_option_if([&](const Option& option) { return option.key == key; });
}

/// All variables of the option, in order of precedence if several are set by mistake.
std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> names{variable_of(option)};
  if (option.secret != nullptr) names.push_back(secret_variable_of(option));
  for (std::size_t i = 0, plain = names.size(); i < plain; ++i) names.push_back(names[i] + std::string(from_file));
  return names;
}

const Option* find_variable(std::string_view name) {
  return find_option_if([&](const Option& option) { return variable_of(option) == name; });
}

/// The option with this secret_variable_of(); null if there is none.
const Option* find_secret_variable(std::string_view name) {
  return find_option_if([&](const Option& option) { return secret_variable_of(option) == name; });
}

/// Whether Kubernetes set the variable. For each Service with a name that begins with "feedmill" it adds these to every
/// container: FEEDMILL_X_SERVICE_HOST, FEEDMILL_X_SERVICE_PORT_HTTP, FEEDMILL_X_PORT=tcp://…,
/// FEEDMILL_X_PORT_80_TCP_ADDR …
bool is_service_link(std::string_view name, std::string_view value) {
  if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT")) return true;
  if (name.find("_SERVICE_PORT_") != std::string_view::npos) return true;
  if (name.ends_with("_PORT") && value.find("://") != std::string_view::npos) return true;
  const std::size_t port = name.find("_PORT_");
  if (port == std::string_view::npos) return false;
  const std::string_view number = name.substr(port + std::string_view("_PORT_").size());
  const std::string_view protocol = number.substr(std::min(number.find_first_not_of("0123456789"), number.size()));
  return protocol.size() < number.size() &&
         (protocol.starts_with("_TCP") || protocol.starts_with("_UDP") || protocol.starts_with("_SCTP"));
}

std::string_view variable(const ConfigSources& sources, std::string_view name) {
  const auto found = sources.environment.find(name);
  return found == sources.environment.end() ? std::string_view() : std::string_view(found->second);
}

/// $XDG_<which>_HOME, else ~/<usual>; "" if there is no home.
fs::path user_directory(const ConfigSources& sources, std::string_view variable_name, std::string_view usual) {
  fs::path own = variable(sources, variable_name);
  if (own.is_absolute()) return own;
  const fs::path home = variable(sources, "HOME");
  return home.empty() ? fs::path() : home / usual;
}

/// Defaults that depend on the environment.
std::string computed_default(const Option& option, const ConfigSources& sources) {
  if (option.key == "worker.cpu_threads")
    return std::to_string(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  if (option.key == "store.data_dir") {
    const auto state = variable(sources, "STATE_DIRECTORY");
    if (!state.empty()) return std::string(state.substr(0, state.find(':')));
    // Commands run as root address this machine's service.
    const fs::path service = "/var/lib/feedmill";
    std::error_code ignored;
    if (::geteuid() == 0 && fs::is_directory(service, ignored)) return service;
    const fs::path user = user_directory(sources, "XDG_DATA_HOME", ".local/share");
    return user.empty() ? service : user / "feedmill";
  }
  if (option.key == "redis.password_file") {
    const fs::path directory = variable(sources, "CREDENTIALS_DIRECTORY");
    std::error_code ignored;
    const fs::path file = directory / "redis-password";
    return !directory.empty() && fs::exists(file, ignored) ? file.string() : "";
  }
  return std::string(option.fallback);
}

/// The value as a user would write it, including passwords.
std::string shown(Config& config, const Option& option) {
  return std::visit([&](auto place) { return show_value(place(config)); }, option.field);
}

// --- reading the sources ---------------------------------------------------------------------------------------------

/// Collects values and problems from all sources; a later value replaces an earlier one completely.
class Reader {
 public:
  /// `running`: the configuration in force, kept for options that need a restart; null at startup.
  explicit Reader(const ConfigSources& sources, const Config* running = nullptr)
      : sources_(sources), running_(running) {}

  boost::system::result<Config, std::vector<ConfigProblem>> read() {
    for (const auto& option : option_table()) set(option, computed_default(option, sources_), "default");
    read_file();
    read_environment();
    read_flags();
    read_secrets();
    for (NamedProblem& problem : finish_named(config_, [this](const fs::path& file) { return secret_in(file); })) {
      problems_.push_back({problem.key, "", config_.origins[problem.key], std::move(problem.remedy)});
    }
    if (config_.redis.url.empty() && sources_.environment.contains("REDIS_URL"))
      config_.warnings.push_back("REDIS_URL is not read; to use that server, set FEEDMILL_REDIS_URL");
    check_together();
    if (problems_.empty() && running_ != nullptr) {
      keep_what_needs_a_restart();
      check_together();
    }
    if (!problems_.empty()) return std::move(problems_);
    return std::move(config_);
  }

  /// Keys with a new value that takes effect only after a restart; call after read().
  std::vector<std::string> waiting() && { return std::move(waiting_); }

 private:
  void keep_what_needs_a_restart() {
    Config running = *running_;  // a copy, because the table needs mutable fields
    for (const Option& option : option_table()) {
      if (option.reloads) continue;
      const bool secret = option.secret != nullptr && option.secret(config_) != option.secret(running);
      if (secret || shown(config_, option) != shown(running, option)) waiting_.emplace_back(option.key);
      std::visit([&](auto place) { place(config_) = place(running); }, option.field);
      if (option.secret != nullptr) option.secret(config_) = option.secret(running);
      config_.origins[std::string(option.key)] = running.origins[std::string(option.key)];
    }
    for (std::string& key : keep_named(config_, running)) waiting_.push_back(std::move(key));
  }

  void set(const Option& option, std::string_view text, const std::string& origin) {
    std::string remedy = std::visit([&](auto place) { return read_value(text, place(config_)); }, option.field);
    if (remedy.empty() && option.check) remedy = option.check(config_);
    config_.origins[std::string(option.key)] = origin;
    if (!remedy.empty())
      problems_.push_back({std::string(option.key), hide_password(std::string(text)), origin, std::move(remedy)});
  }

  void read_file() {
    const fs::path file = config_file(sources_);
    if (file.empty()) return;
    const std::string origin = "file " + file.string();
    const auto text = once_only(file) ? unreadable_again() : read_small_file(file, max_file_bytes);
    if (!text) {
      problems_.push_back({"", "", origin, text.error()});
      return;
    }
    try {
      const toml::table document = toml::parse(*text);
      read_table(document, "", origin);
    } catch (const toml::parse_error& error) {
      problems_.push_back({"", "", at(origin, error.source()), std::string(error.description())});
    }
  }

  static std::string at(const std::string& origin, const toml::source_region& place) {
    return origin + ":" + std::to_string(place.begin.line);
  }

  void read_table(const toml::table& document, const std::string& path, const std::string& origin) {
    for (const auto& [name, node] : document) {
      const std::string key = path.empty() ? std::string(name.str()) : path + "." + std::string(name.str());
      const std::string where = at(origin, node.source());
      const Option* option = find_option(key);
      const NamedTable* rows = named_table(path);
      if (option == nullptr && rows != nullptr && node.is_table()) {
        read_row(*rows, std::string(name.str()), *node.as_table(), origin, where);
      } else if (option != nullptr) {
        const auto text = as_text(node);
        if (text) {
          set(*option, *text, where);
        } else {
          problems_.push_back({key, "", where, "write " + std::string(option->unit)});
        }
      } else if (node.is_table() && (leads_somewhere(key) || !node.as_table()->empty())) {
        read_table(*node.as_table(), key, origin);
      } else {
        add_unknown_key(key, "", where);
      }
    }
  }

  /// Whether options or named tables exist below `key`: true for "redis" and "egress.policy", not "redis.url".
  static bool leads_somewhere(const std::string& key) {
    const auto below = [prefix = key + "."](std::string_view longer) { return longer.starts_with(prefix); };
    return std::ranges::any_of(option_table(), below, &Option::key) || named_table(key) != nullptr ||
           std::ranges::any_of(named_tables(), below, &NamedTable::path);
  }

  /// Reads one [path."name"]. Problems never repeat its contents, which may be a misplaced secret.
  void read_row(const NamedTable& rows, const std::string& name, const toml::table& cells, const std::string& origin,
                const std::string& where) {
    const std::string row = row_key(rows, name);
    if (std::string remedy = rows.check_name(name); !remedy.empty()) {
      problems_.push_back({row, "", where, std::move(remedy)});
      return;
    }
    config_.origins[row] = where;
    rows.add(config_, name);
    for (const auto& [cell, node] : cells) {
      const std::string key = row + "." + std::string(cell.str());
      const std::string place = at(origin, node.source());
      const auto column = std::ranges::find(rows.columns, cell.str(), &NamedColumn::name);
      if (column == rows.columns.end()) {
        problems_.push_back({key, "", place, unknown_column(rows, cell.str())});
        continue;
      }
      const auto text = as_text(node);
      std::string remedy = text ? column->read(*text, config_, name) : "write " + std::string(column->unit);
      config_.origins[key] = place;
      if (!remedy.empty()) problems_.push_back({key, "", place, std::move(remedy)});
    }
  }

  static std::string unknown_column(const NamedTable& rows, std::string_view name) {
    std::vector<std::string_view> names;
    for (const NamedColumn& column : rows.columns) names.push_back(column.name);
    const auto near = nearest_name(name, names);
    if (!near.empty()) return "no such option; did you mean " + std::string(near) + "?";
    std::string remedy = "no such option; one of:";
    for (const auto known : names) remedy.append(" ").append(known);
    return remedy;
  }

  /// A scalar or flat list in the form of an environment value; empty for tables, dates and fractions.
  static std::optional<std::string> as_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* list = node.as_array()) {
      std::string joined;
      for (const auto& item : *list) {
        const auto text = item.is_array() ? std::nullopt : as_text(item);
        if (!text) return std::nullopt;
        joined.append(joined.empty() ? "" : ",").append(*text);
      }
      return joined;
    }
    return std::nullopt;
  }

  /// `guess`: what the name probably means, "" if nothing is known of it.
  void add_unknown(const std::string& name, const std::string& value, const std::string& origin, std::string guess,
                   std::span<const std::string_view> names) {
    if (guess.empty()) guess = nearest_name(name, names);
    problems_.push_back({name, value, origin,
                         guess.empty() ? "no such option; `feedmill config show` lists them all"
                                       : "no such option; did you mean " + guess + "?"});
  }
  void add_unknown_key(const std::string& key, const std::string& value, const std::string& origin) {
    const auto likely = guessed_options(key);
    std::vector<std::string_view> keys;
    for (const Option& option : option_table()) keys.push_back(option.key);
    add_unknown(key, value, origin, fmt::format("{}", fmt::join(likely, " or ")), keys);
  }

  void add_unknown_variable(const std::string& name) {
    std::vector<std::string> variables, likely;
    for (const Option& option : option_table()) {
      variables.push_back(variable_of(option));
      if (option.secret != nullptr) variables.push_back(secret_variable_of(option));
    }
    for (const std::string_view key : guessed_options(name.substr(env_prefix.size())))
      likely.push_back(variable_of(*find_option(key)));
    add_unknown(name, "", "environment", fmt::format("{}", fmt::join(likely, " or ")),
                std::vector<std::string_view>(variables.begin(), variables.end()));
  }

  void read_environment() {
    for (const auto& [name, value] : sources_.environment) {
      if (!name.starts_with(env_prefix)) continue;
      const Option* option = find_variable(name);
      const bool names_file = option == nullptr && name.ends_with(from_file);
      if (names_file) option = find_variable(std::string_view(name).substr(0, name.size() - from_file.size()));
      if (option != nullptr) {
        read_variable(*option, name, value, names_file);
      } else if (const Option* holder = find_secret_variable(name)) {
        read_secret_variable(*holder, name, value);
      } else if (!is_service_link(name, value) && !read_row_variable(name, value)) {
        add_unknown_variable(name);
      }
    }
  }

  /// True if another variable sets the option, too; one of the two adds a problem, without its value: it may be a
  /// secret.
  bool is_set_twice(const Option& option, const std::string& name) {
    for (const std::string& other : spellings(option)) {
      if (other == name) return false;  // later spellings report this one
      if (!sources_.environment.contains(other)) continue;
      problems_.push_back(
          {std::string(option.key), "", "environment " + name, fmt::format("set twice: unset {} or {}", name, other)});
      return true;
    }
    return false;
  }

  /// `names_file`: `value` names a file that contains the option's value.
  void read_variable(const Option& option, const std::string& name, const std::string& value, bool names_file) {
    const std::string origin = "environment " + name;
    if (is_set_twice(option, name)) return;
    if (!names_file) return set(option, value, origin);
    if (const auto text = secret_in(value)) {
      if (readable_by_all(value) && may_hold_password(option)) warn_readable(value);
      set(option, *text, origin);
    } else {
      problems_.push_back({std::string(option.key), value, origin, text.error()});
    }
  }

  /// `value` is the secret itself; it replaces the file. An empty one would leave a listener open to everyone.
  void read_secret_variable(const Option& option, const std::string& name, const std::string& value) {
    if (is_set_twice(option, name)) return;
    set(option, "", "environment " + name);
    option.secret(config_) = value;
    if (value.empty()) add(option.key, std::string(empty_secret));
  }

  /// Reads a variable of a table with named rows, see row_variable(); false if it belongs to none. Problems never
  /// repeat its value: it may be a secret.
  bool read_row_variable(const std::string& name, const std::string& value) {
    RowVariable cell = row_variable(std::string_view(name).substr(env_prefix.size()), config_);
    if (cell.table == nullptr) return false;
    const std::string origin = "environment " + name, key = row_key(*cell.table, cell.row);
    if (const std::string other = name + std::string(from_file);
        cell.remedy.empty() && cell.column == nullptr && sources_.environment.contains(other)) {
      cell.remedy = fmt::format("set twice: unset {} or {}", name, other);
    } else if (cell.remedy.empty() && cell.column == nullptr && value.empty()) {
      cell.remedy = empty_secret;
    }
    if (cell.remedy.empty()) {
      config_.origins.emplace(key, origin);
      config_.origins[key + "." + std::string(cell.column != nullptr ? cell.column->name : "file")] = origin;
      cell.table->add(config_, cell.row);
      if (cell.column != nullptr) {
        cell.remedy = cell.column->read(value, config_, cell.row);
      } else {
        cell.table->set_secret(config_, cell.row, value);
      }
    }
    if (!cell.remedy.empty()) problems_.push_back({name, "", "environment", std::move(cell.remedy)});
    return true;
  }

  void read_flags() {
    for (const auto& [key, text] : sources_.flags) {
      if (const Option* option = find_option(key)) {
        set(*option, text, option->flag.empty() ? "flag" : "flag " + std::string(option->flag));
        if (may_hold_password(*option) && hide_password(text) != text) {  // SECURITY K3
          config_.warnings.push_back(std::string(key) +
                                     ": every user of this machine can read a password on the command line (ps); put "
                                     "the URL into the configuration file or the environment");
        }
      } else {
        add_unknown_key(key, text, "flag");
      }
    }
  }

  void read_secrets() {
    for (const Option& option : option_table()) {
      if (option.secret != nullptr) read_secret_of(option);
    }
    const fs::path& key = config_.redis.key_file;  // the store reads it at each connection
    if (!key.empty() && readable_by_all(key)) warn_readable(key);
  }

  void read_secret_of(const Option& option) {
    std::string& secret = option.secret(config_);
    const fs::path& file = std::get<fs::path& (*)(Config&)>(option.field)(config_);
    if (!file.empty()) {
      auto text = secret_in(file);
      if (!text) return add(option.key, text.error());
      secret = std::move(*text);
      if (readable_by_all(file)) warn_readable(file);
    }
    // An empty token would admit everyone.
    const bool is_given = !file.empty() || !secret.empty();
    if (is_given && option.key.ends_with(".token_file") && secret.size() < 16)
      add(option.key, "a token has 16 bytes or more");
  }

  using Content = boost::system::result<std::string, std::string>;

  Content secret_in(const fs::path& file) const { return once_only(file) ? unreadable_again() : read_secret(file); }

  /// A pipe was drained at startup: reading it again would return nothing.
  bool once_only(const fs::path& file) const { return running_ != nullptr && is_read_once(file); }
  static Content unreadable_again() {
    return Content(boost::system::in_place_error,
                   "the file is a pipe and can be read only once; restart to change the value");
  }

  static bool may_hold_password(const Option& option) {
    return option.key == "redis.url" || option.key == "fetch.proxy";
  }

  void warn_readable(const fs::path& file) { config_.warnings.push_back(readable_warning(file)); }

  void check_together() {
    while (config_.websub.public_url.ends_with('/')) config_.websub.public_url.pop_back();
    while (config_.push_out.public_url.ends_with('/')) config_.push_out.public_url.pop_back();
    feedmill::check_together(config_, !variable(sources_, "KUBERNETES_SERVICE_HOST").empty(),
                             {[this](auto keys) { return sound(keys); },
                              [this](std::string_view key, std::string remedy) { add(key, std::move(remedy)); }});
  }

  bool sound(std::initializer_list<std::string_view> keys) const {
    return std::ranges::none_of(keys, [&](std::string_view key) {
      return std::ranges::find(problems_, key, &ConfigProblem::key) != problems_.end();
    });
  }

  void add(std::string_view key, std::string remedy) {
    const Option& option = *find_option(key);
    problems_.push_back({std::string(key), hide_password(shown(config_, option)), config_.origins[std::string(key)],
                         std::move(remedy)});
  }

  const ConfigSources& sources_;  // the caller's, must outlive the reader
  const Config* running_;         // the caller's, must outlive the reader; may be null
  std::vector<std::string> waiting_;
  Config config_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

std::map<std::string, std::string, std::less<>> process_environment() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

fs::path config_file(const ConfigSources& sources) {
  if (!sources.file.empty()) return sources.file;
  std::vector<fs::path> directories;
  std::string_view listed = variable(sources, "CONFIGURATION_DIRECTORY");
  while (!listed.empty()) {
    if (const auto one = take_until(listed, ':'); !one.empty()) directories.emplace_back(one);
  }
  const fs::path user = user_directory(sources, "XDG_CONFIG_HOME", ".config");
  if (!user.empty()) directories.push_back(user / "feedmill");
  directories.emplace_back("/etc/feedmill");
  std::error_code ignored;
  for (const auto& directory : directories)
    if (fs::exists(directory / "feedmill.toml", ignored)) return directory / "feedmill.toml";
  return {};
}

std::string to_string(const ConfigProblem& problem) {
  std::string line = problem.key;
  // Even an invalid URL may contain a password.
  const bool url = problem.key == "redis.url" || problem.key == "fetch.proxy";
  const bool may_be_secret = url && problem.value.find('@') != std::string::npos;
  const std::string& value = may_be_secret ? "<redacted>" : problem.value;
  if (!problem.key.empty() && !value.empty()) line += " = \"" + value + "\"";
  if (!line.empty()) line += " ";
  return line + "(" + problem.origin + "): " + problem.remedy;
}

void throw_exception_from_error(const std::vector<ConfigProblem>& problems, const boost::source_location&) {
  std::string text = "invalid configuration";
  for (const auto& problem : problems) text += "\n" + to_string(problem);
  throw std::runtime_error(text);
}

boost::system::result<Config, std::vector<ConfigProblem>> load_config(const ConfigSources& sources) {
  return Reader(sources).read();
}

boost::system::result<Reload, std::vector<ConfigProblem>> reload_config(const ConfigSources& sources,
                                                                        const Config& running) {
  Reader reader(sources, &running);
  auto config = reader.read();
  if (!config) return config.error();
  Reload reload{std::move(*config), {}, std::move(reader).waiting()};
  Config before = running;
  for (const Option& option : option_table()) {
    if (shown(before, option) != shown(reload.config, option)) reload.changed.emplace_back(option.key);
  }
  for (std::string& key : changed_named(running, reload.config)) reload.changed.push_back(std::move(key));
  return reload;
}

std::string variable_of(const Option& option) {
  return fmt::format("{}{}", env_prefix, variable_part(option.key));
}

std::string secret_variable_of(const Option& option) {
  std::string name = option.secret == nullptr ? "" : variable_of(option);
  return name.substr(0, name.size() - std::min(name.size(), from_file.size()));
}

std::vector<ShownOption> show(const Config& config) {
  Config copy = config;  // the table needs mutable fields
  std::vector<ShownOption> rows;
  for (const auto& option : option_table()) {
    const auto origin = config.origins.find(option.key);
    rows.push_back({std::string(option.key), hide_password(shown(copy, option)),
                    origin == config.origins.end() ? "default" : origin->second, std::string(option.fallback),
                    std::string(option.meaning)});
  }
  for (ShownOption& row : show_named(config)) rows.push_back(std::move(row));
  return rows;
}

std::map<std::string, std::string> common_values(const Config& config) {
  Config copy = config, defaults;
  std::map<std::string, std::string> values;
  for (const Option& option : option_table()) {
    if (option.per_worker) continue;
    std::visit([&](auto place) { read_value(option.fallback, place(defaults)); }, option.field);
    if (std::string value = shown(copy, option); value != shown(defaults, option))
      values.emplace(option.key, hide_password(std::move(value)));
  }
  for (const NamedTable& table : named_tables()) {
    if (std::string rows = table.per_worker ? "" : common_rows(table, config); !rows.empty())
      values.emplace(table.path, std::move(rows));
  }
  return values;
}

std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above = row, higher = row;  // of the table of all pairs of prefixes
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    higher.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], higher[j - 2] + 1);
    }
  }
  return row.back();
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 6) + 1;
  for (const auto candidate : names) {
    const bool is_start = name.size() > 3 && candidate.starts_with(name);
    const std::size_t errors = is_start ? 1 : typing_errors(name, candidate);
    if (errors >= least) continue;
    least = errors;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace feedmill
