// The verbs that answer and change nothing in the tree of the command line: of documents, feeds, pages, this machine.
#include <array>

#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {
namespace {

void add_documents(CLI::App& root, std::optional<Verb>& chosen) {
  auto [parse, parsed] = add_verb<ParseVerb>(
      root, chosen, "Read a feed document and print it as JSON, or explain it; no Redis, no network",
      "feedmill parse --explain --url https://example.org/feed.xml feed.xml", [](const ParseVerb& arguments) {
        if (arguments.file.empty() && !arguments.pipe) refuse("FILE is missing (- for stdin)");
        if (!arguments.file.empty() && arguments.pipe) refuse("FILE and --pipe exclude each other");
      });
  parse->add_option("FILE", parsed->file, "The response body; - for stdin");
  parse->add_option("--url", parsed->url, "Where it came from: the base of relative links")->type_name("URL");
  parse->add_option("--content-type", parsed->content_type, "Its Content-Type header")->type_name("TYPE");
  parse
      ->add_option_function<std::vector<std::string>>(
          "--header",
          [to = parsed](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) to->headers.push_back(header(text));
          },
          "Another response header; may be repeated")
      ->allow_extra_args(false)
      ->type_name("\"NAME: VALUE\"");
  auto* const raw = parse->add_flag_callback(
      "--raw-html", [to = parsed] { to->html = HtmlPolicy::raw; }, "Leave markup as it is");
  parse
      ->add_option_function<std::string>(
          "--html-policy",
          [to = parsed](const std::string& text) {
            constexpr std::array<std::string_view, 2> policies = {"strict", "classic"};
            one_of("--html-policy", text, policies);
            to->html = text == "classic" ? HtmlPolicy::classic : HtmlPolicy::strict;
          },
          "strict or classic")
      ->type_name("POLICY")
      ->excludes(raw);
  parse->add_flag("--explain", parsed->explain,
                  "Say in words what was repaired and which rule decided, in place of the document");
  parse->add_flag("--pipe", parsed->pipe, "Answer JSON requests, a line each, from stdin");
}

/// Verbs that answer and change nothing.
void add_questions(CLI::App& root, std::optional<Verb>& chosen) {
  const auto needs_url = [](const auto& arguments) {
    if (arguments.url.empty()) refuse("URL is missing");
  };
  auto [explain, explained] =
      add_verb<ExplainVerb>(root, chosen, "Why a feed is due when it is, and all that counts for it",
                            "feedmill explain https://example.org/feed.xml", needs_url);
  explain->add_option("URL", explained->url, "Address of a feed");

  auto [check, checked] =
      add_verb<CheckVerb>(root, chosen, "Fetch an address once, store nothing, and say all there is to say; no Redis",
                          "feedmill check https://example.org/feed.xml", needs_url);
  check->add_option("URL", checked->url, "Absolute http or https address");

  auto [discover, discovered] = add_verb<DiscoverVerb>(root, chosen, "The feeds that a web page offers; no Redis",
                                                       "feedmill discover https://example.org/", needs_url);
  discover->add_option("URL", discovered->url, "Address of a page");

  auto [plan, planned] = add_verb<PlanVerb>(
      root, chosen, "Simulate the schedule: requests an hour, busiest hosts, hosts whose feeds cannot fit",
      "feedmill plan --days 7 --feeds 100000");
  plan->add_option_function<std::string>(
          "--days",
          [to = planned](const std::string& text) { to->days = static_cast<unsigned>(number("--days", text, 1, 365)); },
          "Days to simulate (1)")
      ->type_name("N");
  plan->add_option("--host", planned->host, "Only feeds of this host")->type_name("HOST");
  plan->add_option("--feeds", planned->feeds,
                   "So many made-up feeds, or those of an OPML file or list of URLs, in place of the stored ones")
      ->type_name("N|FILE");

  add_verb<DoctorVerb>(root, chosen, "Check Redis, network, limits and configuration, with a remedy for what is wrong",
                       "feedmill doctor");
}

}  // namespace

void add_question_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  add_documents(root, chosen);
  add_questions(root, chosen);
}

}  // namespace feedmill
