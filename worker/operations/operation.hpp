// The operations on a store, one row each. The command line, /api/v1 and their reference pages loop over the rows
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
    secret,       ///< like text; the command line takes the path of a file that holds it
    url,          ///< an absolute http or https URL, in canonical spelling
    feed,         ///< the URL of a feed, in canonical spelling
    channel,      ///< the name of a channel
    new_channel,  ///< the name of a channel that may be new
    user,         ///< the name of a user
    new_user,     ///< the name of a user with notices
    webhook,      ///< the id of a webhook
    entry,        ///< the id or number of an entry
    entries,      ///< entry ids, 1 to `most`, or "all", an empty list; as text separated by spaces
    notices,      ///< notice ids, in the form of `entries`
    channels,     ///< names of channels, 1 to `most`, each once; as text a JSON array
    settings,     ///< settings of a feed; a request has a field "set.<name>" for each
    object,       ///< a JSON object
    duration,     ///< "24h", from `least` to `most` milliseconds
    number,       ///< from `least` to `most`
    truth,        ///< a flag without a value; "yes" or "no" in KEY=VALUE
    size,         ///< bytes: "512KiB"
    place,        ///< position in an order of entries: "1763689990:Entry:17"
    address,      ///< the URL of a feed as typed, unchecked
    choice        ///< one of `choices`
  };

  std::string_view name;  ///< in JSON and in queries
  Kind kind = Kind::text;
  std::string_view flag{};   ///< "--type"; "" = an argument without a flag
  std::string_view unit{};   ///< name of the value in help: "TYPE"
  std::string_view about{};  ///< one line without a full stop
  bool required = false;
  bool either = false;   ///< excludes the other fields with `either`; if `required`, exactly one must be given
  bool repeats = false;  ///< a list in JSON, with at most `most` elements
  bool is_key = false;   ///< names something stored, by any name that may be stored; HTTP has it in the query
  bool told = false;     ///< repeated in the answer to a request
  bool clears = false;   ///< takes an empty text, which removes the stored one
  bool narrows = false;  ///< limits the change of a request: an empty text is refused, not absent
  std::int64_t least = 0, most = 0;
  std::span<const std::string_view> choices{};

  /// The KEY of this field in KEY=VALUE, which is derived from its flag: "feed" for "--feed".
  std::string key() const;
};

/// The arguments of a call in canonical form, checked against the kinds and bounds of their fields.
class OperationValues {
 public:
  bool has(std::string_view name) const { return values_.contains(name); }
  /// "" if it was not given.
  std::string text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  bool truth(std::string_view name) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  /// The value of a field of kind `size`.
  std::optional<std::uint64_t> bytes(std::string_view name) const;
  /// The value of a field of kind `place`.
  std::optional<EntryCursor> place(std::string_view name) const;
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise) const;
  /// The value of a field of kind `settings` or `object`; empty if it was not given.
  boost::json::object object(std::string_view name) const;
  /// Replaces a value; the new one must be valid for the field of that name.
  void put(std::string_view name, boost::json::value value) { values_[name] = std::move(value); }

  /// Sets a value from the command line or a query, or appends it to a list; "" empties a list. Returns the error, for
  /// people and not cleaned; "" if there is none.
  std::string take_text(const OperationField& field, std::string_view text);
  /// Sets a value from JSON; null empties a list. Returns the error like take_text().
  std::string take_json(const OperationField& field, const boost::json::value& value);

 private:
  std::string take_number(const OperationField& field, std::int64_t number);

  boost::json::object values_;
};

/// Thrown by operations that refuse a call.
struct OperationRefused {
  std::string_view reason;  ///< a reason in status_of(), which gives the HTTP status and the exit code
  std::string detail;       ///< for people, not cleaned
};

/// The result of an operation.
struct OperationOutcome {
  std::string_view result{};                ///< as "added"; "" for reads
  std::vector<boost::json::object> rows{};  ///< JSON for programs, names and values for people
  std::vector<std::string_view> shown{};    ///< of a change: the members shown to people in addition to the first
  std::string next{};                       ///< of a list: value of `after` for the next page, "" at the end
  std::vector<std::string> notes{};         ///< for people, not cleaned
  bool is_no = false;                       ///< the exit code is 1
  std::string made{};                       ///< path of the new resource, as "/webhook?id=wh_…"
  /// Not empty if the operation is unfinished: then call run() again with this as `progress`, after other callers.
  std::string progress{};
  /// The rest of an operation that sends a request; runs on the caller's loop.
  std::function<boost::asio::awaitable<OperationOutcome>(Fetcher& fetcher)> then{};
};

/// The environment of a call; must outlive it.
struct OperationContext {
  Store& store;
  const FetchOptions& fetching;        ///< includes the egress policy
  const std::string& public_url;       ///< push_out.public_url for the store's partition
  std::chrono::milliseconds patience;  ///< push_out.timeout
  std::string_view progress{};         ///< OperationOutcome::progress of the previous call, "" at first
  std::string_view app{};              ///< name of the API's token, "" on the command line
};

struct RequestCall;

/// A column of a list on the terminal.
struct OperationColumn {
  std::string_view member;
  std::size_t width;             ///< 0: unlimited; for the last column
  std::string_view otherwise{};  ///< member shown instead if a row lacks `member`
  bool right = false;
};

/// A row of the table: how an operation is called, its arguments, and its function.
struct Operation {
  enum class Access {
    read,   ///< only reads plain keys (SECURITY §10)
    ask,    ///< reads and sends a request; not allowed for read-only tokens
    change  ///< writes
  };

  std::string_view verb{};        ///< as "webhook add"; "" = the command line has other verbs
  std::string_view method, path;  ///< as "POST", "/webhooks"; {…} is the field of that name
  std::string_view about;         ///< one line without a full stop
  std::string_view example{};     ///< a command line with the verb
  Access access{};
  std::span<const OperationField> fields{};
  /// Runs the operation. Blocking and bounded. Throws OperationRefused and StoreFailure.
  OperationOutcome (*run)(const OperationContext& context, const OperationValues& given) = nullptr;
  /// Set instead of `run` for operations on stream:requests: executes the request, or a part of a long one, and answers
  /// it. Blocking and bounded. Throws like run().
  void (*answer)(const RequestCall& call) = nullptr;
  RequestOp request{};  ///< the op that `answer` executes
  /// Checks the combination of values. Throws OperationRefused.
  void (*check)(const OperationValues& given) = nullptr;
  bool assigns = false;                        ///< the command line takes all fields except keys as KEY=VALUE
  std::string_view question{};                 ///< asks people to confirm; {} is replaced by the keys
  std::string_view unasked{};                  ///< the consequence, printed if no person can be asked
  std::string_view rows{};                     ///< of a list: name of the rows over HTTP, as "webhooks"
  std::span<const OperationColumn> columns{};  ///< of a list
  std::string_view none{};                     ///< of a list: message if it is empty
  std::string_view exits{};                    ///< exit codes with a special meaning

  bool is_list() const { return !rows.empty(); }
  bool is_request() const { return answer != nullptr; }
};

/// Makes the row of an operation on stream:requests.
constexpr Operation request(RequestOp op, std::string_view method, std::string_view path, std::string_view about,
                            std::span<const OperationField> fields, void (*answer)(const RequestCall&),
                            void (*check)(const OperationValues&) = nullptr) {
  Operation row{.method = method, .path = path, .about = about, .access = Operation::Access::change, .fields = fields};
  row.answer = answer;
  row.request = op;
  row.check = check;
  return row;
}

/// The operations on one kind of resource; their verbs share a first word.
struct OperationFamily {
  std::string_view verb{}, about{};  ///< as "webhook" and its line in help
  std::string_view group{};          ///< heading in help
  bool of_all = false;               ///< applies to the merged stream of all partitions (RELIABILITY L28)
  bool of_deployment = false;        ///< is the same in every partition
  std::span<const Operation> operations;
};

/// All families, in the order of the help; constant for the life of the program.
std::span<const OperationFamily> operation_families();

/// ", did you mean NAME?" for a mistyped name; "" if none of `names` is similar.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

/// The error in a combination of values, for people; `text` is "" if there is none.
struct OperationObjection {
  std::string text;
  bool is_missing = false;  ///< a field is missing; otherwise the given fields exclude each other
};
/// Checks the combination of values. `called` returns the name that the interface in use has for a field.
OperationObjection objection_to(
    std::span<const OperationField> fields, const OperationValues& given,
    const std::function<std::string(const OperationField&)>& called = [](const OperationField& field) {
      return std::string(field.name);
    });

/// The values in the form of a request, in the order of the operation's fields.
Fields request_fields(const Operation& operation, const OperationValues& given);

/// The canonical feed URL among the values; "" if there is none.
std::string feed_of(const Operation& operation, const OperationValues& given);

/// The fields of every list over HTTP: `after` and `limit`.
std::span<const OperationField> page_fields();
inline constexpr std::size_t usual_page = 50, most_page = 200;
/// Bytes of a title that a channel gives to a feed.
inline constexpr std::size_t longest_title = 1024;
/// A page ends after this many bytes, so it is at most one row longer.
inline constexpr std::size_t enough_bytes = std::size_t{2} << 20U;

// The reasons of refusals for programs, with their HTTP status and exit code.

/// The HTTP status of a reason; 500 if docs/API.md does not list the reason.
unsigned status_of(std::string_view reason);
/// The sentence for a refusal without a detail; "" for reasons that always have one.
std::string_view text_of(std::string_view reason);
/// The exit code of a reason (OPERATIONS §1).
int exit_of(std::string_view reason);

}  // namespace feedmill
