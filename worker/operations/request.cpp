#include "worker/operations/request.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/lists/discovery.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/event_record.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/base/terminal.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;
using Kind = OperationField::Kind;

constexpr std::size_t longest_quoted = 100;
constexpr std::string_view setting = "set.";

std::string shown(std::string_view text) {
  return visible(text.substr(0, longest_quoted));
}

bool is_one_of(std::string_view text, std::string_view characters) {
  return std::ranges::all_of(text, [&](char c) { return is_alnum(c) || characters.find(c) != std::string_view::npos; });
}

const Operation* operation_of(RequestOp op) {
  for (const OperationFamily& family : operation_families()) {
    for (const Operation& one : family.operations) {
      if (one.is_request() && one.request == op) return &one;
    }
  }
  return nullptr;
}

/// The field of an operation for a request's field `name`; null if there is none.
const OperationField* field_named(const Operation& operation, std::string_view name) {
  const auto found = std::ranges::find_if(operation.fields, [&](const OperationField& field) {
    return field.kind == Kind::settings ? name.starts_with(setting) : field.name == name;
  });
  return found == operation.fields.end() ? nullptr : &*found;
}

/// The members of the answer that repeat the request.
std::string members_of(const Request& request) {
  std::string members;
  for (const OperationField& field : request.operation->fields) {
    if (field.told && request.given.has(field.name))
      members += fmt::format("\"{}\":{},", field.name, json_string(request.given.text(field.name)));
  }
  if (request.op == RequestOp::add && request.given.has("url") && !is_page(request))
    members += fmt::format("\"feed\":{},", json_string(request.given.text("url")));
  return members;
}

/// Reads one record and stops at the first problem.
class RequestReader {
 public:
  explicit RequestReader(const RequestRecord& record) : record_(record) { request_.asked.id = record.id; }

  Request read() {
    try {
      read_all();
    } catch (OperationRefused& problem) {
      request_.problem = std::move(problem);
    }
    if (request_.operation != nullptr) {
      request_.asked.feed_url = request_.given.text("url");
      request_.asked.members = members_of(request_);
    }
    return std::move(request_);
  }

 private:
  void read_all() {
    const std::string word(field_of(record_.fields, "op"));
    const auto op = request_op(word);
    request_.asked.op = op ? word : shown(word);
    if (!record_.too_long) request_.asked.hash = content_hash(record_.fields);
    read_name();
    if (record_.too_long)
      throw OperationRefused{"too_long",
                             fmt::format("a request has at most {} KiB and 200 fields", longest_request >> 10U)};
    if (word.empty()) throw OperationRefused{"missing_field", "op is missing"};
    if (!op) throw OperationRefused{"unknown_op", "no such op; see docs/REQUESTS.md"};
    request_.op = *op;
    request_.operation = operation_of(*op);
    for (std::size_t i = 0; i < record_.fields.size(); ++i) check_name(i);
    take_values();
  }

  /// Reads app and ref. Invalid ones are not repeated in the answer.
  void read_name() {
    const std::string_view app = field_of(record_.fields, "app"), ref = field_of(record_.fields, "ref");
    if (app.size() > 64 || !is_one_of(app, "._-"))
      throw OperationRefused{"bad_value", "app: expected 1 to 64 ASCII letters, digits, dots, dashes and underscores"};
    request_.asked.app = app.empty() ? "default" : app;
    if (!ref.empty() && !is_ref(ref))
      throw OperationRefused{"bad_value",
                             "ref: expected 1 to 128 ASCII letters, digits, dots, colons, dashes and underscores, such "
                             "as a UUID"};
    request_.asked.ref = ref;
  }

  void check_name(std::size_t place) const {
    const std::string& name = record_.fields[place].first;
    const bool is_common = name == "op" || name == "app" || name == "ref";
    if (!is_common && field_named(*request_.operation, name) == nullptr)
      throw OperationRefused{"unknown_field", fmt::format("{} has no field {}", request_.asked.op, shown(name))};
    const auto before = std::span(record_.fields).first(place);
    if (std::ranges::find(before, name, &Fields::value_type::first) != before.end())
      throw OperationRefused{"bad_value", shown(name) + " is given twice"};
  }

  /// An empty field counts as absent. Settings and fields with `clears` are removed, fields with `narrows` rejected.
  void take_values() {
    json::object settings;
    for (const auto& [name, text] : record_.fields) {
      const OperationField* const field = field_named(*request_.operation, name);
      if (field == nullptr) continue;
      if (!is_utf8(text)) throw OperationRefused{"bad_value", shown(name) + ": not valid UTF-8"};
      if (field->kind == Kind::settings) {
        settings[name.substr(setting.size())] = text;
      } else if (!text.empty() || field->clears || field->narrows) {
        const std::string wrong = request_.given.take_text(*field, text);
        if (!wrong.empty()) throw OperationRefused{"bad_value", fmt::format("{}: {}", name, wrong)};
      }
    }
    if (!settings.empty()) request_.given.put("settings", std::move(settings));
    const OperationObjection objection = objection_to(request_.operation->fields, request_.given);
    if (!objection.text.empty()) throw OperationRefused{"missing_field", objection.text};
    if (request_.operation->check != nullptr) request_.operation->check(request_.given);
  }

  const RequestRecord& record_;
  Request request_;
};

/// All rules of a user are stored in the user's home partition, even those about feeds of other partitions (RELIABILITY
/// L32).
bool is_rule_at_home(const RequestCall& call) {
  const Partition& here = call.store.partition();
  return call.request.op == RequestOp::watch_add && home_of_user(call.given().text("user"), here.count) == here.index;
}

}  // namespace

Request read_request(const RequestRecord& record) {
  return RequestReader(record).read();
}

Request request_of(const Operation& operation, OperationValues given, const std::string& app, const std::string& ref) {
  Request request;
  request.asked.app = app;
  request.asked.ref = ref;
  request.op = operation.request;
  request.operation = &operation;
  request.given = std::move(given);
  request.asked.op = request_word(operation.request);
  Fields fields = request_fields(operation, request.given);
  fields.insert(fields.begin(), {{"op", request.asked.op}, {"app", app}});
  request.asked.hash = content_hash(fields);
  request.asked.feed_url = request.given.text("url");
  request.asked.members = members_of(request);
  return request;
}

bool is_ref(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_one_of(text, "._:-");
}

bool is_one_step(const Request& request) {
  const bool marks_all = request.op == RequestOp::channel_mark && request.given.texts("entries").empty();
  return Requests::is_one_step(request.op) && !marks_all && !is_page(request);
}

bool is_page(const Request& request) {
  if (request.op != RequestOp::add) return false;
  const std::string page = request.given.text("page");
  return !page.empty() && page != "no" && !looks_like_feed(request.given.text("url"));
}

bool is_refused_page(const Request& request, const RequestRules& rules) {
  return rules.egress.of_text({request.given.text("url"), {}}).verdict == EgressView::Verdict::refused;
}

FoundPage found_page(const Discovery& discovery, bool complete) {
  FoundPage page{discovery.feeds, "no_feed", "the page offers no feed"};
  if (!complete) {
    page.reason = "unreachable";
    page.detail = "checking the page takes too long";
  } else if (discovery.look && discovery.look->is_refused()) {
    page.reason = "refused_address";
  } else if (discovery.look && discovery.look->may_answer_later()) {
    page.reason = "unreachable";
  }
  if (complete && discovery.look && !discovery.look->is_page()) page.detail = visible(discovery.look->trouble());
  return page;
}

void refuse_elsewhere(const Store& store, const std::string& feed_url) {
  const auto its = feed_url.empty() ? std::nullopt : store.elsewhere(feed_url);
  if (its) throw OperationRefused{"bad_value", fmt::format("partition {} has {}; ask there", *its, feed_url)};
}

StoreResult<void> carry_out(const RequestCall& call) {
  try {
    if (call.request.problem) throw OperationRefused(*call.request.problem);
    if (!is_rule_at_home(call)) refuse_elsewhere(call.store, call.request.asked.feed_url);
    call.request.operation->answer(call);
  } catch (const OperationRefused& refused) {
    return call.requests.fail(call.request.asked, refused.reason, visible(refused.detail));
  } catch (const StoreFailure& failure) {
    return failure.error;
  }
  return {};
}

}  // namespace feedmill
