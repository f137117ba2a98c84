// The tables of the configuration whose rows have names: [feed_auth."NAME"], [api.token."NAME"],
// [host."NAME"], [host_group."NAME"], [egress.policy."NAME"] (OPERATIONS §2). They are described as the options are:
// what is read and shown is made from it.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/config/config.hpp"

namespace feedmill {

/// What may stand in a row.
struct NamedColumn {
  std::string_view name;
  std::string_view unit;     ///< what may be written: "URL", "duration"
  std::string_view meaning;  ///< for people
  std::string_view example;  ///< as it may stand in the file: 2, "30s"
  /// Reads `text` into the row of that name, which exists; says what should have been written, "" when it was right.
  std::string (*read)(std::string_view text, Config& config, const std::string& row);
  /// As it would be written, "" when it is not set.
  std::string (*show)(const Config& config, const std::string& row);
};

struct NamedTable {
  std::string_view path;  ///< "egress.policy"
  std::span<const NamedColumn> columns;
  std::string (*check_name)(const std::string& name);  ///< what a name must look like, "" when it does
  void (*add)(Config& config, const std::string& name);
  std::vector<std::string> (*names)(const Config& config);
  void (*copy)(Config& into, const Config& from);  ///< all rows
  std::string_view example;                        ///< a name for a row
  bool reloads;                                    ///< SIGHUP takes new rows over
};

/// Constant for the life of the program.
std::span<const NamedTable> named_tables();

/// The table whose rows stand right under `path`, null when there is none.
const NamedTable* named_table(std::string_view path);

/// `feed_auth."news"`
std::string row_key(const NamedTable& table, const std::string& name);

struct NamedProblem {
  std::string key;  ///< of the row
  std::string remedy;
};

/// Reads a file that holds a secret, or says why not.
using SecretReader = std::function<boost::system::result<std::string, std::string>(const std::filesystem::path& file)>;

/// Checks what must hold in a row and between rows, and reads the files of [feed_auth] and [api.token]. Files
/// that every user may read add a warning.
std::vector<NamedProblem> finish_named(Config& config, const SecretReader& read_secret);

/// Puts back the rows of `running` where a table's new ones need a restart; the rows that differ there.
std::vector<std::string> keep_named(Config& config, const Config& running);

/// The rows that two configurations do not have in common, by their keys.
std::vector<std::string> changed_named(const Config& before, const Config& after);

/// Every cell that is set, as `config show` prints it.
std::vector<ShownOption> show_named(const Config& config);

}  // namespace feedmill
