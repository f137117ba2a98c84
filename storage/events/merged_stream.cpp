#include "storage/events/merged_stream.hpp"

#include <algorithm>

#include "storage/events/event_stream.hpp"
#include "storage/lua/scripts.hpp"
#include "storage/redis/cluster.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
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
