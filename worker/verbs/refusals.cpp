#include "worker/verbs/refusals.hpp"

#include <chrono>

#include <fmt/format.h>

#include "worker/http/egress_view.hpp"
#include "worker/process/run_options.hpp"
#include "worker/words/plain_words.hpp"

namespace feedmill {

void warn_of_refusals(const std::vector<std::string>& urls, const FeedSettings& settings, const VerbContext& context) {
  constexpr std::size_t most_lookups = 20;
  constexpr std::chrono::seconds patience{2};
  const EgressViewer viewer(look_options(context.config));
  std::vector<EgressQuestion> questions;
  questions.reserve(urls.size());
  for (const std::string& url : urls) questions.push_back({url, settings});
  std::vector<EgressView> views;
  if (questions.size() <= most_lookups) {
    views = viewer.of(questions, patience);
  } else {
    for (const EgressQuestion& question : questions) views.push_back(viewer.of_text(question));
  }
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (views[i].verdict != EgressView::Verdict::refused) continue;
    context.terminal.error(fmt::format("{} will not be fetched: {}: {}. {}", visible(urls[i]), views[i].reason,
                                       visible(views[i].detail), visible(remedy_words(views[i].reason, urls[i]))));
  }
}

}  // namespace feedmill
