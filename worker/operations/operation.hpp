// What can be asked of a store, each operation said once: the command line, /api/v1 and the pages about them loop over
// these rows (OPERATIONS §1, A5).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "storage/store/store.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// A value that an operation takes.
struct OperationField {
  enum class Kind {
    text,      ///< UTF-8 without control characters, at most `most` bytes
    url,       ///< an absolute http or https URL, kept in its canonical spelling
    feed,      ///< the same, of a feed
    channel,   ///< the name of a channel
    webhook,   ///< the id of a webhook
    duration,  ///< "24h", at most `most` milliseconds
    number,    ///< from `least` to `most`
    truth,     ///< a flag without a value; "yes" or "no" in KEY=VALUE
    choice     ///< one of `choices`
  };

  std::string_view name;  ///< its member in JSON, its parameter in a query
  Kind kind = Kind::text;
  std::string_view flag{};  ///< "--type"; "" = an argument without a flag
  std::string_view unit{};  ///< what help calls its value: "TYPE"
  std::string_view about{};
  bool required = false;
  bool either = false;   ///< excludes the others that are so; with `required`, one of them is needed
  bool repeats = false;  ///< a list in JSON, of at most `most`
  bool is_key = false;   ///< names what the operation is about, under any name that may be stored: HTTP has it in the
                         ///< query
  std::int64_t least = 0, most = 0;
  std::span<const std::string_view> choices{};

  /// Its KEY in KEY=VALUE: "feed" of "--feed", whatever the list is called in JSON.
  std::string key() const;
};

/// The values that were given: of the kind, within the bounds and in the spelling of their fields.
class OperationValues {
 public:
  bool has(std::string_view name) const { return values_.contains(name); }
  /// "" where it was not given.
  std::string text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  bool truth(std::string_view name) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise) const;

  /// Takes a value as the command line and queries have it; one more of a list, which "" empties. What is wrong with
  /// it, for people and not cleaned, "" when nothing is. So does the next.
  std::string take_text(const OperationField& field, std::string_view text);
  /// The same as JSON has it; null empties a list.
  std::string take_json(const OperationField& field, const boost::json::value& value);

 private:
  boost::json::object values_;
};

/// Why an operation was not carried out. Operations throw it.
struct OperationRefused {
  std::string_view reason;  ///< no_such_webhook: HTTP's status and the exit code follow from it
  std::string detail;       ///< for people, not cleaned
};

/// A store that did not answer, or refused. Operations throw it.
struct StoreFailure {
  StoreError error;
};

/// What the store answered. Throws StoreFailure.
template <class T>
T answered(StoreResult<T> answer) {
  if (answer.has_error()) throw StoreFailure{answer.error()};
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

struct OperationOutcome {
  std::string_view result{};               ///< "added"; "" of what only reads
  std::vector<boost::json::object> rows{}; ///< what programs are told; people read names and values
  std::vector<std::string_view> shown{};   ///< of a change: members that people read besides the first
  std::string next{};                      ///< of a list: `after` of the next page, "" at the end
  std::vector<std::string> notes{};        ///< for people, not cleaned
  bool is_no = false;                      ///< the answer is no: exit code 1
  std::string made{};                      ///< where HTTP finds what is new: "/webhook?id=wh_…"
  /// Not done yet: to be called again with this as `progress`, so that others have their turn.
  std::string progress{};
  /// What is left: a request to somebody else, on the caller's loop, which must not wait for it.
  std::function<boost::asio::awaitable<OperationOutcome>(Fetcher& fetcher)> then{};
};

/// What an operation works with; all of it outlives the call.
struct OperationContext {
  Store& store;
  const FetchOptions& fetching;        ///< which addresses may be reached
  const std::string& public_url;       ///< push_out.public_url, of the store's partition
  std::chrono::milliseconds patience;  ///< with a receiver: push_out.timeout
  std::string_view progress{};         ///< of the outcome before, "" at first
};

struct OperationColumn {
  std::string_view member;
  std::size_t width;             ///< 0: as wide as it comes (the last)
  std::string_view otherwise{};  ///< the member to show where a row has none of that name
  bool right = false;
};

struct Operation {
  enum class Access {
    read,   ///< plain keys; no other right is needed (SECURITY §10)
    ask,    ///< the same, and a request to somebody else: no token that only reads may cause it
    change  ///< writes
  };

  std::string_view verb;             ///< "webhook add"
  std::string_view method, path;     ///< "POST", "/webhooks"
  std::string_view about;            ///< one line without a full stop
  std::string_view example;          ///
  Access access{};                   ///
  std::span<const OperationField> fields{};
  /// Blocking and bounded. Throws OperationRefused and StoreFailure.
  OperationOutcome (*run)(const OperationContext& context, const OperationValues& given) = nullptr;
  bool assigns = false;              ///< the command line takes what is no key as KEY=VALUE
  std::string_view question{};       ///< a person must say yes to it; {} stands for what is named
  std::string_view unasked{};        ///< where nobody can be asked, what it would do
  std::string_view rows{};           ///< of a list: what HTTP calls its rows, "webhooks"
  std::span<const OperationColumn> columns{};  ///< of a list
  std::string_view none{};                     ///< of a list: what people read where it is empty
  std::string_view exits{};                    ///< what its exit code says besides the usual

  bool is_list() const { return !rows.empty(); }
};

/// Operations on one kind of thing, verbs below one word.
struct OperationFamily {
  std::string_view verb, about;  ///< "webhook" and its line of help
  std::string_view group;        ///< the heading that it stands under
  bool of_all = false;           ///< it is about the one stream of all partitions (RELIABILITY L28)
  std::span<const Operation> operations;
};

/// All of them, in the order of the help; constant for the life of the program.
std::span<const OperationFamily> operation_families();

/// What is still missing of the values, or excludes each other; "" = nothing. `called` says what a surface calls a
/// field.
std::string objection_to(const Operation& operation, const OperationValues& given,
                         const std::function<std::string(const OperationField&)>& called);

/// The feed that the operation is about, canonical; "" where it is about none.
std::string feed_of(const Operation& operation, const OperationValues& given);

/// A page of a list: `after` and `limit`, which every list takes over HTTP.
std::span<const OperationField> page_fields();
inline constexpr std::size_t usual_page = 50, most_page = 200;

}  // namespace feedmill
