#include "worker/lists/export.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::size_t held_names = 5'000;
constexpr std::size_t held_of_a_channel = 50'000;  // each look goes over all feeds of the channel
constexpr std::size_t feeds_at_once = 50;          // the settings of one may have 64 KiB

ExportedFeed exported(const FeedRecord& record) {
  // Attributes of OPML are plain text.
  return {record.feed_url, readable_field(record.feed, "title"), std::string(field_of(record.feed, "link")),
          read_settings(record.state.settings)};
}

}  // namespace

Export::Export(std::string user, std::size_t stores) : user_(std::move(user)), stores_(stores) {}

template <class More>
StoreResult<std::vector<std::string>> Export::take(Names& names, std::size_t most, std::size_t at_once, More more) {
  if (names.held.empty() && !names.all) {
    auto stretch = more(names.after);
    if (!stretch) return stretch.error();
    names.all = stretch->size() < at_once;
    if (!stretch->empty()) names.after = stretch->back();
    names.held = std::move(*stretch);
    std::reverse(names.held.begin(), names.held.end());
  }
  std::vector<std::string> some;
  while (!names.held.empty() && some.size() < most) {
    some.push_back(std::move(names.held.back()));
    names.held.pop_back();
  }
  return some;
}

StoreResult<std::string> Export::next(Store& store) {
  if (stage_ == Stage::head) {
    const auto now = store.now();
    if (!now) return now.error();
    writer_.emplace(now->count() / 1000);
    stage_ = Stage::channels;
  }
  const auto done = stage_ == Stage::channels ? write_channels(store) : write_rest(store);
  if (!done) return done.error();
  return writer_->take();
}

StoreResult<void> Export::write_channels(Store& store) {
  Channels channels(store);
  const std::string beginning = user_.empty() ? std::string() : user_ + "/";
  if (!channel_) {
    const auto names = take(channels_, 1, held_names, [&](const std::string& after) {
      return channels.names_after(after, held_names, beginning);
    });
    if (!names) return names.error();
    feeds_ = {};
    if (!names->empty()) {
      channel_ = names->front();
    } else if (user_.empty()) {
      stage_ = Stage::rest;
    } else {
      end_store();
    }
    return {};
  }
  const auto urls = take(feeds_, feeds_at_once, held_of_a_channel, [&](const std::string& after) {
    return channels.feeds_after(*channel_, after, held_of_a_channel);
  });
  if (!urls) return urls.error();
  const auto records = Feeds(store).records(*urls);
  if (!records) return records.error();
  for (const std::optional<FeedRecord>& record : *records) {
    if (!record) continue;
    const ExportedFeed feed = exported(*record);
    for (const auto& path : folders_of(std::span(&*channel_, 1), feed.settings.folders, user_)) {
      if (!path.empty()) writer_->row(path, feed);
    }
  }
  if (urls->empty()) channel_.reset();
  return {};
}

/// On to the next one, if there is another.
void Export::end_store() {
  channels_ = feeds_ = {};
  stage_ = Stage::channels;
  if (++at_ < stores_) return;
  writer_->end();
  stage_ = Stage::ended;
}

StoreResult<void> Export::write_rest(Store& store) {
  Feeds feeds(store);
  const auto urls = take(feeds_, feeds_at_once, held_names,
                         [&](const std::string& after) { return feeds.urls_after(after, held_names); });
  if (!urls) return urls.error();
  if (urls->empty()) {
    end_store();
    return {};
  }
  const auto holders = Channels(store).holding(*urls);
  if (!holders) return holders.error();
  const auto records = feeds.records(*urls);
  if (!records) return records.error();
  for (std::size_t i = 0; i < records->size(); ++i) {
    if (!(*records)[i]) continue;
    const ExportedFeed feed = exported(*(*records)[i]);
    const auto& remembered = feed.settings.folders;
    const bool at_the_top = std::ranges::any_of(remembered, [](const auto& path) { return path.empty(); });
    if ((*holders)[i].empty() || at_the_top) writer_->row({}, feed);
  }
  return {};
}

}  // namespace feedmill
