// Operations on a store, one row each: the command line, /api/v1 and their reference pages loop over the rows
// (OPERATIONS §1, A5).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "storage/queues/requests.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/deployment.hpp"
#include "storage/store/store.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// A parameter of an operation.
struct OperationField {
  enum class Kind {
    text,         ///< UTF-8 without control characters, at most `most` bytes
    opaque,       ///< any UTF-8, at most `most` bytes
    url,          ///< an absolute http or https URL, in canonical spelling
    feed,         ///< the URL of a feed, in canonical spelling
    channel,      ///< the name of a channel
    new_channel,  ///< the name of a channel that may be new
    user,         ///< the name of a user
    new_user,     ///< the name of a user with notices
    webhook,      ///< the id of a webhook
    entry,        ///< the id or number of an entry
    entries,      ///< entry ids, 1 to `most`, or "all", an empty list; as text separated by spaces
    notices,      ///< notice ids, likewise
    channels,     ///< names of channels, 1 to `most`, each once; as text a JSON array
    settings,     ///< settings of a feed; in a request a field "set.<name>" for each
    object,       ///< a JSON object
    duration,     ///< "24h", from `least` to `most` milliseconds
    number,       ///< from `least` to `most`
    truth,        ///< a flag without a value; "yes" or "no" in KEY=VALUE
    size,         ///< bytes: "512KiB"
    place,        ///< of an entry in an order: "1763689990:Entry:17"
    address,      ///< the URL of a feed as typed, unchecked
    choice        ///< one of `choices`
  };

  std::string_view name;  ///< in JSON and in a query
  Kind kind = Kind::text;
  std::string_view flag{};   ///< "--type"; "" = an argument without a flag
  std::string_view unit{};   ///< the value's name in help: "TYPE"
  std::string_view about{};  ///< one line without a full stop
  bool required = false;
  bool either = false;   ///< excludes the other `either` fields; if `required`, exactly one is needed
  bool repeats = false;  ///< a list in JSON, of at most `most`
  bool is_key = false;   ///< names an existing thing, by any name that may be stored; in the query over HTTP
  bool told = false;     ///< repeated in the answer to a request
  std::int64_t least = 0, most = 0;
  std::span<const std::string_view> choices{};

  /// Its KEY in KEY=VALUE, from its flag: "feed" for "--feed".
  std::string key() const;
};

/// Arguments of a call, checked against the kinds and bounds of their fields, in canonical spelling.
class OperationValues {
 public:
  bool has(std::string_view name) const { return values_.contains(name); }
  /// "" if not given.
  std::string text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  bool truth(std::string_view name) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  /// Of a size.
  std::optional<std::uint64_t> bytes(std::string_view name) const;
  /// Of a place.
  std::optional<EntryCursor> place(std::string_view name) const;
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise) const;
  /// Of settings and object; empty if not given.
  boost::json::object object(std::string_view name) const;
  /// Replaces a value with one that a field of that name accepts.
  void put(std::string_view name, boost::json::value value) { values_[name] = std::move(value); }

  /// Sets a value from the command line or a query, or appends it to a list; "" empties a list. Returns the error for
  /// people, not cleaned; "" = none.
  std::string take_text(const OperationField& field, std::string_view text);
  /// Sets a value from JSON; null empties a list. Returns the error like take_text().
  std::string take_json(const OperationField& field, const boost::json::value& value);

 private:
  std::string take_number(const OperationField& field, std::int64_t number);

  boost::json::object values_;
};

/// Thrown by operations that refuse a call.
struct OperationRefused {
  std::string_view reason;  ///< a row of reasons.cpp: gives the HTTP status and the exit code
  std::string detail;       ///< for people, not cleaned
};

struct OperationOutcome {
  std::string_view result{};                ///< "added"; "" for reads
  std::vector<boost::json::object> rows{};  ///< JSON for programs, names and values for people
  std::vector<std::string_view> shown{};    ///< of a change: members shown to people after the first
  std::string next{};                       ///< of a list: `after` for the next page, "" at the end
  std::vector<std::string> notes{};         ///< for people, not cleaned
  bool is_no = false;                       ///< exit code 1
  std::string made{};                       ///< path of a new resource: "/webhook?id=wh_…"
  /// Not empty: unfinished; call run() again with it as `progress`, after other callers.
  std::string progress{};
  /// The rest of the operation, which sends a request; runs on the caller's loop.
  std::function<boost::asio::awaitable<OperationOutcome>(Fetcher& fetcher)> then{};
};

/// Environment of a call; outlives it.
struct OperationContext {
  Store& store;
  const FetchOptions& fetching;        ///< egress policy
  const std::string& public_url;       ///< push_out.public_url of the store's partition
  std::chrono::milliseconds patience;  ///< push_out.timeout
  std::string_view progress{};         ///< OperationOutcome::progress of the previous call, "" at first
};

struct RequestCall;

struct OperationColumn {
  std::string_view member;
  std::size_t width;             ///< 0: unlimited (the last column)
  std::string_view otherwise{};  ///< member shown instead if a row lacks it
  bool right = false;
};

struct Operation {
  enum class Access {
    read,   ///< reads plain keys (SECURITY §10)
    ask,    ///< reads, and sends a request: not allowed to read-only tokens
    change  ///< writes
  };

  std::string_view verb{};        ///< "webhook add"; "" = the command line has other verbs
  std::string_view method, path;  ///< "POST", "/webhooks"; {…} is the field of that name
  std::string_view about;         ///< one line without a full stop
  std::string_view example{};     ///< of the verb
  Access access{};
  std::span<const OperationField> fields{};
  /// Blocking and bounded. Throws OperationRefused and StoreFailure.
  OperationOutcome (*run)(const OperationContext& context, const OperationValues& given) = nullptr;
  /// For operations on stream:requests, in place of `run`: carries one out, of a long one a part, and answers it.
  /// Blocking and bounded. Throws like run().
  void (*answer)(const RequestCall& call) = nullptr;
  RequestOp request{};  ///< the op of `answer`
  /// Checks the values together. Throws OperationRefused.
  void (*check)(const OperationValues& given) = nullptr;
  bool assigns = false;                        ///< the command line sets all fields except keys by KEY=VALUE
  std::string_view question{};                 ///< confirmation asked of people; {} becomes the keys
  std::string_view unasked{};                  ///< the consequence, printed if no person can be asked
  std::string_view rows{};                     ///< of a list: name of its rows over HTTP, "webhooks"
  std::span<const OperationColumn> columns{};  ///< of a list
  std::string_view none{};                     ///< of a list: message if it is empty
  std::string_view exits{};                    ///< exit codes with a special meaning

  bool is_list() const { return !rows.empty(); }
  bool is_request() const { return answer != nullptr; }
};

/// The row of an operation on stream:requests.
constexpr Operation request(RequestOp op, std::string_view method, std::string_view path, std::string_view about,
                            std::span<const OperationField> fields, void (*answer)(const RequestCall&),
                            void (*check)(const OperationValues&) = nullptr) {
  Operation row{.method = method, .path = path, .about = about, .access = Operation::Access::change, .fields = fields};
  row.answer = answer;
  row.request = op;
  row.check = check;
  return row;
}

/// Operations on one kind of resource; verbs below one word.
struct OperationFamily {
  std::string_view verb{}, about{};  ///< "webhook" and its line of help
  std::string_view group{};          ///< heading in help
  bool of_all = false;               ///< applies to the merged stream of all partitions (RELIABILITY L28)
  std::span<const Operation> operations;
};

/// All families in the order of the help; constant for the life of the program.
std::span<const OperationFamily> operation_families();

/// ", did you mean NAME?" for a mistyped name, "" if none of `names` is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

/// The error in the combination of values, for people; no text: none.
struct OperationObjection {
  std::string text;
  bool is_missing = false;  ///< a field is missing; else given fields exclude each other
};
/// `called` returns the surface's name of a field.
OperationObjection objection_to(std::span<const OperationField> fields, const OperationValues& given,
                                const std::function<std::string(const OperationField&)>& called);

/// The values as a request has them, in the order of the operation's fields.
Fields request_fields(const Operation& operation, const OperationValues& given);

/// The feed URL among the values, canonical; "" = none.
std::string feed_of(const Operation& operation, const OperationValues& given);

/// Fields of every list over HTTP: `after`, `limit`.
std::span<const OperationField> page_fields();
inline constexpr std::size_t usual_page = 50, most_page = 200;
/// Bytes after which a page ends: it holds at most one row more.
inline constexpr std::size_t enough_bytes = std::size_t{2} << 20U;

// Reasons of refusals as programs read them, with their HTTP status and exit code.

/// The HTTP status of a reason; 500 if docs/API.md does not list it.
unsigned status_of(std::string_view reason);
/// The exit code of a reason (OPERATIONS §1).
int exit_of(std::string_view reason);

}  // namespace feedmill
