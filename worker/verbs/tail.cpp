#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/event_stream.hpp"
#include "storage/records/json_members.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/cli/verb.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t records_per_read = 500;
constexpr std::string_view all_there_are = "0";
constexpr Milliseconds read_block{500};  // lets Ctrl-C take effect soon
constexpr Milliseconds first_wait{500};
constexpr Milliseconds longest_wait{10'000};

/// Whether to print a record of this type. Internal types are shown as JSON, with -v, or on request.
bool wanted(const std::vector<std::string>& types, const EventRecord& record, const Terminal& terminal) {
  const bool internal = record.type == "post_trimmed" || record.type.ends_with("_mended");
  if (types.empty()) return !internal || terminal.json() || terminal.verbose();
  return std::ranges::find(types, record.type) != types.end();
}

/// Sleeps; Ctrl-C interrupts.
void wait(Milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    stop_if_interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// Follows the stream as one reader and keeps its position across outages of Redis.
class Follower {
 public:
  Follower(const OperationValues& given, const Config& config, StoreSession session, Terminal& terminal)
      : types_(given.texts("type")),
        config_(config),
        session_(std::move(session)),
        terminal_(terminal),
        last_(given.has("from") ? given.text("from") : "$") {}

  int follow() {
    if (last_ == "$") {
      // Resolved now: after a reconnect "$" would skip events.
      last_ = or_fail(EventStream(session_.store()).last_id());
    }
    for (;;) {
      stop_if_interrupted();
      const auto records = EventStream(session_.store()).read(last_, records_per_read, read_block);
      if (records.has_error()) {
        const VerbFailure failure = failure_of(records.error());
        if (failure.exit != exits::unavailable) throw failure;
        reconnect(failure);
        continue;
      }
      if (std::exchange(away_, false)) terminal_.note(fmt::format("feedmill: {}: Redis is back", terminal_.verb()));
      pause_ = first_wait;
      if (!records->empty() && last_ != all_there_are && EventStream::misses(last_, records->front())) {
        fail_as_too_old(records->front().id);
      }
      for (const EventRecord& record : *records) show(record);
      terminal_.flush();
    }
  }

 private:
  [[noreturn]] void fail_as_too_old(const std::string& oldest) const {
    throw VerbFailure{exits::bad_input, fmt::format("events after {} have been trimmed; the oldest available is {}",
                                                    visible(last_), oldest)};
  }

  void show(const EventRecord& record) {
    last_ = record.id;
    if (wanted(types_, record, terminal_)) {
      terminal_.line(terminal_.json() ? signal_json(record) : signal_line(record));
    }
  }

  void reconnect(const VerbFailure& failure) {
    if (!std::exchange(away_, true)) {
      terminal_.note(fmt::format("feedmill: {}: {}; waiting for it", terminal_.verb(), failure.text));
    }
    wait(pause_);
    pause_ = std::min(pause_ * 2, longest_wait);
    session_.store().disconnect();
    if (!config_.embedded()) return;
    // The private server may have ended with its worker, or moved: adopt or start it.
    try {
      session_ = StoreSession::open(config_, StoreUse::read);
    } catch (const VerbFailure&) {  // the next attempt may succeed
    }
  }

  const std::vector<std::string> types_;
  const Config& config_;
  StoreSession session_;
  Terminal& terminal_;
  std::string last_;
  bool away_ = false;
  Milliseconds pause_ = first_wait;
};

int follow_events(const OperationValues& given, const Config& config, Terminal& terminal) {
  note_interrupts();
  return Follower(given, config, StoreSession::open(config, StoreUse::read, true), terminal).follow();
}

void check_stream_id(const OperationValues& given) {
  const std::string from = given.has("from") ? given.text("from") : "$";
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 19 && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view view = from;
  const std::size_t dash = view.find('-');
  if (from == "$" || (digits(view.substr(0, dash)) && (dash == view.npos || digits(view.substr(dash + 1))))) return;
  refuse(fmt::format("--from: \"{}\" is not a stream id such as 1763690000000-3, 0 or $", visible(from)));
}

constexpr std::array<std::string_view, 19> event_types{
    "feed_created", "feed_modified", "feed_mended",  "feed_moved",   "feed_removed",  "feed_failing",  "feed_recovered",
    "feed_gone",    "feed_rekeyed",  "feed_gap",     "feed_paused",  "post_created",  "post_modified", "post_mended",
    "post_deleted", "post_trimmed",  "post_same_as", "request_done", "request_failed"};

}  // namespace

std::string signal_line(const EventRecord& record) {
  const json::object event = embedded_object(record.json);
  const bool is_post = record.type.starts_with("post_");
  std::string line = fmt::format("{}  {:<14}  ", rfc3339(timestamp_of(event)), visible(record.type));
  const std::string_view entity = string_member(event, "entity_id");
  if (is_post && !entity.empty()) line += visible(entity) + "  ";
  const json::value* const member = event.if_contains("data");
  const json::object* const data = member == nullptr ? nullptr : member->if_object();
  const auto text_of = [&](const char* name) { return data == nullptr ? "" : string_member(*data, name); };
  for (const char* const name : {"op", "result", "reason"}) {
    const std::string_view word = text_of(name);
    if (record.type.starts_with("request_") && !word.empty()) line += visible(word) + "  ";
  }
  const std::string_view title = text_of("title"), link = text_of("link");
  if (!title.empty()) line += visible(title) + "  ";
  line += visible(is_post && !link.empty() ? link : string_member(event, "feed_url"));
  if (record.type == "feed_failing" && data != nullptr) line += "  " + visible(event_words(*data));
  if (const json::value* const changed = event.if_contains("changed"); changed != nullptr && changed->is_object()) {
    std::string names;
    for (const auto& [name, values] : changed->as_object()) names += (names.empty() ? "" : " ") + visible(name);
    if (!names.empty()) line += fmt::format("  [{}]", names);
  }
  return line;
}

std::string signal_json(const EventRecord& record) {
  const std::size_t open = record.json.find('{');
  if (open == std::string::npos) return json::serialize(json_row());
  const std::string_view rest = std::string_view(record.json).substr(open + 1);
  const std::string_view separator = rest.starts_with('}') ? "" : ",";
  return fmt::format("{{\"schema\":1{}{}", separator, rest);
}

VerbRow tail_verb() {
  static constexpr std::array taken{
      fields::option("--from", "ID", "After this stream id; 0: from the beginning"),
      fields::many(fields::one_of(fields::option("--type", "TYPE", "Only this type; may be repeated"), event_types))};
  return {.name = "tail",
          .about = "Print events as they arrive",
          .example = "feedmill tail --type post_created --json",
          .fields = taken,
          .check = check_stream_id,
          .run = follow_events};
}

}  // namespace feedmill
