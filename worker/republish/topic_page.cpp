#include "worker/republish/topic_page.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <openssl/sha.h>

#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/queues/topics.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/republish/topic_document.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_reads = 5;          // times the requested posts, to skip private ones
constexpr std::size_t bounded_step = 5;        // posts per read of a bounded page; each may take 2 MiB
constexpr std::size_t links_room = 16U << 10;  // reserved for the URLs in a document's head

/// Sanitises markup by the current rules.
std::string sanitised(std::string_view markup, std::size_t most) {
  SanitiseOptions options;
  options.max_bytes = most;
  return sanitise(markup, options).html;
}

bool is_of_todays_rules(const Fields& fields) {
  return field_of(fields, "san_ver") == std::to_string(sanitiser_version);
}

/// The text in field `name`; its type is in `name`_type.
TopicText text_of(const Fields& fields, const std::string& name, std::size_t most) {
  const std::string_view value = field_of(fields, name);
  const bool is_html = is_markup(field_of(fields, name + "_type"));
  if (!is_html || is_of_todays_rules(fields)) return {cleaned_text(value), is_html};
  return {sanitised(cleaned_text(value), most), true};
}

/// Cleans text, which other programs may have stored, and sanitises markup stored under other rules.
Fields shown_fields(Fields fields) {
  const bool is_safe = is_of_todays_rules(fields);
  const auto is_html = [&](const std::string& name) { return is_markup(field_of(fields, name + "_type")); };
  const bool title = is_html("title"), summary = is_html("summary"), content = is_html("content");
  for (auto& [name, value] : fields) {
    if (!is_clean_text(value)) value = cleaned_text(value);
    if (is_safe) continue;
    if (name == "title" && title) value = sanitised(value, limits::title);
    if (name == "summary" && summary) value = sanitised(value, limits::summary);
    if (name == "content" && content) value = sanitised(value, limits::content);
  }
  if (lacks_texts(fields)) fields.emplace_back("summary", std::string(field_of(fields, "summary_text")));
  return fields;
}

/// "17" for "Entry:17", with any key prefix.
std::string number_of(const std::string& entry_id) {
  return entry_id.substr(entry_id.rfind(':') + 1);
}

std::string name_of(const Topic& topic) {
  return (topic.kind == TopicKind::feed ? "feed:" : "channel:") + topic.name;
}

TopicSource source_of(const FeedRecord& feed, const std::string& store_id) {
  TopicSource source;
  if (!has_secret(feed.feed_url)) source.feed_url = feed.feed_url;
  source.id = urn_of(store_id, name_of({TopicKind::feed, feed.feed_url}));
  source.title = text_of(feed.feed, "title", limits::title);
  if (trim(source.title.plain()).empty()) source.title = {redact(feed.feed_url), false};
  source.link = cleaned_text(field_of(feed.feed, "link"));
  source.author = cleaned_text(field_of(feed.feed, "author"));
  return source;
}

/// Builds a page; reads each source feed only once.
class PageMaker {
 public:
  PageMaker(Store& store, const Topic& topic, const std::optional<DocumentBound>& bound)
      : store_(store), bound_(bound) {
    page_.topic = topic;
  }

  /// Starts the page. False if the feed or channel does not exist or is private.
  StoreResult<bool> begin() {
    auto id = store_.id();
    if (!id) return id.error();
    page_.store_id = std::move(*id);
    page_.id = urn_of(page_.store_id, name_of(page_.topic));
    auto begun = page_.topic.kind == TopicKind::feed ? begin_feed() : begin_channel();
    if (bound_ && begun) {
      const std::size_t head = render_topic(page_, bound_->format, {}).body.size() + links_room;
      room_ = left_ = bound_->bytes - std::min(head, bound_->bytes);
    }
    return begun;
  }

  /// Adds the posts that may be shown, up to `limit` on the page. False if some did not fit; stopped_at() is the first
  /// of those.
  StoreResult<bool> take(std::vector<StoredEntry> entries, std::size_t limit) {
    if (const auto known = look_up_feeds_of(entries); !known) return known.error();
    for (StoredEntry& entry : entries) {
      stopped_at_ = entry.id;
      if (page_.entries.size() >= limit) return false;
      EntryCursor place = place_of(entry);
      const auto source = sources_.find(entry.get("feed_url"));
      if (source == sources_.end() || !source->second || is_without_its_texts(entry, *source->second)) {
        page_.next = std::move(place);
        continue;
      }
      std::int64_t changed = 0;
      read_number(field_of(entry.fields, "last_changed"), changed);
      std::string urn = urn_of(page_.store_id, "post:" + number_of(entry.id));
      RepublishedEntry shown{std::move(entry.id), std::move(urn), shown_fields(std::move(entry.fields)),
                             *source->second};
      if (!has_room_for(shown)) return false;
      const std::chrono::sys_seconds at{std::chrono::seconds(changed)};
      if (changed > 0 && (!page_.updated || at > *page_.updated)) page_.updated = at;
      page_.next = std::move(place);
      page_.entries.push_back(std::move(shown));
    }
    return true;
  }

  std::size_t size() const { return page_.entries.size(); }
  const std::optional<EntryCursor>& next() const { return page_.next; }
  const std::string& stopped_at() const { return stopped_at_; }
  /// `more`: there may be posts after the last one examined.
  TopicPage finish(bool more) {
    if (!more) page_.next.reset();
    return std::move(page_);
  }

 private:
  StoreResult<bool> begin_channel() {
    const auto title = Topics(store_).title(page_.topic);
    if (!title) return title.error();
    page_.title = {cleaned_text(title->empty() ? page_.topic.name : *title), false};
    page_.author = page_.title.value;
    return Channels(store_).is_known(page_.topic.name);
  }

  /// Whether a post has lost its texts (RELIABILITY L34): readers that have it should not lose them, too. If its feed
  /// keeps no texts at all, they never had them.
  bool is_without_its_texts(const StoredEntry& entry, std::size_t source) const {
    return lacks_texts(entry.fields) && !without_any_texts_.contains(source);
  }

  /// Reserves room for a post if it fits. The first post always fits, because it is cut to size.
  bool has_room_for(RepublishedEntry& shown) {
    if (!bound_) return true;
    const std::size_t bytes = fit_post(shown, page_, bound_->format, room_);
    if (!page_.entries.empty() && bytes > left_) return false;
    left_ -= std::min(bytes, left_);
    return true;
  }

  StoreResult<bool> begin_feed() {
    const auto records = Feeds(store_).records(std::span(&page_.topic.name, 1));
    if (!records) return records.error();
    const std::optional<FeedRecord>& feed = records->front();
    if (!feed || !republishing_of(*feed).allowed) return false;
    add_source(*feed);
    const TopicSource& source = page_.sources.front();
    page_.title = source.title;
    page_.description = text_of(feed->feed, "description", limits::description);
    page_.link = source.link;
    page_.author = source.author.empty() ? source.title.plain() : source.author;
    page_.language = cleaned_text(field_of(feed->feed, "language"));
    page_.image = cleaned_text(field_of(feed->feed, "image"));
    return true;
  }

  void add_source(const FeedRecord& feed) {
    sources_[feed.feed_url] = page_.sources.size();
    if (feed.state.trim.texts == 0U) without_any_texts_.insert(page_.sources.size());
    page_.sources.push_back(source_of(feed, page_.store_id));
  }

  StoreResult<void> look_up_feeds_of(const std::vector<StoredEntry>& entries) {
    std::vector<std::string> unknown;
    for (const StoredEntry& entry : entries) {
      const std::string& feed_url = entry.get("feed_url");
      if (sources_.try_emplace(feed_url).second) unknown.push_back(feed_url);
    }
    if (unknown.empty()) return {};
    if (page_.topic.kind == TopicKind::feed) return {};  // these posts belong to another feed
    const auto records = Feeds(store_).records(unknown);
    if (!records) return records.error();
    for (const std::optional<FeedRecord>& feed : *records) {
      if (feed && republishing_of(*feed).allowed) add_source(*feed);
    }
    return {};
  }

  Store& store_;
  const std::optional<DocumentBound> bound_;
  std::size_t room_ = 0, left_ = 0;  // bytes for posts, if bounded: in total and left
  std::string stopped_at_;
  TopicPage page_;
  std::map<std::string, std::optional<std::size_t>> sources_;  // index by feed URL; empty: private
  std::set<std::size_t> without_any_texts_;                    // sources that keep no texts
};

StoreResult<std::optional<std::vector<StoredEntry>>> posts_of(Store& store, const Topic& topic, std::size_t limit,
                                                              const std::optional<EntryCursor>& before) {
  if (topic.kind == TopicKind::channel) return Channels(store).posts(topic.name, limit, before);
  auto posts = Entries(store).all_by_order(topic.name, limit, before);
  if (!posts) return posts.error();
  return std::optional(std::move(*posts));
}

/// Removes posts of feeds that are not in the channel.
StoreResult<void> keep_those_in(Store& store, const std::string& uid, std::vector<StoredEntry>& entries) {
  std::vector<std::string> feed_urls;
  feed_urls.reserve(entries.size());
  for (const StoredEntry& entry : entries) feed_urls.push_back(entry.get("feed_url"));
  std::sort(feed_urls.begin(), feed_urls.end());
  feed_urls.erase(std::unique(feed_urls.begin(), feed_urls.end()), feed_urls.end());
  const auto held = Channels(store).holds(uid, feed_urls);
  if (!held) return held.error();
  std::erase_if(entries, [&](const StoredEntry& entry) {
    const auto at = std::lower_bound(feed_urls.begin(), feed_urls.end(), entry.get("feed_url"));
    return !(*held)[static_cast<std::size_t>(at - feed_urls.begin())];
  });
  return {};
}

}  // namespace

std::string TopicText::plain() const {
  return is_html ? plain_text(value) : value;
}

std::string urn_of(const std::string& store_id, const std::string& name) {
  std::string text;  // the namespace as 16 bytes, then the name
  for (std::size_t i = 0; i + 1 < store_id.size(); i += 2) {
    text += static_cast<char>(hex_value(store_id[i]) * 16 + hex_value(store_id[i + 1]));
  }
  text += name;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  digest[6] = static_cast<unsigned char>((digest[6] & 0x0FU) | 0x50U);  // version 5
  digest[8] = static_cast<unsigned char>((digest[8] & 0x3FU) | 0x80U);  // variant of RFC 9562
  std::string urn = "urn:uuid:";
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) urn += '-';
    urn += "0123456789abcdef"[digest[i] >> 4U];
    urn += "0123456789abcdef"[digest[i] & 15U];
  }
  return urn;
}

StoreResult<std::optional<TopicPage>> read_topic_page(Store& store, const Topic& topic,
                                                      const std::optional<EntryCursor>& before, std::size_t limit,
                                                      const std::optional<DocumentBound>& bound) {
  PageMaker page(store, topic, bound);
  const auto begun = page.begin();
  if (!begun) return begun.error();
  if (!*begun) return std::optional<TopicPage>();
  std::optional<EntryCursor> at = before;
  bool more = limit > 0;
  const std::size_t step = bound ? std::min(bounded_step, limit) : limit;
  for (std::size_t read = 0; more && read < most_reads * limit && page.size() < limit; read += step) {
    auto posts = posts_of(store, topic, step, at);
    if (!posts) return posts.error();
    if (!*posts) return std::optional<TopicPage>();  // removed in between
    // Posts may be trimmed after the index was read, so a bounded page reads until none are left.
    more = bound ? !(*posts)->empty() : (*posts)->size() == step;
    const auto all = page.take(std::move(**posts), limit);
    if (!all) return all.error();
    if (!*all) return std::optional(page.finish(true));
    at = page.next();
  }
  return std::optional(page.finish(more));
}

StoreResult<std::optional<EntryCursor>> resolve_place(Store& store, const Topic& topic, const EntryCursor& before) {
  if (topic.kind == TopicKind::channel) return Channels(store).place_at(topic.name, before);
  return Entries(store).place_at(topic.name, before);
}

StoreResult<std::optional<TopicPage>> read_topic_entries(Store& store, const Topic& topic,
                                                         std::span<const std::string> entry_ids,
                                                         const std::optional<DocumentBound>& bound,
                                                         std::size_t* looked_at) {
  PageMaker page(store, topic, bound);
  const auto begun = page.begin();
  if (!begun) return begun.error();
  if (!*begun) return std::optional<TopicPage>();
  std::size_t looked = 0;
  while (looked < entry_ids.size()) {
    const auto some = bound ? entry_ids.subspan(looked, std::min(bounded_step, entry_ids.size() - looked)) : entry_ids;
    auto entries = Entries(store).get_all(some);
    if (!entries) return entries.error();
    if (topic.kind == TopicKind::channel) {
      if (const auto kept = keep_those_in(store, topic.name, *entries); !kept) return kept.error();
    }
    const auto taken = page.take(std::move(*entries), entry_ids.size());
    if (!taken) return taken.error();
    if (!*taken) {
      looked += static_cast<std::size_t>(std::ranges::find(some, page.stopped_at()) - some.begin());
      break;
    }
    looked += some.size();
  }
  if (looked_at != nullptr) *looked_at = looked;
  return std::optional(page.finish(false));
}

namespace {

/// Why the feed is not public; "" if anyone could have fetched it.
std::string_view why_private(const std::string& feed_url, const FeedState& state, const FeedSettings& settings) {
  if (!settings.auth.empty()) return "it is fetched with credentials (auth)";
  if (!settings.headers.empty()) return "it is fetched with custom headers";
  if (!settings.policy.empty()) return "it is fetched under a custom policy";
  if (has_secret(feed_url) || has_secret(state.address.fetch_url)) return "its URL contains a secret";
  if (state.exposure == Exposure::opened_by_allow) return "its server is allowed by egress.allow";
  if (state.exposure == Exposure::unknown) return "it has not been fetched since feedmill records its source";
  return {};
}

}  // namespace

Republishing republishing_of(const std::string& feed_url, const FeedState& state) {
  const FeedSettings settings = read_settings(state.settings);
  if (settings.republish == "yes") return {true, true, ""};
  if (settings.republish == "no") return {false, true, "its record says republish=no"};
  const std::string_view why = why_private(feed_url, state, settings);
  if (why.empty()) return {true, true, ""};
  return {false, true, std::string(why) + "; set republish=yes to share it anyway"};
}

Republishing republishing_of(const FeedRecord& feed) {
  return republishing_of(feed.feed_url, feed.state);
}

bool may_be_told(const Event& event, const Republishing& feed) {
  if (feed.registered || event.type != "feed_removed") return feed.allowed;
  const auto said = std::ranges::find(event.data, "republish", &Fields::value_type::first);
  if (said == event.data.end()) return false;
  return said->second == "yes" || (said->second == "public" && !has_secret(event.feed_url));
}

StoreResult<std::vector<Republishing>> read_republishing(Store& store, std::span<const std::string> feed_urls) {
  const auto records = Feeds(store).records(feed_urls);
  if (!records) return records.error();
  std::vector<Republishing> all;
  all.reserve(records->size());
  for (const std::optional<FeedRecord>& record : *records) {
    all.push_back(record ? republishing_of(*record) : Republishing{false, false, "no such feed"});
  }
  return all;
}

}  // namespace feedmill
