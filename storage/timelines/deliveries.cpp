#include "storage/timelines/deliveries.hpp"

#include <map>

#include <boost/json.hpp>

#include "storage/store/store_impl.hpp"
#include "storage/timelines/stories.hpp"

namespace feedmill {
namespace {

constexpr std::string_view group = "delivery";
// One name for all: only one process delivers a partition at a time, and it takes over the last one's pending records.
constexpr std::string_view consumer = "deliver";

std::string_view name_of(DeliveryTarget target) {
  switch (target) {
    case DeliveryTarget::timelines:
      return "timelines";
    case DeliveryTarget::notices:
      return "notices";
    case DeliveryTarget::stories:
      break;
  }
  return "stories";
}

std::string_view action_of(const Event& event) {
  if (event.type == "post_created" && event.score) return "add";
  if ((event.type == "post_modified" || event.type == "post_mended") && event.score) return "move";
  if (event.type == "post_deleted" || event.type == "post_trimmed") return "drop";
  return {};
}

/// A stream id as numbers; unreadable parts are 0.
std::pair<std::uint64_t, std::uint64_t> numbers(std::string_view id) {
  const std::size_t dash = std::min(id.find('-'), id.size());
  const auto number = [](std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text) value = c >= '0' && c <= '9' ? value * 10 + static_cast<std::uint64_t>(c - '0') : 0;
    return value;
  };
  return {number(id.substr(0, dash)), dash < id.size() ? number(id.substr(dash + 1)) : 0};
}

/// Members of post_same_as after `timestamp`.
std::string same_as_said(const SameAsOfRecord& record) {
  namespace json = boost::json;
  const std::size_t most = std::min(record.same_as.size(), most_same_as);
  const json::object said{
      {"feed_url", record.feed_url},
      {"guid", record.guid},
      {"data", json::object{{"same_as", json::array(record.same_as.begin(),
                                                    record.same_as.begin() + static_cast<std::ptrdiff_t>(most))},
                            {"same_count", record.same_as.size()}}}};
  return json::serialize(said).substr(1);
}

Delivered read_delivered(const Reply& reply) {
  const auto count = [&](std::size_t i) { return static_cast<std::uint64_t>(reply[i].integer()); };
  Delivered done;
  done.hole = reply[0].text() == "hole";
  done.applied = count(1);
  done.repeated = count(2);
  done.refused = count(3);
  done.last = reply[4].text();
  return done;
}

}  // namespace

void Delivered::add(const Delivered& next) {
  hole = next.hole;
  part = next.part;
  applied += next.applied;
  repeated += next.repeated;
  refused += next.refused;
  last = next.last;
  told += next.told;
  unbuilt += next.unbuilt;
}

StoreResult<bool> Deliveries::hold(const std::string& token, Milliseconds ttl) {
  return impl_.hold_lock("delivery:000", token, ttl);
}

StoreResult<void> Deliveries::let_go(const std::string& token) {
  const auto reply = hold(token, Milliseconds(0));
  if (!reply) return reply.error();
  return {};
}

StoreResult<void> Deliveries::join() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"XGROUP", "CREATE", impl_.keys.signals(), group, "0", "MKSTREAM"});
  if (!reply && !reply.error().detail.starts_with("BUSYGROUP")) return reply.error();
  return {};
}

StoreResult<std::vector<EventRecord>> Deliveries::pending(std::size_t count) {
  return read("0", count);
}

StoreResult<std::vector<EventRecord>> Deliveries::fresh(std::size_t count) {
  return read(">", count);
}

StoreResult<std::vector<EventRecord>> Deliveries::read(std::string_view from, std::size_t count) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.signals(), most = std::to_string(count);
  const auto reply = impl_.redis.command({"XREADGROUP", "GROUP", group, consumer, "COUNT", most, "STREAMS", key, from});
  if (!reply) return reply.error();
  return read_event_records((*reply)[0][1]);
}

StoreResult<ServerWait> Deliveries::begin_to_wait(std::size_t count, Milliseconds longest) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.signals(), most = std::to_string(count), block = std::to_string(longest.count());
  return impl_.redis.begin_wait(
      {"XREADGROUP", "GROUP", group, consumer, "COUNT", most, "BLOCK", block, "STREAMS", key, ">"}, longest);
}

StoreResult<void> Deliveries::acknowledge(std::span<const EventRecord> records) {
  if (records.empty()) return {};
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.signals();
  Words words{"XACK", key, group};
  for (const EventRecord& record : records) words.push_back(record.id);
  const auto reply = impl_.redis.command(words);
  if (!reply) return reply.error();
  return {};
}

StoreResult<Delivered> Deliveries::apply(std::span<const Event> events, std::span<const EventRecord> publish,
                                         const DeliveryPart& part) {
  std::map<std::string_view, std::string_view> texts;
  for (const EventRecord& record : publish) texts.emplace(record.id, record.json);
  Args args;
  args.add(name_of(DeliveryTarget::timelines));
  args.add(publish.empty() ? std::string_view() : std::string_view(impl_.keys.channel_prefix()));
  args.add(publish.empty() ? 0 : 1);
  args.add(std::string_view(part.from));
  for (const Event& event : events) {
    args.add(std::string_view(event.id));
    args.add(std::string_view(event.prev));
    args.add(action_of(event));
    args.add(std::string_view(event.entity_id));
    args.add(std::string_view(event.feed_url));
    args.add(event.score.value_or(0));
    args.add(std::string_view(event.type));
    // Internal events, and those without a feed, are not published.
    const bool internal = event.type == "post_trimmed" || event.type == "post_mended" || event.type == "feed_mended";
    const bool silent = internal || event.feed_url.empty();
    const auto text = silent ? texts.end() : texts.find(event.id);
    args.add(text == texts.end() ? std::string_view() : text->second);
  }
  const auto reply = impl_.run(Script::deliver_posts, args);
  if (!reply) return reply.error();
  Delivered done = read_delivered(*reply);
  done.unbuilt = static_cast<std::uint64_t>((*reply)[5].integer());
  if ((*reply)[0].text() == "part") done.part = DeliveryPart{std::string((*reply)[6].text())};
  return done;
}

StoreResult<Delivered> Deliveries::apply(std::span<const NoticesOfRecord> records) {
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.add(name_of(DeliveryTarget::notices));
  for (const NoticesOfRecord& record : records) {
    args.add(std::string_view(record.id));
    args.add(std::string_view(record.prev));
    args.add(record.more ? 1 : 0);
    args.add(record.notices.size());
    for (const Notice& notice : record.notices) args.add(notice);
  }
  const auto reply = impl_.run(Script::deliver_notices, args);
  if (!reply) return reply.error();
  return read_delivered(*reply);
}

StoreResult<Delivered> Deliveries::apply(std::span<const SameAsOfRecord> records) {
  Args args;
  args.add(name_of(DeliveryTarget::stories));
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.own(impl_.options.stream_cap());
  for (const SameAsOfRecord& record : records) {
    args.add(std::string_view(record.id));
    args.add(std::string_view(record.prev));
    args.add(std::string_view(record.entity_id));
    args.own(record.same_as.empty() ? std::string() : same_as_said(record));
  }
  const auto reply = impl_.run(Script::deliver_stories, args);
  if (!reply) return reply.error();
  Delivered done = read_delivered(*reply);
  done.told = static_cast<std::uint64_t>((*reply)[5].integer());
  return done;
}

StoreResult<Passed> Deliveries::pass() {
  Args args;
  args.add(group);
  const auto reply = impl_.run(Script::deliver_pass, args);
  if (!reply) return reply.error();
  const std::string_view answer = (*reply)[0].text();
  if (answer == "wanted") return Passed{Passed::Answer::wanted};
  if (answer == "unread") return Passed{Passed::Answer::unread};
  return Passed{Passed::Answer::passed, static_cast<std::uint64_t>((*reply)[1].integer()),
                std::string((*reply)[2].text())};
}

StoreResult<DeliveryPlace> Deliveries::place(DeliveryTarget target) {
  const std::string pointer = impl_.keys.delivered(name_of(target)), events = impl_.keys.signals();
  const std::string store = impl_.keys.store();
  const std::vector<Words> commands{
      {"GET", pointer}, {"HGET", store, "last_signal"}, {"XRANGE", events, "-", "+", "COUNT", "1"}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  const auto& row = *replies;
  DeliveryPlace place;
  place.last = row[0].is_nil() ? "0-0" : std::string(row[0].text());
  place.newest = row[1].is_nil() ? "0-0" : std::string(row[1].text());
  const std::vector<EventRecord> first = read_event_records(row[2]);
  const auto event = first.empty() ? std::optional<Event>() : read_event(first.front());
  if (first.empty()) {
    place.resume = place.newest;
  } else if (event && !event->prev.empty()) {
    place.resume = event->prev;
  } else {
    place.resume = "0-0";  // not our record: it does not name its predecessor
  }
  place.behind = numbers(place.resume) > numbers(place.last);
  return place;
}

StoreResult<void> Deliveries::skip_to(DeliveryTarget target, const std::string& id) {
  // An empty record only advances the position.
  if (target == DeliveryTarget::timelines) {
    Event nothing;
    nothing.id = id;
    const auto done = apply(std::span<const Event>(&nothing, 1));
    if (!done) return done.error();
  } else if (target == DeliveryTarget::stories) {
    const SameAsOfRecord nothing{id, ""};
    const auto done = apply(std::span<const SameAsOfRecord>(&nothing, 1));
    if (!done) return done.error();
  } else {
    const NoticesOfRecord nothing{id, "", {}};
    const auto done = apply(std::span<const NoticesOfRecord>(&nothing, 1));
    if (!done) return done.error();
  }
  return {};
}

}  // namespace feedmill
