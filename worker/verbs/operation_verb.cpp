// Runs an operation as a verb and prints its outcome.
#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "worker/base/json_text.hpp"
#include "worker/base/small_file.hpp"
#include "worker/operations/operation.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::size_t widest_label = 14;

std::string words(std::string_view member) {
  std::string text(member);
  std::ranges::replace(text, '_', ' ');
  return text;
}

/// A value for people; "" if null.
std::string text_of(const json::value& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return value.get_bool() ? "yes" : "no";
  return json_text(value);
}

using Lines = std::vector<std::pair<std::string, std::string>>;

/// One line per value; a list gets one line per element.
void add_lines(std::string_view member, const json::value& value, Lines& lines) {
  if (const json::array* const list = value.if_array()) {
    for (const json::value& one : *list) lines.emplace_back(words(member), text_of(one));
  } else if (std::string text = text_of(value); !text.empty()) {
    lines.emplace_back(words(member), std::move(text));
  }
}

void tell_row(const OperationOutcome& outcome, Terminal& terminal) {
  const json::object& row = outcome.rows.front();
  Lines lines;
  if (outcome.result.empty()) {
    for (const auto& [member, value] : row) add_lines(member, value, lines);
    terminal.tell(row, lines, widest_label);
    return;
  }
  lines.emplace_back(words(outcome.result), text_of(row.begin()->value()));
  for (const std::string_view member : outcome.shown) add_lines(member, row.at(member), lines);
  json::object told{{"result", outcome.result}};
  for (const auto& [member, value] : row) told[member] = value;
  if (lines.size() == 1)
    terminal.tell(std::move(told), visible(lines.front().first + " " + lines.front().second));
  else
    terminal.tell(std::move(told), lines, widest_label);
}

/// Runs OperationOutcome::then on its own loop. Throws Interrupted.
OperationOutcome finished(const OperationOutcome& begun, const FetchOptions& fetching) {
  asio::io_context loop(1);
  Fetcher fetcher(loop.get_executor(), fetching);
  std::optional<OperationOutcome> outcome;
  std::exception_ptr failed;
  bool ended = false;
  asio::cancellation_signal cancel;
  asio::co_spawn(
      loop, begun.then(fetcher),
      asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& error, OperationOutcome end) {
        ended = true;
        failed = error;
        outcome = std::move(end);
      }));
  while (!ended) {
    loop.run_one_for(interrupt_interval);
    if (interrupted()) cancel.emit(asio::cancellation_type::terminal);  // libcurl releases the transfer first
  }
  stop_if_interrupted();
  if (failed) std::rethrow_exception(failed);
  return std::move(*outcome);
}

/// Runs an operation over an open store and prints the outcome.
class Call {
 public:
  Call(const Operation& operation, const OperationValues& given, const VerbContext& context)
      : operation_(operation),
        given_(given),
        context_(context),
        fetching_(look_options(context.config)),
        public_url_(context.config.url_of_partition(context.config.push_out.public_url)) {}

  int tell() {
    if (operation_.is_list()) return tell_pages();
    OperationOutcome outcome = run();
    if (outcome.then) outcome = finished(outcome, fetching_);
    tell_row(outcome, context_.terminal);
    context_.terminal.flush();
    for (const std::string& note : outcome.notes) context_.terminal.note(visible(note));
    return outcome.is_no ? exits::no : exits::done;
  }

 private:
  OperationOutcome run() const {
    OperationOutcome outcome;
    do {
      stop_if_interrupted();
      const std::string progress = std::move(outcome.progress);
      outcome =
          operation_.run({context_.store, fetching_, public_url_, context_.config.push_out.timeout, progress}, given_);
    } while (!outcome.progress.empty());
    return outcome;
  }

  int tell_pages() {
    std::vector<Columns::Column> columns;
    for (const OperationColumn& column : operation_.columns)
      columns.push_back({column.member, column.width, column.right});
    Columns table(context_.terminal, columns, chosen_columns(given_));
    table.heading();
    bool any = false;
    std::int64_t left = given_.number("limit", std::numeric_limits<std::int64_t>::max());
    for (OperationOutcome page; left > 0;) {
      given_.put("limit", std::min<std::int64_t>(left, most_page));
      page = run();
      for (const json::object& row : page.rows) {
        if (left-- > 0) table.row(row, cells(row));
      }
      any = any || !page.rows.empty();
      if (page.next.empty()) break;
      given_.take_text(page_fields()[0], page.next);
    }
    if (!any) context_.terminal.note(operation_.none);
    return exits::done;
  }

  std::vector<std::string> cells(const json::object& row) const {
    std::vector<std::string> texts;
    for (const OperationColumn& column : operation_.columns) {
      const json::value* value = row.if_contains(column.member);
      if (value == nullptr) value = &row.at(column.otherwise);
      const std::string text = text_of(*value);
      texts.push_back(text.empty() ? "-" : text);
    }
    return texts;
  }

  const Operation& operation_;
  OperationValues given_;
  const VerbContext& context_;
  const FetchOptions fetching_;
  const std::string public_url_;
};

/// Replaces the paths in fields of kind `secret` by what their files hold. Throws VerbFailure.
void read_secrets(const Operation& operation, OperationValues& given, Terminal& terminal) {
  for (const OperationField& field : operation.fields) {
    if (field.kind != OperationField::Kind::secret || !given.has(field.name)) continue;
    const std::string file = given.text(field.name);
    auto secret = read_secret(file);
    if (!secret) throw VerbFailure{exits::bad_input, visible(fmt::format("{}: {}", file, secret.error()))};
    if (readable_by_all(file)) terminal.note(visible(readable_warning(file)));
    given.put(field.name, json::string(*secret));
  }
}

/// The values of the given key fields, joined by spaces.
std::string keys_of(const Operation& operation, const OperationValues& given) {
  std::vector<std::string> keys;
  for (const OperationField& field : operation.fields) {
    if (field.is_key && given.has(field.name)) keys.push_back(visible(given.text(field.name)));
  }
  return fmt::format("{}", fmt::join(keys, " "));
}

}  // namespace

int run_operation(const Operation& operation, const OperationValues& given, const VerbContext& context) {
  if (!operation.question.empty() && !given.truth("yes")) {
    confirm(context.terminal, fmt::format(fmt::runtime(operation.question), keys_of(operation, given)),
            fmt::format("{}; use --yes", operation.unasked), "nothing was changed");
  }
  OperationValues values = given;
  read_secrets(operation, values, context.terminal);
  try {
    return Call(operation, values, context).tell();
  } catch (const OperationRefused& refused) {
    throw VerbFailure{exit_of(refused.reason), visible(refused.detail)};
  }
}

}  // namespace feedmill
