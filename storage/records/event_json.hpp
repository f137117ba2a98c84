// The JSON of events (DESIGN §4, RELIABILITY L12), without the head that only the script knows: seq, prev, entity_id.
#pragma once

#include <string>

#include "storage/records/commit.hpp"
#include "storage/records/event_detail.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

/// What follows `"entity_id":…,` for post_created or post_modified, of a quiet write post_mended; ends with "}". With
/// `detail.content` its last member is `post`, or `post_bytes` where the post is too large; commit.lua relies on that.
std::string post_event(const Commit& commit, const EntryWrite& write, std::int64_t now_seconds,
                       const EventDetail& detail = {});

/// The same for an event about the feed.
std::string feed_event(const Commit& commit, const FeedEvent& event, std::int64_t now_seconds);

/// {field: [old, new]} for `changed`; values of more than `longest` bytes as {field: {"old_bytes":…,"new_bytes":…}}. ""
/// stands for absent.
std::string changes_json(const Fields& old, const Fields& now, std::size_t longest);

}  // namespace feedmill
