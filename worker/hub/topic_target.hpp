// Parses the URL of a topic document (WEBSUB U1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/records/stored_entry.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill {

/// Path and query of a topic URL.
struct TopicTarget {
  std::string token;
  TopicFormat format{};
  std::optional<EntryCursor> before;
  bool unreadable_place = false;  ///< malformed `before`: the topic has no such page
};

/// Parses "/t/<token>.atom" or ".json", with an optional `before=<score>:<entry id>`; empty for any other path.
std::optional<TopicTarget> read_topic_target(std::string_view path, std::string_view query);

}  // namespace feedmill
