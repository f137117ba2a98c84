// The address of a topic's document, read (WEBSUB U1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/records/stored_entry.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill {

/// What the path and the query of a topic's address say.
struct TopicTarget {
  std::string token;
  TopicFormat format{};
  std::optional<EntryCursor> before;
  bool unreadable_place = false;  ///< `before` stands there and is none: the topic has no such page
};

/// "/t/<token>.atom" or ".json", with `before=<score>:<id of an entry>` or without; nothing for any other.
std::optional<TopicTarget> read_topic_target(std::string_view path, std::string_view query);

}  // namespace feedmill
