// The values of a verb from the command line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worker/cli/arguments.hpp"
#include "worker/cli/verb.hpp"

namespace feedmill {

/// Reads the values of one verb.
class VerbReader {
 public:
  explicit VerbReader(const VerbRow& its_verb) : verb(its_verb) {}
  VerbReader(const VerbReader&) = delete;
  VerbReader& operator=(const VerbReader&) = delete;

  /// Declares the verb's arguments and flags; `line` puts their values here.
  void take(Arguments& line);

  const VerbRow verb;
  OperationValues given;

 private:
  void take_argument(const OperationField& field, Arguments& line);
  void take_flag(const OperationField& field, Arguments& line);
  void take_columns(Arguments& line);
  void take_assignments(const Operation& operation, Arguments& line);
  void assign(const Operation& operation, const std::string& assignment);

  std::vector<std::string_view> column_names_;
  OperationField columns_field_;                                    ///< its choices are column_names_
  std::map<std::string_view, std::vector<std::string>> arguments_;  // by field, as typed
  std::vector<std::string> assignments_;
};

}  // namespace feedmill
