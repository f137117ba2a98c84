#include "worker/hub/topic_target.hpp"

#include <algorithm>

#include "parsers/text/strings.hpp"
#include "storage/records/tokens.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {
namespace {

constexpr std::size_t longest_id = 256;

/// Parses "<score>:<entry id>".
std::optional<EntryCursor> read_before(std::string_view text) {
  const auto colon = text.find(':');
  EntryCursor cursor;
  if (colon == std::string_view::npos || !read_number(text.substr(0, colon), cursor.score)) return {};
  cursor.id = text.substr(colon + 1);
  if (cursor.id.empty() || cursor.id.size() > longest_id) return {};
  return cursor;
}

}  // namespace

std::optional<TopicTarget> read_topic_target(std::string_view path, std::string_view query) {
  constexpr std::string_view beginning = "/t/";
  if (!path.starts_with(beginning)) return {};
  path.remove_prefix(beginning.size());
  TopicTarget target;
  const std::string_view ending = path.substr(std::min(token_length, path.size()));
  if (ending != ".atom" && ending != ".json") return {};
  target.format = ending == ".json" ? TopicFormat::json : TopicFormat::atom;
  target.token = path.substr(0, token_length);
  if (!is_token(target.token)) return {};
  if (const auto before = parameter(query, "before")) {
    target.before = read_before(*before);
    target.unreadable_place = !target.before;
  }
  return target;
}

}  // namespace feedmill
