#include "worker/verbs/parse.hpp"

#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/report/reading_report.hpp"
#include "parsers/text/strings.hpp"
#include "worker/base/redact.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/observe/store_failure.hpp"
#include "worker/verbs/input_file.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Larger than any response body (OPERATIONS fetch.max_body).
constexpr std::size_t max_document_bytes = std::size_t{64} << 20;

/// The first header with that name, "" if absent.
std::string_view header(const ParseVerb& verb, std::string_view name) {
  for (const auto& [given, value] : verb.headers) {
    if (iequals(given, name)) return value;
  }
  return {};
}

/// One line per statement about the feed, without a final line end.
std::string explanation(const Feed& feed, bool as_json) {
  std::string lines;
  for (const Statement& statement : explain(feed)) {
    const std::string text = redact(statement.text);  // SECURITY K1
    if (!lines.empty()) lines += '\n';
    if (as_json) {
      lines += json::serialize(json::object{{"schema", 1}, {"topic", statement.topic}, {"text", text}});
    } else {
      lines.append(statement.topic).append(": ").append(visible(text));
    }
  }
  return lines;
}

Feed read_file(const ParseVerb& verb) {
  const std::string body = read_input(verb.file, max_document_bytes);
  DocumentHints hints;
  hints.url = verb.url;
  hints.content_type = verb.content_type.empty() ? header(verb, "Content-Type") : std::string_view(verb.content_type);
  hints.content_location = header(verb, "Content-Location");
  hints.content_language = header(verb, "Content-Language");
  hints.html = verb.html();
  hints.whole_values = !verb.explain;  // caps belong to the store: show the whole document
  auto feed = read_feed(body, hints);
  if (feed.has_value()) return std::move(*feed);
  const std::string name = verb.file == "-" ? "stdin" : visible(verb.file);
  throw VerbFailure{exits::bad_input, fmt::format("{} is not a feed: {}", name, visible(feed.error().detail))};
}

}  // namespace

std::string answer_request(const std::string& request) {
  const auto answer = [](int exit, std::string_view out, std::string_view err) {
    return json::serialize(json::object{{"rc", exit}, {"out", out}, {"err", err}});
  };
  const std::string name(ParseVerb::row.name);
  boost::system::error_code error;
  const json::value asked = json::parse(request, error);
  const json::value* const argv = error || !asked.is_object() ? nullptr : asked.as_object().if_contains("argv");
  if (argv == nullptr || !argv->is_array()) {
    return answer(exits::usage, "", "feedmill: a request is {\"argv\": [\"FILE\", …]} on one line\n");
  }
  std::vector<std::string> arguments = {name};
  for (const json::value& argument : argv->as_array()) {
    if (argument.is_string()) arguments.emplace_back(argument.as_string());
  }
  const auto line = read_command_line(arguments);
  if (line.has_error()) return answer(line.error().exit, "", "feedmill: " + line.error().text + "\n");
  const auto* const verb = std::get_if<ParseVerb>(&line->verb);
  if (verb == nullptr || verb->pipe || verb->file == "-") {
    return answer(exits::usage, "", "feedmill: " + name + ": a request names a FILE\n");
  }
  try {
    const Feed feed = read_file(*verb);
    const std::string out = verb->explain ? explanation(feed, line->terminal.json) : document_json(feed);
    return answer(exits::done, out.empty() ? "" : out + "\n", "");
  } catch (const VerbFailure& failure) {
    return answer(failure.exit, "", "feedmill: " + name + ": " + redact(failure.text) + "\n");
  }
}

int run_verb(const ParseVerb& verb, Terminal& terminal) {
  if (verb.pipe) {
    std::string request;
    while (std::getline(std::cin, request)) {
      terminal.line(answer_request(request));
      terminal.flush();
    }
    return exits::done;
  }
  const Feed feed = read_file(verb);
  if (verb.explain) {
    terminal.line(explanation(feed, terminal.json()));
  } else {
    write_document_json(feed, [&](std::string_view piece) { terminal.raw(piece); });
    terminal.line("");
  }
  return exits::done;
}

}  // namespace feedmill
