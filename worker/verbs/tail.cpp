#include "worker/verbs/tail.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/event_stream.hpp"
#include "storage/records/json_member.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/command_line/post_verbs.hpp"
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

json::object object_of(const EventRecord& record) {
  boost::system::error_code error;
  json::value value = json::parse(record.json, error);
  return error || !value.is_object() ? json::object() : std::move(value.as_object());
}

/// Whether to print this type. Internal types are shown as JSON, with -v, or on request.
bool wanted(const TailVerb& verb, const EventRecord& record, const Terminal& terminal) {
  const bool internal = record.type == "post_trimmed" || record.type.ends_with("_mended");
  if (verb.types.empty()) return !internal || terminal.json() || terminal.verbose();
  return std::find(verb.types.begin(), verb.types.end(), record.type) != verb.types.end();
}

/// Sleeps; Ctrl-C ends it.
void wait(Milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    stop_if_interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// Follows the stream as one reader: keeps its position across outages of Redis.
class Follower {
 public:
  Follower(const TailVerb& verb, const Config& config, StoreSession session, Terminal& terminal)
      : verb_(verb), config_(config), session_(std::move(session)), terminal_(terminal), last_(verb.from) {}

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
    if (wanted(verb_, record, terminal_)) {
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

  const TailVerb& verb_;
  const Config& config_;
  StoreSession session_;
  Terminal& terminal_;
  std::string last_;
  bool away_ = false;
  Milliseconds pause_ = first_wait;
};

}  // namespace

std::string signal_line(const EventRecord& record) {
  const json::object event = object_of(record);
  Milliseconds time{};
  if (const json::value* const seconds = event.if_contains("timestamp"); seconds != nullptr && seconds->is_int64()) {
    time = Milliseconds(seconds->as_int64() * 1000);
  }
  std::string line = fmt::format("{}  {:<14}  ", rfc3339(time), visible(record.type));
  const std::string_view entity = string_member(event, "entity_id");
  if (record.type.starts_with("post_") && !entity.empty()) line += visible(entity) + "  ";
  std::string_view title, link;
  if (const json::value* const data = event.if_contains("data"); data != nullptr && data->is_object()) {
    title = string_member(data->as_object(), "title");
    link = string_member(data->as_object(), "link");
    for (const char* const name : {"op", "result", "reason"}) {
      const std::string_view word = string_member(data->as_object(), name);
      if (record.type.starts_with("request_") && !word.empty()) line += visible(word) + "  ";
    }
  }
  if (!title.empty()) line += visible(title) + "  ";
  line += visible(record.type.starts_with("post_") && !link.empty() ? link : string_member(event, "feed_url"));
  if (const json::value* const data = event.if_contains("data");
      record.type == "feed_failing" && data != nullptr && data->is_object()) {
    line += "  " + visible(event_words(data->as_object()));
  }
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

int run_verb(const TailVerb& verb, const Config& config, Terminal& terminal) {
  note_interrupts();
  return Follower(verb, config, StoreSession::open(config, verb.use(), TailVerb::is_of_all), terminal).follow();
}

}  // namespace feedmill
