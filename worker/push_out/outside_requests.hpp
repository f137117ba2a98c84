// Parses requests from the public: forms for the hub, URLs of topics, queries of the live stream (WEBSUB U1 to U3, U8;
// OPERATIONS V1, V2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/records/event_record.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/redis/values.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill {

/// A valid request to the hub.
struct HubRequest {
  std::string mode;      ///< "subscribe" or "unsubscribe"
  std::string callback;  ///< canonical URL; its query is kept
  std::string topic;     ///< URL as received
  std::string secret;    ///< less than 200 bytes; "" = none
  Milliseconds lease{};  ///< 1 h to 30 d; default 10 d
};

/// Parses a request (application/x-www-form-urlencoded, decoded once). Ignores unknown parameters; known ones must not
/// be repeated. The error is plain text for the subscriber.
boost::system::result<HubRequest, std::string> read_hub_request(std::string_view form);

// Parses the URL of a topic document (WEBSUB U1). Pure.

/// The path and query of a topic URL.
struct TopicTarget {
  std::string token;
  TopicFormat format{};
  std::optional<EntryCursor> before;
  bool unreadable_place = false;  ///< `before` is malformed: the topic has no such page
};

/// Parses "/t/<token>.atom" or ".json" with an optional `before=<score>:<entry id>`; nullopt for any other path.
std::optional<TopicTarget> read_topic_target(std::string_view path, std::string_view query);

// Parameters of a request for the live stream: filter and position (OPERATIONS V1, V2). Pure.

/// Parses an event id; nullopt if it is malformed.
std::optional<EventPlace> read_place(std::string_view text);

/// A valid request for the live stream.
struct LiveRequest {
  EventFilter filter;
  std::optional<EventPlace> after;  ///< none: only new events

  bool operator==(const LiveRequest&) const = default;
};

/// Parses `query`: `feed` and `channel`, repeatable; `type`, repeatable or with commas; `initial=1`; and
/// `last_event_id`. The argument `last_event_id` is the value of the Last-Event-ID header, "" = none; it takes
/// precedence. Ignores `topic` and `token`, which the caller checks. The error is one line for people. Linear.
boost::system::result<LiveRequest, std::string> read_live_request(std::string_view query,
                                                                  std::string_view last_event_id);

}  // namespace feedmill
