#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/feed/reading_report.hpp"
#include "parsers/text/strings.hpp"
#include "worker/base/redact.hpp"
#include "worker/cli/cli.hpp"
#include "worker/cli/verb.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/verbs/input_file.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Larger than any response body (OPERATIONS fetch.max_body).
constexpr std::size_t max_document_bytes = std::size_t{64} << 20;

/// The value of the first --header with that name; "" if absent.
std::string header(const OperationValues& given, std::string_view name) {
  for (const std::string& line : given.texts("header")) {
    const std::size_t colon = line.find(':');
    if (iequals(std::string_view(line).substr(0, colon), name))
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

HtmlPolicy policy_of(const OperationValues& given) {
  if (given.truth("raw-html")) return HtmlPolicy::raw;
  return given.text("html-policy") == "classic" ? HtmlPolicy::classic : HtmlPolicy::strict;
}

void check_parse(const OperationValues& given) {
  const bool pipe = given.truth("pipe"), file = given.has("FILE");
  for (const std::string& line : given.texts("header")) {
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string::npos)
      refuse(fmt::format("--header: \"{}\" is not a \"Name: value\"", visible(line)));
  }
  if (given.truth("raw-html") && given.has("html-policy")) refuse("--raw-html excludes --html-policy");
  if (!file && !pipe) refuse("FILE is missing (- for stdin)");
  if (file && pipe) refuse("FILE and --pipe exclude each other");
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

Feed read_file(const OperationValues& given) {
  const std::string name = given.text("FILE"), url = given.text("url");
  const std::string body = read_input(name, max_document_bytes);
  const std::string type = given.has("content-type") ? given.text("content-type") : header(given, "Content-Type");
  const std::string location = header(given, "Content-Location"), language = header(given, "Content-Language");
  DocumentHints hints;
  hints.url = url;
  hints.content_type = type;
  hints.content_location = location;
  hints.content_language = language;
  hints.html = policy_of(given);
  hints.whole_values = !given.truth("explain");  // limits belong to the store: show the whole document
  auto feed = read_feed(body, hints);
  if (feed.has_value()) return std::move(*feed);
  throw VerbFailure{exits::bad_input, fmt::format("{} is not a feed: {}", name == "-" ? "stdin" : visible(name),
                                                  visible(feed.error().detail))};
}

}  // namespace

std::string answer_request(const std::string& request) {
  static const std::array parse_alone{VerbGroup{"", {parse_verb()}}};
  const auto answer = [](int exit, std::string_view out, std::string_view err) {
    return json::serialize(json::object{{"rc", exit}, {"out", out}, {"err", err}});
  };
  const std::string name = "parse";
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
  const auto line = read_command_line(arguments, parse_alone);
  if (line.has_error()) return answer(line.error().exit, "", "feedmill: " + line.error().text + "\n");
  if (line->given.truth("pipe") || line->given.text("FILE") == "-") {
    return answer(exits::usage, "", "feedmill: " + name + ": a request names a FILE\n");
  }
  try {
    const Feed feed = read_file(line->given);
    const std::string out = line->given.truth("explain") ? explanation(feed, line->terminal.json) : document_json(feed);
    return answer(exits::done, out.empty() ? "" : out + "\n", "");
  } catch (const VerbFailure& failure) {
    return answer(failure.exit, "", "feedmill: " + name + ": " + redact(failure.text) + "\n");
  }
}

namespace {

int parse_document(const OperationValues& given, Terminal& terminal) {
  if (given.truth("pipe")) {
    std::string request;
    while (std::getline(std::cin, request)) {
      terminal.line(answer_request(request));
      terminal.flush();
    }
    return exits::done;
  }
  const Feed feed = read_file(given);
  if (given.truth("explain")) {
    terminal.line(explanation(feed, terminal.json()));
  } else {
    write_document_json(feed, [&](std::string_view piece) { terminal.raw(piece); });
    terminal.line("");
  }
  return exits::done;
}

constexpr std::array<std::string_view, 2> html_policies{"strict", "classic"};

}  // namespace

VerbRow parse_verb() {
  static constexpr std::array taken{
      fields::optional(fields::argument("FILE", "Response body; - for stdin")),
      fields::option("--url", "URL", "URL it was fetched from; relative links are resolved against it"),
      fields::option("--content-type", "TYPE", "Its Content-Type header"),
      fields::many(fields::option("--header", "\"NAME: VALUE\"", "Another response header; may be repeated")),
      fields::flag("--raw-html", "Leave markup unchanged"),
      fields::one_of(fields::option("--html-policy", "POLICY",
                                    "strict (default); classic: as feedparser sanitises, only to compare parsers"),
                     html_policies),
      fields::flag("--explain", "Explain repairs and decisions in words instead of printing the document"),
      fields::flag("--pipe", "Answer JSON requests from stdin, one per line")};
  return {.name = "parse",
          .about = "Read a feed document and print it as JSON, or explain it; no Redis, no network",
          .example = "feedmill parse --explain --url https://example.org/feed.xml feed.xml",
          .fields = taken,
          .check = check_parse,
          .run = parse_document};
}

}  // namespace feedmill
