// What the API has: a table of its operations (OPERATIONS A5).
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/http/verb.hpp>
#include <boost/json/value.hpp>

#include "storage/records/stored_entry.hpp"
#include "storage/store/deployment.hpp"
#include "worker/api/call.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/operations/operation.hpp"

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
  const Deployment& stores;            ///< all partitions, or the one that the call is for
  std::span<NameStretches> stretches;  ///< of each of them
  const HostRules& hosts;
  const ApiCall& call;

  Store& store() const { return stores.front(); }
};

struct ApiRoute {
  boost::beast::http::verb method{};
  std::string path;        ///< "/entries/{id}", behind api_base; {…} is one segment
  std::string parameters;  ///< of its query, as read_parameters() takes them
  /// Reads, blocking and bounded; throws StoreFailure. Or null, and
  ApiReply (*read)(const ApiReading& reading) = nullptr;
  /// `import`, `export`, `discover`; or "", and
  std::string_view op = {};
  /// the operation that is carried out. None of them: api_description.
  const Operation* operation = nullptr;
  bool of_all = false;         ///< may be about the one stream of all partitions
  bool of_partitions = false;  ///< of all partitions together, if none is named (RELIABILITY L31, L32)

  bool is_of_none() const { return read == nullptr && op.empty() && operation == nullptr; }
};

/// Where HTTP has a value: in the path, the body, or the query.
bool is_in_path(const Operation& operation, const OperationField& field);
bool is_in_body(const Operation& operation, const OperationField& field);

inline constexpr std::string_view api_base = "/api/v1";

/// All of them; constant for the life of the program.
std::span<const ApiRoute> api_routes();

/// Whether a path without api_base is one of `route`; `item` is then what stands for {…}.
bool is_at(const ApiRoute& route, std::string_view path, std::string& item);

/// docs/openapi.json
extern const std::string_view api_description;

// What reads share: pages.
inline constexpr std::size_t entries_at_once = 10;  ///< per store call: each may have 2 MiB
/// How many are wanted; 0 = what is given makes no sense.
std::size_t limit_of(const ApiCall& call);
ApiReply bad_limit();
/// `before` of a call, where it has one; what is wrong with it.
std::optional<ApiReply> read_before(const ApiCall& call, std::optional<EntryCursor>& before);
/// Of names and values, in bytes.
std::size_t size_of(const Fields& fields);
struct NamePage {
  std::vector<std::string> names;
  boost::json::value next;  ///< the cursor of the page behind it; null: none
};
/// URLs of feeds, sorted, behind `after`. Throws StoreFailure.
NamePage feed_page(const ApiReading& reading, const std::string& after, std::size_t limit);

// What the table refers to.
ApiReply list_feeds(const ApiReading& reading);
ApiReply list_channels(const ApiReading& reading);
ApiReply list_channel_feeds(const ApiReading& reading);
ApiReply list_timeline(const ApiReading& reading);
ApiReply list_notices(const ApiReading& reading);
ApiReply list_rules(const ApiReading& reading);
ApiReply read_feed(const ApiReading& reading);
ApiReply read_explanation(const ApiReading& reading);
ApiReply read_feed_entries(const ApiReading& reading);
ApiReply read_entry_by_guid(const ApiReading& reading);
ApiReply read_entry(const ApiReading& reading);
ApiReply read_events(const ApiReading& reading);
ApiReply read_snapshot(const ApiReading& reading);
ApiReply read_answer(const ApiReading& reading);

// Which partition a call is for, where a process serves all of a deployment (RELIABILITY L29).

/// Whether a call names an entry and does not say what partition it is in: where numbers were given out before there
/// were as many, that is to be asked.
bool names_entry_by_number(const ApiRoute& route, const ApiCall& call, unsigned count);

/// The partition named in the query, else that of the feed or entry in the call; `count` if the named one does not
/// exist, absent if the call names none. `given`: values of the route's operation.
std::optional<unsigned> partition_of_call(const ApiRoute& route, const ApiCall& call, const OperationValues& given,
                                          unsigned count);

}  // namespace feedmill
