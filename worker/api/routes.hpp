// The API's table of routes (OPERATIONS A5).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/beast/http/verb.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "storage/records/stored_entry.hpp"
#include "storage/store/deployment.hpp"
#include "worker/api/call.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

/// Part of a sorted list of names, cached so that not every page reads the whole list.
struct NameStretch {
  std::string of;                  ///< which list, if there are several of this kind
  std::string from;                ///< the stretch starts after this name
  std::vector<std::string> names;  ///< sorted
  bool to_the_end = false;
  std::chrono::steady_clock::time_point read_at;
};

/// The most recently read stretch of each kind of list, shared by all clients.
struct NameStretches {
  NameStretch feeds, channels, channel_feeds;
};

/// The arguments of a read.
struct ApiReading {
  const Deployment& stores;            ///< all partitions, or the one the call is for
  std::span<NameStretches> stretches;  ///< for each store in `stores`
  const HostRules& hosts;
  const ApiCall& call;

  Store& store() const { return stores.front(); }
};

/// A method and path, and its handler: `read`, `op` or `operation`. A route without handler serves api_description.
struct ApiRoute {
  boost::beast::http::verb method{};
  std::string path;        ///< without api_base, as "/entries/{id}"; {…} is one segment
  std::string parameters;  ///< of the query, as read_parameters() expects them
  /// Handles a read; blocking and bounded; throws StoreFailure and OperationRefused.
  ApiReply (*read)(const ApiReading& reading) = nullptr;
  /// Handled by Api itself: `import`, `export` or `discover`.
  std::string_view op = {};
  /// Handled by running this operation.
  const Operation* operation = nullptr;
  bool of_all = false;         ///< can be about the merged stream of all partitions
  bool of_partitions = false;  ///< covers all partitions if none is named (RELIABILITY L31, L32)
  bool of_deployment = false;  ///< any partition can answer

  bool is_of_none() const { return read == nullptr && op.empty() && operation == nullptr; }
};

/// Whether HTTP has the value in the path or the body; other values are in the query.
bool is_in_path(const Operation& operation, const OperationField& field);
bool is_in_body(const Operation& operation, const OperationField& field);

inline constexpr std::string_view api_base = "/api/v1";

/// All routes; constant for the life of the program.
std::span<const ApiRoute> api_routes();

/// Whether `path`, without api_base, matches `route`; then sets `item` to the value of {…}.
bool is_at(const ApiRoute& route, std::string_view path, std::string& item);

/// The text of docs/openapi.json.
extern const std::string_view api_description;

// Parameters of reads. Each throws OperationRefused if the parameter is invalid.

/// The page size of a call.
std::size_t limit_of(const ApiCall& call);
/// The cursor in the parameter `before`; empty if it is not given.
std::optional<EntryCursor> before_of(const ApiCall& call);
/// The feed in the parameter `url`, in canonical spelling.
std::string feed_url_of(const ApiCall& call);
/// The flag `name` of a call.
bool flag_of(const ApiCall& call, std::string_view name);
/// A parameter that must not be empty if it is given.
const std::string& name_of(const ApiCall& call, std::string_view name);
/// The refusal of a parameter `after` that is not a cursor.
OperationRefused bad_cursor();
OperationRefused no_such_channel();

// Shared by reads with pages.
inline constexpr std::size_t entries_at_once = 10;  ///< read per store call: each may have 2 MiB
/// Total size of names and values in bytes.
std::size_t size_of(const Fields& fields);
/// Consecutive names of a sorted list.
struct NamePage {
  std::vector<std::string> names;
  boost::json::value next;  ///< cursor of the next page; null: there is none
};
/// A page of feed URLs, sorted and after `after`. Throws StoreFailure.
NamePage feed_page(const ApiReading& reading, const std::string& after, std::size_t limit);
/// A page of the channels of `user` ("" = all channels). Throws StoreFailure.
NamePage channel_page(const ApiReading& reading, const std::string& user, const std::string& after, std::size_t limit);
/// A page of the feeds of a channel; absent if there is no such channel. Throws StoreFailure.
std::optional<NamePage> channel_feed_page(const ApiReading& reading, const std::string& uid, const std::string& after,
                                          std::size_t limit);

/// Some feeds of a channel, in the order of their URLs.
struct ChannelPart {
  std::string uid;
  std::vector<std::string> urls;
};

struct ChannelFeeds {
  std::vector<ChannelPart> parts;  ///< in the order of channels; a channel without feeds is there, too
  std::string next;                ///< "" at the end
};

/// The next feeds of the channels of `user` ("" = of all channels), at most `most` and of at most 200 channels. `after`
/// is cursor_behind() of the last feed, or `next` of the previous page; "" = from the start. Throws StoreFailure, and
/// OperationRefused if it is neither.
ChannelFeeds channel_feeds_after(const ApiReading& reading, const std::string& user, const std::string& after,
                                 std::size_t most);

/// The cursor after a feed of a channel.
std::string cursor_behind(const std::string& uid, const std::string& url);

/// The rows of a page's entries, each with its feed as the member `feed`. A feed is looked up once.
class EntryRows {
 public:
  /// `channel`: feeds also get its title for them; "" = none. `stores` must outlive this.
  explicit EntryRows(const Deployment& stores, std::string channel = {})
      : stores_(stores), channel_(std::move(channel)) {}

  /// Appends the row of an entry, made of entry_json().
  void add(const StoredEntry& entry, boost::json::object row);
  std::size_t count() const { return rows_.size(); }
  std::size_t bytes() const { return bytes_; }  ///< of the entries, with their feeds
  /// Looks up the feeds of the entries added since the last call. Throws StoreFailure.
  void look_up();
  boost::json::array take() { return std::move(rows_); }

 private:
  const Deployment& stores_;
  const std::string channel_;
  boost::json::array rows_;
  std::vector<std::string> urls_;  // the feed of each row
  std::size_t bytes_ = 0, ready_ = 0;
  std::map<std::string, boost::json::object, std::less<>> feeds_;
};

// Handlers of reads, for the table.
ApiReply list_feeds(const ApiReading& reading);
ApiReply list_channels(const ApiReading& reading);
ApiReply list_channel_feeds(const ApiReading& reading);
ApiReply list_timeline(const ApiReading& reading);
ApiReply count_unread(const ApiReading& reading);
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

// The choice of a partition for a call, for a process that serves all of a deployment (RELIABILITY L29).

/// Whether a call names an entry by a plain number and no partition. The number may have been assigned when there were
/// fewer partitions, so its partition must be looked up.
bool names_entry_by_number(const ApiRoute& route, const ApiCall& call, unsigned count);

/// The partition named in the query, else that of the feed or entry in the call; `count` if it does not exist; nullopt
/// if the call names none. `given`: values of the route's operation.
std::optional<unsigned> partition_of_call(const ApiRoute& route, const ApiCall& call, const OperationValues& given,
                                          unsigned count);

}  // namespace feedmill
