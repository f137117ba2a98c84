// A verb made from an operation's row.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worker/command_line/arguments.hpp"
#include "worker/command_line/verb_row.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

struct OperationVerb {
  OperationVerb(const OperationFamily& its_family, const Operation& its_operation);

  const OperationFamily* family;
  const Operation* operation;
  VerbRow row;
  OperationValues given;
  bool yes = false;  ///< skip the confirmation

  void take(Arguments& line);
  StoreUse use() const { return operation->access == Operation::Access::change ? StoreUse::change : StoreUse::read; }
  bool is_of_all() const { return family->of_all; }

 private:
  void take_argument(const OperationField& field, Arguments& line);
  void take_flag(const OperationField& field, Arguments& line);
  void take_assignments(Arguments& line);
  void assign(const std::string& assignment);

  std::map<std::string_view, std::string> arguments_;  // by field, as typed
  std::vector<std::string> assignments_;
};

int run_verb(const OperationVerb& verb, const VerbContext& context);

inline std::string_view name_in_failures(const OperationVerb& verb) {
  return verb.family->verb;
}

}  // namespace feedmill
