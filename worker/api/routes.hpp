// What the API has: a table of its operations (OPERATIONS A5).
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/http/verb.hpp>

#include "storage/store/store.hpp"
#include "worker/api/call.hpp"
#include "worker/config/host_rules.hpp"

namespace feedmill {

/// A stretch of a list of names in their order, so that not every page has to look at all of them.
struct NameStretch {
  std::string of;                  ///< which list, where there are several of a kind
  std::string from;                ///< what it begins behind
  std::vector<std::string> names;  ///< sorted
  bool to_the_end = false;
  std::chrono::steady_clock::time_point read_at;
};

/// Of the page before of each kind of list, whoever asked for it.
struct NameStretches {
  NameStretch feeds, channels, channel_feeds;
};

/// What is read with.
struct ApiReading {
  Store& store;
  const HostRules& hosts;
  NameStretches& stretches;
  const ApiCall& call;
};

struct ApiRoute {
  boost::beast::http::verb method{};
  std::string_view path;        ///< "/entries/{id}", behind api_base; {…} is one segment
  std::string_view parameters;  ///< of its query, as read_parameters() takes them
  /// Reads, blocking and bounded; or null, and
  StoreResult<ApiReply> (*read)(const ApiReading& reading) = nullptr;
  /// the operation that is asked for (docs/REQUESTS.md), or `import`, `export`, `discover`. Neither: api_description.
  std::string_view op = {};
};

inline constexpr std::string_view api_base = "/api/v1";

/// All of them; constant for the life of the program.
std::span<const ApiRoute> api_routes();

/// Whether a path without api_base is one of `route`; `item` is then what stands for {…}.
bool is_at(const ApiRoute& route, std::string_view path, std::string& item);

/// docs/openapi.json
extern const std::string_view api_description;

// What the table refers to.
StoreResult<ApiReply> read_feeds(const ApiReading& reading);
StoreResult<ApiReply> read_feed(const ApiReading& reading);
StoreResult<ApiReply> read_explanation(const ApiReading& reading);
StoreResult<ApiReply> read_feed_entries(const ApiReading& reading);
StoreResult<ApiReply> read_entry_by_guid(const ApiReading& reading);
StoreResult<ApiReply> read_entry(const ApiReading& reading);
StoreResult<ApiReply> read_channels(const ApiReading& reading);
StoreResult<ApiReply> read_channel_feeds(const ApiReading& reading);
StoreResult<ApiReply> read_timeline(const ApiReading& reading);
StoreResult<ApiReply> read_notices(const ApiReading& reading);
StoreResult<ApiReply> read_rules(const ApiReading& reading);
StoreResult<ApiReply> read_events(const ApiReading& reading);
StoreResult<ApiReply> read_answer(const ApiReading& reading);

}  // namespace feedmill
