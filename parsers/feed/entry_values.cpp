#include "parsers/feed/entry_values.hpp"

#include <algorithm>

#include "parsers/markup/text.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_excerpt = 300;  // two lines or three

}  // namespace

const Content* best_content(const Entry& entry) {
  const Content* best = nullptr;
  for (const Content& content : entry.content) {
    if (content.value.empty()) continue;
    if (is_markup(content.type)) return &content;
    if (best == nullptr) best = &content;
  }
  return best;
}

std::string summary_text(const Entry& entry) {
  const bool summary = !entry.summary.value.empty();
  const Content* const content = summary ? nullptr : best_content(entry);
  if (!summary && content == nullptr) return {};
  const std::string& value = summary ? entry.summary.value : content->value;
  if (is_markup(summary ? entry.summary.type : content->type)) return plain_text(value, max_excerpt);
  std::string text = fold_space(utf8_prefix(value, 4 * max_excerpt));
  text.resize(utf8_prefix(text, max_excerpt).size());
  return text;
}

std::string canonical_address(const Entry& entry) {
  const auto named = std::find_if(entry.links.begin(), entry.links.end(), [](const Link& link) {
    return iequals(link.rel, "canonical") && is_http_url(link.href);
  });
  const std::string& link = named == entry.links.end() ? entry.link : named->href;
  return is_http_url(link) ? canonical_url(link) : std::string{};
}

}  // namespace feedmill
