#include "storage/events/event_stream.hpp"

#include <algorithm>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/lua/scripts.hpp"
#include "storage/records/event_record.hpp"
#include "storage/redis/placement.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds signals_kept = std::chrono::hours(24 * 7);  // RELIABILITY L13

/// Id of the previous event, even if trimmed; the event's own id if it names no predecessor.
std::string_view before(const EventRecord& event) {
  constexpr std::string_view member = "\"prev\":\"";
  const std::size_t at = event.json.find(member);
  if (at == std::string::npos) return event.id;
  const std::string_view rest = std::string_view(event.json).substr(at + member.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

StoreResult<std::vector<EventRecord>> EventStream::read(const std::string& after, std::size_t count,
                                                        Milliseconds block) {
  if (block.count() > 0) {
    if (auto begun = begin_to_wait(after, count, block); !begun) return begun.error();
    return come();
  }
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.signals(), most = std::to_string(count);
  const auto reply = impl_.redis.command({"XREAD", "COUNT", most, "STREAMS", key, after});
  if (!reply) return reply.error();
  return read_event_records((*reply)[0][1]);
}

StoreResult<ServerWait> EventStream::begin_to_wait(const std::string& after, std::size_t count, Milliseconds block) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.signals(), most = std::to_string(count), longest = std::to_string(block.count());
  return impl_.redis.begin_wait({"XREAD", "COUNT", most, "BLOCK", longest, "STREAMS", key, after}, block);
}

StoreResult<std::vector<EventRecord>> EventStream::come() {
  const auto reply = impl_.redis.end_wait();
  if (!reply) return reply.error();
  return read_event_records((*reply)[0][1]);
}

StoreResult<EventStream::Since> EventStream::since(const std::string& after, std::size_t limit) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.signals(), store = impl_.keys.store();
  const std::string behind = after.empty() ? "-" : "(" + after, count = std::to_string(limit);
  // Read the oldest record last: records trimmed in between count as missed.
  const std::vector<Words> commands{{"XRANGE", key, behind, "+", "COUNT", count},
                                    {"HMGET", store, "last_signal", "signals_from"},
                                    {"XREVRANGE", key, "+", "-", "COUNT", "1"},
                                    {"XRANGE", key, "-", "+", "COUNT", "1"}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  const std::vector<EventRecord> oldest = read_event_records((*replies)[3]);
  const ReplyView noted = (*replies)[1];
  const std::string last(noted[0].is_nil() ? std::string_view("0-0") : noted[0].text());
  Since since;
  since.oldest = oldest.empty() ? last : oldest.front().id;
  const EventPlace from = event_place(after);
  since.before_oldest = oldest.empty() ? last : std::string(before(oldest.front()));
  const std::vector<EventRecord> newest = read_event_records((*replies)[2]);
  // Events up to signals_from may have been read from another server before the failover to this one (RELIABILITY L24).
  const EventPlace end = std::max({event_place(last), event_place(noted[1].text()),
                                   newest.empty() ? EventPlace() : event_place(newest.front().id)});
  if (after.empty() || (from <= end && (from >= event_place(since.oldest) || from >= event_place(since.before_oldest))))
    since.records = read_event_records((*replies)[0]);
  return since;
}

StoreResult<std::string> EventStream::last_id() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"XREVRANGE", impl_.keys.signals(), "+", "-", "COUNT", "1"});
  if (!reply) return reply.error();
  return reply->size() == 0 ? std::string("0-0") : std::string((*reply)[0][0].text());
}

StoreResult<std::string> EventStream::last_seq() {
  auto newest = last_id();  // the stream is more accurate than last_signal
  if (!newest || *newest != "0-0") return newest;
  const auto noted = impl_.redis.command({"HGET", impl_.keys.store(), "last_signal"});
  if (!noted) return noted.error();
  return noted->is_nil() ? std::string("0-0") : std::string(noted->text());
}

bool EventStream::misses(const std::string& after, const EventRecord& record) {
  return event_place(before(record)) > event_place(after);
}

StoreResult<std::vector<EventRecord>> EventStream::newest(std::size_t count) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string count_text = std::to_string(count);
  const auto reply = impl_.redis.command({"XREVRANGE", impl_.keys.signals(), "+", "-", "COUNT", count_text});
  if (!reply) return reply.error();
  return read_event_records(reply->view());
}

StoreResult<StreamFigures> EventStream::figures() {
  const auto time = impl_.now();
  if (!time) return time.error();
  StreamFigures figures;
  figures.now = *time;
  figures.hard_limit = 2 * impl_.options.signals_max_len;
  const std::string key = impl_.keys.signals();
  const auto length = impl_.redis.command({"XLEN", key});
  if (!length) return length.error();
  figures.records = static_cast<std::uint64_t>(length->integer());
  if (figures.records == 0) {
    const auto type = impl_.redis.command({"TYPE", key});
    if (!type) return type.error();
    if (type->text() == "none") return figures;  // XINFO would fail
  }
  const auto groups = impl_.redis.command({"XINFO", "GROUPS", key});
  if (!groups) return groups.error();
  std::vector<std::string> after;
  std::vector<std::uint64_t> pending;
  for (std::size_t i = 0; i < groups->size(); ++i) {
    StreamFigures::Group& group = figures.groups.emplace_back();
    std::optional<std::uint64_t> behind;  // unknown to the server: at most the length of the stream
    pending.push_back(0);
    after.emplace_back();
    const ReplyView row = (*groups)[i];
    for (std::size_t field = 0; field + 1 < row.size(); field += 2) {
      const std::string_view name = row[field].text();
      const ReplyView value = row[field + 1];
      if (name == "name")
        group.name = value.text();
      else if (name == "pending")
        pending.back() = static_cast<std::uint64_t>(value.integer());
      else if (name == "last-delivered-id")
        after.back() = "(" + std::string(value.text());
      else if (name == "lag" && !value.is_nil())
        behind = static_cast<std::uint64_t>(value.integer());
    }
    group.lag = behind.value_or(figures.records) + pending.back();
  }
  std::vector<Words> commands;
  for (std::size_t i = 0; i < figures.groups.size(); ++i) {
    commands.push_back({"XRANGE", key, after[i], "+", "COUNT", "1"});
    commands.push_back({"XPENDING", key, figures.groups[i].name});
  }
  const auto oldest = impl_.pipeline(commands);
  if (!oldest) return oldest.error();
  const auto time_of = [](const ReplyView& id) { return Milliseconds(id.integer()); };  // "<unix ms>-<number>"
  for (std::size_t i = 0; i < figures.groups.size(); ++i) {
    StreamFigures::Group& group = figures.groups[i];
    const ReplyView waiting = (*oldest)[2 * i], handed_out = (*oldest)[2 * i + 1];
    if (pending[i] > 0 && handed_out.size() > 1 && !handed_out[1].is_nil())
      group.oldest = time_of(handed_out[1]);
    else if (waiting.size() > 0)
      group.oldest = time_of(waiting[0][0]);
    else if (pending[i] == 0)
      group.lag = 0;
  }
  return figures;
}

StoreResult<StreamFigures> EventStream::trim() {
  StreamFigures figures;
  figures.hard_limit = 2 * impl_.options.signals_max_len;
  Args args;
  args.own(impl_.options.stream_cap());
  args.add(signals_kept);
  const auto reply = impl_.run(Script::groups, args);
  if (!reply) return reply.error();
  figures.records = static_cast<std::uint64_t>((*reply)[0].integer());
  figures.now = milliseconds((*reply)[1]);
  for (std::size_t i = 2; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    StreamFigures::Group& group = figures.groups.emplace_back();
    group.name = row[0].text();
    group.lag = static_cast<std::uint64_t>(row[1].integer());
    if (!row[2].text().empty()) group.oldest = Milliseconds(row[2].integer());
  }
  return figures;
}

StoreResult<std::vector<EventRecord>> EventStream::of_feed(const std::string& feed_url, std::size_t look,
                                                           std::size_t limit) {
  Args args;
  args.own(json_string(feed_url));
  args.add(look);
  args.add(limit);
  const auto reply = impl_.run(Script::feed_signals, args);
  if (!reply) return reply.error();
  return read_event_records(reply->view());
}

namespace {

constexpr std::size_t most_bytes = 1U << 20U;  // per call, unless a single record is larger

}  // namespace

MergedStream::MergedStream(Store& store)
    : store_(store),
      impl_(store.impl()),
      prefix_(impl_.keys.channel_prefix()),
      stream_(Keys::of_all(prefix_).signals()),
      places_(Keys::of_all(prefix_).merged_places()),
      partition_(std::to_string(impl_.options.partition.index)),
      redis_(impl_.redis.at_slot(slot_of_tag(stream_))) {}

StoreResult<MergedStream::Step> MergedStream::step(std::size_t most) {
  Step step;
  if (at_.empty()) {
    if (const auto looked = send({}); !looked) return looked.error();
  }
  const auto records = EventStream(store_).read(at_, most, Milliseconds(0));
  if (!records) return records.error();
  if (records->empty()) return step;
  step.missed = at_ != "0-0" && EventStream::misses(at_, records->front());
  for (std::span<const EventRecord> rest(*records); !rest.empty();) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < rest.size() && (count == 0 || bytes < most_bytes); ++count)
      bytes += rest[count].json.size();
    if (const auto sent = send(rest.first(count)); !sent) {
      at_.clear();  // it may have been executed
      return sent.error();
    }
    if (at_ != rest[count - 1].id) break;  // another worker copied more; read the rest again
    step.copied += count;
    rest = rest.subspan(count);
  }
  return step;
}

StoreResult<void> MergedStream::send(std::span<const EventRecord> records) {
  const std::string cap = std::to_string(impl_.options.signals_max_len * impl_.options.partition.count);
  Words words{"2", stream_, places_, prefix_, partition_, at_, newest_, cap};
  for (const EventRecord& record : records) words.insert(words.end(), {record.id, record.type, record.json});
  redis_.leave_closed();
  const auto reply = impl_.run_at(redis_, Script::merge, words);
  if (!reply) return reply.error();
  at_ = (*reply)[0].text();
  newest_ = std::max(newest_, std::string((*reply)[1].text()),
                     [](const std::string& a, const std::string& b) { return event_place(a) < event_place(b); });
  return {};
}

}  // namespace feedmill
