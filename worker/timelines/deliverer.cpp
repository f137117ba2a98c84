#include "worker/timelines/deliverer.hpp"

#include <map>
#include <utility>

#include "parsers/markup/text.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/observe/notices.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::size_t texts_per_trip = 20;                // entries read per round trip; they may be large
constexpr std::ptrdiff_t notices_per_trip = 500;          // RELIABILITY L15
constexpr std::size_t max_text = std::size_t{64} << 10U;  // bytes of a post's content that word rules examine

/// Parses records as events; a record that is not an event only advances the position. Omits trimmed records.
std::vector<Event> events_of(const std::vector<EventRecord>& records) {
  std::vector<Event> events;
  for (const EventRecord& record : records) {
    if (record.gone) continue;
    events.push_back(read_event(record).value_or(Event{.id = record.id}));
  }
  return events;
}

/// Splits records that have more notices than one write may contain.
std::vector<NoticesOfRecord> in_parts(std::vector<NoticesOfRecord> records) {
  std::vector<NoticesOfRecord> parts;
  for (NoticesOfRecord& record : records) {
    auto next = record.notices.begin();
    for (; record.notices.end() - next > notices_per_trip; next += notices_per_trip) {
      NoticesOfRecord& part = parts.emplace_back(NoticesOfRecord{record.id, record.prev, {}, true});
      part.notices.assign(std::move_iterator(next), std::move_iterator(next + notices_per_trip));
    }
    record.notices.erase(record.notices.begin(), next);
    parts.push_back(std::move(record));
  }
  return parts;
}

std::string text_of(const StoredEntry& entry) {
  std::string text = entry.get("title");
  for (const char* field : {"summary", "content"}) text += "\n" + plain_text(entry.get(field), max_text);
  return text;
}

}  // namespace

Deliverer::Deliverer(const StoreOptions& store, DelivererOptions options)
    : options_(std::move(options)), store_(store), targets_{DeliveryTarget::timelines, DeliveryTarget::notices} {
  if (options_.stories == StoryIndex::kept) targets_.push_back(DeliveryTarget::stories);
  if (options_.merges) merged_.emplace(store_);
}

StoreResult<Deliverer::Step> Deliverer::begin_step(Milliseconds longest) {
  step_ = Step();
  const bool held = holding_;
  const auto right = hold();
  if (!right) return right.error();
  step_.waiting = !*right;
  if (step_.waiting) {
    passed_ = "$";
    return step_;
  }
  is_merged_ = merge();
  if (!held) {
    if (auto joined = join(); !joined) return broken(joined.error());
  }
  const auto passed = pass();
  if (!passed) return broken(passed.error());
  if (*passed) return ended();
  if (!held) {
    if (auto caught_up = catch_up(); !caught_up) return broken(caught_up.error());
  }
  if (pending_) {  // read before by any owner, not acknowledged
    const auto records = deliveries_.pending(options_.batch);
    if (!records) return broken(records.error());
    pending_ = !records->empty();
    if (pending_) return go_through(*records);
  }
  if (longest.count() > 0 && unbuilt_.empty() && !stories_at_) {
    const auto begun = deliveries_.begin_to_wait(options_.batch, longest);
    if (!begun) return broken(begun.error());
    step_.waits = *begun;
    return step_;
  }
  const auto records = deliveries_.fresh(options_.batch);
  if (!records) return broken(records.error());
  return go_through(*records);
}

StoreResult<Deliverer::Step> Deliverer::end_step() {
  step_.waits.reset();
  const auto records = EventStream(store_).come();
  if (!records) return broken(records.error());
  return go_through(*records);
}

StoreResult<Deliverer::Step> Deliverer::go_through(const std::vector<EventRecord>& records) {
  step_.idle = records.empty();
  if (!step_.idle) test_point("S10");
  for (const DeliveryTarget target : targets_) {
    if (auto delivered = deliver(target, records); !delivered) return broken(delivered.error());
  }
  if (!step_.idle) test_point("S11");
  if (auto acknowledged = deliveries_.acknowledge(records); !acknowledged) return broken(acknowledged.error());
  if (auto built = build(); !built) return broken(built.error());
  if (auto built = build_stories(); !built) return broken(built.error());
  step_.idle = step_.idle && !stories_at_;
  return ended();
}

StoreResult<Deliverer::Step> Deliverer::ended() {
  if (const auto kept_up = keep_up(); !kept_up) return broken(kept_up.error());
  if (!is_merged_) step_.idle = step_.unwanted = false;
  return step_;
}

/// After any error, the next step starts with the pending records.
StoreResult<Deliverer::Step> Deliverer::broken(const StoreError& error) {
  holding_ = false;
  return error;
}

/// Copies one batch into the merged stream, which may be on another node. Returns false if there may be more.
bool Deliverer::merge() {
  constexpr std::chrono::seconds between_tries{2};
  if (!merged_ || Clock::now() < merge_again_at_) return true;
  const auto done = merged_->step(options_.batch);
  if (!done) {
    step_.merge_trouble = done.error();
    merge_again_at_ = Clock::now() + between_tries;
    return true;
  }
  step_.merges = true;
  step_.unmerged = done->missed;
  return done->copied == 0;
}

StoreResult<bool> Deliverer::hold() {
  if (holding_ && Clock::now() < renew_at_) return true;
  auto right = deliveries_.hold(options_.token, options_.right_for);
  holding_ = right && *right;
  renew_at_ = Clock::now() + options_.right_for / 3;
  return right;
}

StoreResult<void> Deliverer::join() {
  if (auto joined = deliveries_.join(); !joined) return joined;
  pending_ = look_for_unbuilt_ = true;
  upkeep_at_ = Clock::now();
  return begin_stories();
}

/// Starts building the story index from stored posts, unless it is built; drops it if it is not configured.
StoreResult<void> Deliverer::begin_stories() {
  stories_at_.reset();
  const auto state = stories_.state();
  if (!state) return state.error();
  if (options_.stories != StoryIndex::kept) {
    const bool drops = options_.stories == StoryIndex::removed && *state != Stories::State::none;
    return drops ? stories_.drop() : StoreResult<void>();
  }
  if (*state == Stories::State::built) return {};
  if (*state == Stories::State::none) {
    const auto place = deliveries_.place(DeliveryTarget::stories);
    if (!place) return place.error();
    if (auto skipped = deliveries_.skip_to(DeliveryTarget::stories, place->newest); !skipped) return skipped;
    if (auto noted = stories_.note(Stories::State::building); !noted) return noted;
  }
  stories_at_.emplace();
  return {};
}

/// Skips records that have no receivers. Returns true if none had one and all are acknowledged.
StoreResult<bool> Deliverer::pass() {
  if (options_.per_feed || options_.stories == StoryIndex::kept || Clock::now() < try_to_pass_at_) return false;
  const auto passed = deliveries_.pass();
  if (!passed) return passed.error();
  if (passed->answer == Passed::Answer::wanted) try_to_pass_at_ = Clock::now() + options_.upkeep_every;
  // Another owner may have left them pending after we took the lease.
  if (passed->answer == Passed::Answer::unread) pending_ = true;
  step_.unwanted = step_.idle = passed->answer == Passed::Answer::passed;
  step_.applied += passed->records;
  passed_ = passed->place;
  return step_.idle;
}

StoreResult<ServerWait> Deliverer::begin_to_wait(Milliseconds longest) {
  return EventStream(store_).begin_to_wait(passed_, 1, longest);
}

StoreResult<bool> Deliverer::has_come() {
  const auto records = EventStream(store_).come();
  if (!records) return records.error();
  return !records->empty();
}

/// Handles records that were trimmed before delivery. Call before the first record.
StoreResult<void> Deliverer::catch_up() {
  for (const DeliveryTarget target : targets_) {
    const auto place = deliveries_.place(target);
    if (!place) return place.error();
    if (!place->behind) continue;
    if (auto healed = heal(target, place->resume); !healed) return healed;
  }
  return options_.stories == StoryIndex::kept ? catch_up_stories() : StoreResult<void>();
}

/// Indexes events that were acknowledged by an owner without a story index; they are not delivered again.
StoreResult<void> Deliverer::catch_up_stories() {
  while (!cancelled()) {
    const auto place = deliveries_.place(DeliveryTarget::stories);
    if (!place) return place.error();
    if (place->last == place->newest) break;
    const auto records = EventStream(store_).read(place->last, options_.batch, Milliseconds(0));
    if (!records) return records.error();
    const auto done = records->empty() ? StoreResult<Delivered>(Delivered()) : apply(DeliveryTarget::stories, *records);
    if (!done) return done.error();
    step_.same_as += done->told;
    step_.failed += done->refused;
    if (done->applied == 0) break;
  }
  return {};
}

StoreResult<void> Deliverer::keep_up() {
  if (Clock::now() < upkeep_at_) return {};
  upkeep_at_ = Clock::now() + options_.upkeep_every;
  if (const auto expired = channels_.expire_marks(); !expired) return expired.error();
  if (const auto trimmed = EventStream(store_).trim(); !trimmed) return trimmed.error();
  return {};
}

StoreResult<void> Deliverer::deliver(DeliveryTarget target, const std::vector<EventRecord>& records) {
  const auto count = [&](const Delivered& done) {
    if (target == DeliveryTarget::timelines) {
      step_.applied += done.applied;
      step_.repeated += done.repeated;
    }
    if (target == DeliveryTarget::stories) step_.same_as += done.told;
    step_.failed += done.refused;
  };
  if (records.empty()) return {};
  const auto done = apply(target, records);
  if (!done) return done.error();
  count(*done);
  for (Delivered last = *done; last.hole;) {
    // Another owner received the records in between and has not applied them. Read them from the stream, up to our
    // first repeated record.
    if (cancelled()) return StoreError{StoreError::Code::unavailable, "delivery was stopped"};
    const auto between = EventStream(store_).read(last.last, options_.batch, Milliseconds(0));
    if (!between) return between.error();
    const auto more = apply(target, *between);
    if (!more) return more.error();
    count(*more);
    if (more->hole && more->applied == 0) {
      const auto first = read_event(between->front());  // has a predecessor, otherwise there would be no gap
      if (auto healed = heal(target, first->prev); !healed) return healed;
    } else if (between->empty()) {
      const auto place = deliveries_.place(target);
      if (!place) return place.error();
      if (auto healed = heal(target, place->newest); !healed) return healed;
    }
    const auto again = apply(target, records);
    if (!again) return again.error();
    last = *again;
  }
  return {};
}

StoreResult<Delivered> Deliverer::apply(DeliveryTarget target, const std::vector<EventRecord>& records) {
  const std::vector<Event> events = events_of(records);
  if (target == DeliveryTarget::timelines) {
    auto done = apply_posts(events, options_.per_feed ? std::span(records) : std::span<const EventRecord>());
    if (done) {
      for (const Event& event : events) done->refused += event.type.empty() ? 1 : 0;
      look_for_unbuilt_ = look_for_unbuilt_ || done->unbuilt > 0;
    }
    return done;
  }
  if (target == DeliveryTarget::stories) {
    std::uint64_t refused = 0;
    const auto told = same_as_of(events, refused);
    if (!told) return told.error();
    auto done = deliveries_.apply(*told);
    if (done) done->refused += refused;
    return done;
  }
  auto notices = notices_of(events);
  if (!notices) return notices.error();
  return apply_notices(in_parts(std::move(*notices)));
}

/// Applies posts to the timelines of many channels, a bounded number at a time.
StoreResult<Delivered> Deliverer::apply_posts(std::span<const Event> events, std::span<const EventRecord> publish) {
  Delivered all;
  for (all.part.emplace(); all.part;) {
    const auto done = deliveries_.apply(events.subspan(all.applied + all.repeated), publish, *all.part);
    if (!done) return done.error();
    all.add(*done);
    if (!all.part) break;
    if (auto right = go_on(); !right) return right.error();
  }
  return all;
}

/// Writes notices for many users, a bounded number at a time; several of `records` may be parts of the same record.
StoreResult<Delivered> Deliverer::apply_notices(std::span<const NoticesOfRecord> records) {
  Delivered all;
  while (!records.empty() && !all.hole) {
    std::size_t count = 0, notices = 0;
    while (count < records.size() && (count == 0 || notices + records[count].notices.size() <= notices_per_trip)) {
      notices += records[count++].notices.size();
    }
    const auto done = deliveries_.apply(records.first(count));
    if (!done) return done.error();
    all.add(*done);
    records = records.subspan(count);
    if (auto right = records.empty() ? StoreResult<void>() : go_on(); !right) return right.error();
  }
  return all;
}

/// Between the steps of long work: renews the lease; returns an error if the work must stop here.
StoreResult<void> Deliverer::go_on() {
  const auto right = cancelled() ? StoreResult<bool>(false) : hold();
  if (!right) return right.error();
  if (*right) return {};
  return StoreError{StoreError::Code::unavailable, "delivery stopped midway; another worker continues"};
}

/// Rebuilds a channel; returns an error if it was not completed.
StoreResult<void> Deliverer::rebuild(const std::string& uid) {
  StoreResult<void> right;
  const auto may_go_on = [&] {
    if (right) right = go_on();
    return right.has_value();
  };
  if (auto rebuilt = channels_.rebuild(uid, may_go_on); !rebuilt) return rebuilt;
  return right;
}

/// Builds the index of all posts of at most one channel, so that records are not delayed for long.
StoreResult<void> Deliverer::build() {
  if (look_for_unbuilt_) {
    auto found = channels_.unbuilt();
    if (!found) return found.error();
    unbuilt_ = std::move(*found);
    look_for_unbuilt_ = false;
  }
  if (unbuilt_.empty()) return {};
  if (auto rebuilt = rebuild(unbuilt_.back()); !rebuilt) return rebuilt;
  unbuilt_.pop_back();
  step_.idle = step_.idle && unbuilt_.empty();
  return {};
}

/// Builds a bounded part of the story index, so that records are not delayed for long.
StoreResult<void> Deliverer::build_stories() {
  if (!stories_at_) return {};
  const auto place = stories_.rebuild(*stories_at_);
  if (!place) return place.error();
  *stories_at_ = *place;
  if (!place->done) return {};
  stories_at_.reset();
  return stories_.note(Stories::State::built);
}

/// Recovers from the loss of records up to `resume`.
StoreResult<void> Deliverer::heal(DeliveryTarget target, const std::string& resume) {
  if (target == DeliveryTarget::notices) {
    step_.missed = true;
    return deliveries_.skip_to(target, resume);
  }
  if (target == DeliveryTarget::stories) {
    if (auto noted = stories_.note(Stories::State::building); !noted) return noted;
    stories_at_.emplace();
    return deliveries_.skip_to(target, resume);
  }
  step_.rebuilt = true;
  const auto channels = channels_.list();
  if (!channels) return channels.error();
  for (const ChannelRecord& channel : *channels) {
    if (auto rebuilt = rebuild(channel.uid); !rebuilt) return rebuilt;
  }
  return deliveries_.skip_to(target, resume);
}

StoreResult<void> Deliverer::read_rules() {
  const auto version = notifications_.watch_version();
  if (!version) return version.error();
  if (watcher_ && *version == rules_version_) return {};
  auto rules = notifications_.all_watches();
  if (!rules) return rules.error();
  watcher_.emplace(std::move(*rules));
  rules_version_ = *version;
  return {};
}

StoreResult<std::vector<NoticesOfRecord>> Deliverer::notices_of(const std::vector<Event>& events) {
  if (auto read = read_rules(); !read) return read.error();
  // New posts only, except those already listed when the feed was added.
  std::vector<const Event*> posts;
  for (const Event& event : events) {
    if (event.type == "post_created" && !event.initial) posts.push_back(&event);
  }
  std::map<std::string, std::vector<std::string>> channels;  // by feed
  if (watcher_->wants_channels() && !posts.empty()) {
    for (const Event* post : posts) channels[post->feed_url];
    std::vector<std::string> urls;
    urls.reserve(channels.size());
    for (const auto& [url, uids] : channels) urls.push_back(url);
    const auto holding = channels_.holding(urls);
    if (!holding) return holding.error();
    for (std::size_t i = 0; i < urls.size(); ++i) channels[urls[i]] = (*holding)[i];
  }
  std::map<std::string, std::string> texts;  // by entry
  if (watcher_->wants_text()) {
    for (std::size_t i = 0; i < posts.size(); i += texts_per_trip) {
      std::vector<std::string> ids;
      for (std::size_t j = i; j < std::min(i + texts_per_trip, posts.size()); ++j) ids.push_back(posts[j]->entity_id);
      const auto entries = Entries(store_).get_all(ids);
      if (!entries) return entries.error();
      for (const StoredEntry& entry : *entries) texts[entry.id] = text_of(entry);
    }
  }
  std::vector<NoticesOfRecord> all;
  for (const Event& event : events) {
    NoticesOfRecord& record = all.emplace_back(NoticesOfRecord{event.id, event.prev, {}});
    if (auto notice = operator_notice(event)) record.notices.push_back(std::move(*notice));
    if (event.type != "post_created" || event.initial) continue;
    const auto text = texts.find(event.entity_id);
    // A removed post is matched by the title in its event.
    const std::string said = text == texts.end() ? std::string(field_of(event.data, "title")) : text->second;
    for (NotificationMatcher::Match& match : watcher_->matches(event.feed_url, channels[event.feed_url], said)) {
      record.notices.push_back(post_notice(event, std::move(match.user), match.why));
    }
  }
  return all;
}

/// Indexes all records first, so that posts in one batch find each other. A changed post is reported again if its link
/// or title changed.
StoreResult<std::vector<SameAsOfRecord>> Deliverer::same_as_of(const std::vector<Event>& events,
                                                               std::uint64_t& refused) {
  std::vector<SameAsOfRecord> all;
  std::vector<std::string> posts, told;
  std::vector<std::size_t> places;  // indices into `all`, for each of `told`
  for (const Event& event : events) {
    const bool created = event.type == "post_created", modified = event.type == "post_modified";
    if (created || (modified && event.renamed)) {
      told.push_back(event.entity_id);
      places.push_back(all.size());
    }
    if (created || modified || event.type == "post_deleted" || event.type == "post_trimmed") {
      posts.push_back(event.entity_id);
    }
    all.push_back({event.id, event.prev, event.entity_id, event.feed_url, event.guid});
  }
  const auto synced = stories_.sync(posts);
  if (!synced) return synced.error();
  refused = *synced;
  auto same = stories_.same_as(told);
  if (!same) return same.error();
  for (std::size_t i = 0; i < places.size(); ++i) all[places[i]].same_as = std::move((*same)[i]);
  return all;
}

StoreResult<void> Deliverer::let_go() {
  if (!std::exchange(holding_, false)) return {};
  store_.leave_closed();
  return deliveries_.let_go(options_.token);
}

StoreResult<bool> Deliverer::is_done() {
  for (const DeliveryTarget target : targets_) {
    const auto place = deliveries_.place(target);
    if (!place) return place.error();
    if (place->last != place->newest) return false;
  }
  return true;
}

}  // namespace feedmill
