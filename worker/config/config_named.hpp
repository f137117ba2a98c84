// Configuration tables with named rows: [feed_auth."NAME"], [api.token."NAME"], [host."NAME"], [host_group."NAME"],
// [egress.policy."NAME"] (OPERATIONS §2). As for options, reading and showing are derived from a description.
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

/// A column of a named table.
struct NamedColumn {
  std::string_view name;
  std::string_view unit;     ///< accepted format: "URL", "duration"
  std::string_view meaning;  ///< for people
  std::string_view example;  ///< a valid value as written in the file: 2, "30s"
  /// Reads `text` into the existing row of that name; returns the expected form, "" if it is valid.
  std::string (*read)(std::string_view text, Config& config, const std::string& row);
  /// The value as a user would write it, "" if unset.
  std::string (*show)(const Config& config, const std::string& row);
};

/// A table with named rows.
struct NamedTable {
  std::string_view path;  ///< "egress.policy"
  std::span<const NamedColumn> columns;
  std::string (*check_name)(const std::string& name);  ///< the expected form of a name, "" if it is valid
  void (*add)(Config& config, const std::string& name);
  std::vector<std::string> (*names)(const Config& config);
  void (*copy)(Config& into, const Config& from);  ///< all rows
  std::string_view example;                        ///< an example row name
  bool reloads;                                    ///< SIGHUP applies new rows
  bool per_worker;                                 ///< workers of one store may differ (Option::per_worker)
  /// Gives an existing row its secret instead of its column `file`. Null: the environment sets nothing of this table.
  void (*set_secret)(Config& config, const std::string& name, const std::string& secret);
};

/// The cell of a named row that an environment variable sets. FEEDMILL_API_TOKEN_READER is the secret of
/// [api.token."reader"], FEEDMILL_API_TOKEN_READER_ASKS its column `asks`.
struct RowVariable {
  const NamedTable* table = nullptr;    ///< null: the variable belongs to no table
  std::string row;                      ///< name of the existing row with this variable, else in lower case
  const NamedColumn* column = nullptr;  ///< null: the secret
  std::string remedy;                   ///< the expected form of the variable's name, "" if it is valid
};

/// `name` is without FEEDMILL_.
RowVariable row_variable(std::string_view name, const Config& config);

/// All named tables. Constant for the program's lifetime.
std::span<const NamedTable> named_tables();

/// The table at `path`, such as "egress.policy"; null if there is none.
const NamedTable* named_table(std::string_view path);

/// The key of a row: `feed_auth."news"`.
std::string row_key(const NamedTable& table, const std::string& name);

/// An invalid row.
struct NamedProblem {
  std::string key;  ///< key of the row
  std::string remedy;
};

/// Whether `name` may name a row of most tables: 1 to 64 letters, digits and _ . - ; else the remedy. "" if it may.
std::string check_plain_name(const std::string& name);

/// Sets `auth.header_line` from its user or header and `secret`. Returns the problem with any of them or with its
/// origin, without the secret, or "".
std::string complete(FeedAuth& auth, const std::string& secret);

/// Reads a file with a secret, or returns why it cannot.
using SecretReader = std::function<boost::system::result<std::string, std::string>(const std::filesystem::path& file)>;

/// Checks each row and consistency between rows, and reads the files of [feed_auth] and [api.token]. Adds a warning for
/// files that every user may read.
std::vector<NamedProblem> finish_named(Config& config, const SecretReader& read_secret);

/// Restores the rows of `running` in tables that need a restart; returns the keys of rows that differ there.
std::vector<std::string> keep_named(Config& config, const Config& running);

/// The keys of rows that differ between two configurations; a [feed_auth] also differs if its secret does.
std::vector<std::string> changed_named(const Config& before, const Config& after);

/// The rows of a table as text, without paths; "" if it has none. Equal for equal rows.
std::string common_rows(const NamedTable& table, const Config& config);

/// Every cell that is set, as printed by `config show`.
std::vector<ShownOption> show_named(const Config& config);

}  // namespace feedmill
