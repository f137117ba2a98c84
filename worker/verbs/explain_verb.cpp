#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/admin/status_json.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

int explain_feed(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, given.text("URL"));
  const auto explained = or_fail(read_explained(context.store, HostRules(context.config), url));
  if (!explained) throw no_such_feed(context.store, url);
  if (terminal.json()) {
    boost::json::object row = without_secrets(explain_json(*explained)).as_object();  // SECURITY K1
    row["url"] = url;
    terminal.line(row);
    return exits::done;
  }
  for (const auto& [name, value] : explain_lines(*explained, terminal.verbose())) {
    terminal.line(fmt::format("{:<9}{}", name, visible(redact(value))));
  }
  return exits::done;
}

}  // namespace

VerbRow explain_verb() {
  static constexpr std::array taken{fields::url};
  return {.name = "explain",
          .about = "Explain why a feed is due when it is, with all inputs",
          .example = "feedmill explain https://example.org/feed.xml",
          .fields = taken,
          .use = reads,
          .run = explain_feed};
}

}  // namespace feedmill
