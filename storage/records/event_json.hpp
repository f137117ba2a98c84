// The JSON of events (DESIGN §4, RELIABILITY L12) without the head that the script adds: seq, prev, entity_id.
#pragma once

#include <string>

#include "storage/records/commit.hpp"
#include "storage/records/event_detail.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

/// The JSON after `"entity_id":…,` of post_created or post_modified, or of post_mended for a quiet write; ends with
/// "}". With `detail.content` the last member is `post`, or `post_bytes` if the post is too large; commit.lua relies on
/// that.
std::string post_event(const Commit& commit, const EntryWrite& write, std::int64_t now_seconds,
                       const EventDetail& detail = {});

/// The JSON after `"entity_id":…,` of an event about the feed.
std::string feed_event(const Commit& commit, const FeedEvent& event, std::int64_t now_seconds);

/// {field: [old, new]} for `changed`; values over `longest` bytes as {field: {"old_bytes":…,"new_bytes":…}}. "" =
/// absent.
std::string changes_json(const Fields& old, const Fields& now, std::size_t longest);

}  // namespace feedmill
