// `feedmill parse`: one document read and printed, or explained, without Redis, network or configuration (conformance
// contract).
#pragma once

#include <string>

#include "worker/base/terminal.hpp"
#include "worker/command_line/question_verbs.hpp"

namespace feedmill {

/// What reading one document comes to.
struct ParseAnswer {
  int exit = exits::done;
  std::string out;  ///< the document's JSON, one line, or what explains it; "" when it is no feed
  std::string err;  ///< one line, "" when it is a feed
};

/// Reads `verb.file` and parses it. With --explain the answer is a line for each statement, "topic: words", or with
/// `json` {"schema":1,"topic":…,"text":…}; values are then capped as those in the store are.
ParseAnswer parse_file(const ParseVerb& verb, bool json = false);

/// Answers one request of `parse --pipe`, {"argv":[…]}, with {"rc":…,"out":…,"err":…}. No newline at the end.
std::string answer_request(const std::string& request);

}  // namespace feedmill
