#include "storage/timelines/stories.hpp"

#include <algorithm>
#include <map>

#include "parsers/text/strings.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t shards = 4096;  // also in story_sync.lua
constexpr std::size_t posts_per_call = 200, posts_per_step = 500, shards_per_step = 16, keys_per_call = 512;

std::size_t shard_of_page(std::string_view page) {
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(page[i])); };
  return page.size() < 2 ? 0 : (byte(0) * 256 + byte(1)) % shards;
}

std::vector<std::uint64_t> numbers_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::uint64_t number = 0;
    if (read_number(text.substr(0, end), number) && number > 0) numbers.push_back(number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

/// The replies in one round trip; nil for a key of the wrong type, which must not stop delivery.
StoreResult<std::vector<Reply>> ask(Store::Impl& impl, std::span<const Words> commands) {
  std::vector<Reply> replies;
  if (commands.empty()) return replies;
  for (StoreResult<Reply>& reply : impl.pipeline_each(commands)) {
    if (!reply && !reply.error().detail.starts_with("WRONGTYPE")) return reply.error();
    replies.push_back(reply ? std::move(*reply) : Reply(nullptr, nullptr));
  }
  return replies;
}

}  // namespace

std::uint64_t Stories::number_of(std::string_view id) const {
  const std::string beginning = impl_.keys.entries();
  std::uint64_t number = 0;
  if (id.starts_with(beginning)) read_number(id.substr(beginning.size()), number);
  return number;
}

/// For each post, all posts about its page including itself; none if it is not indexed.
StoreResult<std::vector<std::vector<StoryPost>>> Stories::stories_of(std::span<const std::string> ids,
                                                                     std::vector<StoryPost>& own) {
  std::vector<std::string> words;
  words.reserve(2 * ids.size());
  std::vector<Words> commands;
  for (const std::string& id : ids) {
    const std::uint64_t number = number_of(id);
    words.push_back(impl_.keys.story_posts(number % shards));
    words.push_back(std::to_string(number));
    commands.push_back({"HGET", words[words.size() - 2], words.back()});
  }
  std::vector<std::vector<StoryPost>> stories(ids.size());
  own.assign(ids.size(), {});
  const auto pages = ask(impl_, commands);
  if (!pages) return pages.error();

  std::vector<std::size_t> indexed;
  std::vector<std::string> page_keys;
  page_keys.reserve(ids.size());
  commands.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if ((*pages)[i].is_nil()) continue;
    const std::string_view page = (*pages)[i].text();
    indexed.push_back(i);
    commands.push_back({"HGET", page_keys.emplace_back(impl_.keys.story_pages(shard_of_page(page))), page});
  }
  if (indexed.empty()) return stories;
  const auto lists = ask(impl_, commands);
  if (!lists) return lists.error();

  std::map<std::uint64_t, StoryPost> posts;
  std::vector<std::vector<std::uint64_t>> numbers(ids.size());
  for (std::size_t i = 0; i < indexed.size(); ++i) {
    std::vector<std::uint64_t>& of_page = numbers[indexed[i]];
    if (!(*lists)[i].is_nil()) of_page = numbers_in((*lists)[i].text());
    if (of_page.size() < 2) of_page.clear();  // usually a page has one post, and nothing more is read
    for (const std::uint64_t number : of_page) posts[number];
  }
  std::vector<std::string> entry_ids;
  entry_ids.reserve(posts.size());
  commands.clear();
  for (const auto& [number, post] : posts) {
    Words command{"HMGET", entry_ids.emplace_back(impl_.keys.entries() + std::to_string(number))};
    command.insert(command.end(), std::begin(story_fields), std::end(story_fields));
    commands.push_back(std::move(command));
  }
  const auto entries = ask(impl_, commands);
  if (!entries) return entries.error();
  std::size_t at = 0;
  for (auto& [number, post] : posts) {
    const Reply& values = (*entries)[at++];
    Fields fields;
    for (std::size_t i = 0; i < std::size(story_fields) && i < values.size(); ++i) {
      if (!values[i].is_nil()) fields.emplace_back(story_fields[i], values[i].text());
    }
    if (find_field(fields, "feed_url") != nullptr) post = story_post(number, fields);
  }
  for (const std::size_t i : indexed) {
    const std::uint64_t mine = number_of(ids[i]);
    for (const std::uint64_t number : numbers[i]) {
      const StoryPost& post = posts[number];
      if (post.number == 0) continue;  // just removed
      stories[i].push_back(post);
      if (number == mine) own[i] = post;
    }
  }
  return stories;
}

StoreResult<std::vector<std::vector<std::string>>> Stories::same_as(std::span<const std::string> ids) {
  std::vector<StoryPost> own;
  const auto stories = stories_of(ids, own);
  if (!stories) return stories.error();
  std::vector<std::vector<std::string>> all(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (own[i].number == 0) continue;
    for (const StoryPost& post : same_story(own[i], (*stories)[i])) {
      all[i].push_back(impl_.keys.entries() + std::to_string(post.number));
    }
  }
  return all;
}

StoreResult<std::vector<bool>> Stories::is_first_told(const std::string& uid, bool all,
                                                      std::span<const std::string> ids) {
  std::vector<StoryPost> own;
  const auto stories = stories_of(ids, own);
  if (!stories) return stories.error();
  // Once any post of a story was read, the story is not shown again, whichever post comes first.
  const std::string shown = all ? impl_.keys.channel_index(uid) : impl_.keys.timeline(uid);
  const std::string read = impl_.keys.channel_read(uid);
  std::vector<std::string> others;
  std::vector<std::pair<std::size_t, std::string_view>> asked;  // index in `ids`, key
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (own[i].number == 0) continue;
    for (const StoryPost& post : same_story(own[i], (*stories)[i])) {
      const std::string id = impl_.keys.entries() + std::to_string(post.number);
      const auto ask_of = [&](const std::string& key) {
        others.push_back(id);
        asked.emplace_back(i, key);
      };
      if (comes_first(post, own[i])) ask_of(shown);
      if (!all) ask_of(read);
    }
  }
  std::vector<bool> first(ids.size(), true);
  std::vector<Words> commands;
  for (std::size_t i = 0; i < asked.size(); ++i) commands.push_back({"ZSCORE", asked[i].second, others[i]});
  const auto scores = ask(impl_, commands);
  if (!scores) return scores.error();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!(*scores)[i].is_nil()) first[asked[i].first] = false;
  }
  return first;
}

StoreResult<std::uint64_t> Stories::sync(std::span<const std::string> ids) {
  std::uint64_t refused = 0;
  for (; !ids.empty(); ids = ids.subspan(std::min(posts_per_call, ids.size()))) {
    const auto batch = ids.first(std::min(posts_per_call, ids.size()));
    std::vector<Words> commands;
    std::vector<std::uint64_t> numbers;
    for (const std::string& id : batch) {
      const std::uint64_t number = number_of(id);
      if (number == 0) continue;
      numbers.push_back(number);
      commands.push_back({"HMGET", id, "rev", "link", "canonical_url"});
    }
    if (numbers.empty()) continue;
    const auto entries = ask(impl_, commands);
    if (!entries) return entries.error();
    Args args;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Reply& entry = (*entries)[i];
      if (entry.is_nil()) continue;
      args.add(numbers[i]);
      args.own(entry[0].is_nil() ? std::string() : std::string(entry[0].text()));
      args.own(entry[1].is_nil()
                   ? std::string()
                   : story_page(entry[1].text(), entry[2].is_nil() ? std::string_view() : entry[2].text()));
    }
    const auto reply = impl_.run(Script::story_sync, args);
    if (!reply) return reply.error();
    refused += static_cast<std::uint64_t>((*reply)[0].integer());
  }
  return refused;
}

StoreResult<Stories::State> Stories::state() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"GET", impl_.keys.stories()});
  if (!reply) return reply.error();
  if (reply->is_nil()) return State::none;
  return reply->text() == "built" ? State::built : State::building;
}

StoreResult<void> Stories::note(State state) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"SET", impl_.keys.stories(), state == State::built ? "built" : "building"});
  if (!reply) return reply.error();
  return {};
}

StoreResult<Stories::Place> Stories::rebuild(const Place& from) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  Place place = from;
  std::vector<std::string> ids;
  if (place.shard < shards) {  // finds entries of removed posts
    const std::size_t end = std::min(shards, place.shard + shards_per_step);
    for (; place.shard < end; ++place.shard) {
      const std::string key = impl_.keys.story_posts(place.shard);
      const Words command{"HGETALL", key};
      const auto posts = ask(impl_, std::span(&command, 1));
      if (!posts) return posts.error();
      for (const auto& [number, page] : posts->front().pairs()) ids.push_back(impl_.keys.entries() + number);
    }
  } else {  // finds missing posts
    if (place.waiting.empty()) {
      const auto reply = impl_.redis.command({"SSCAN", impl_.keys.feeds(), place.feeds, "COUNT", "10"});
      if (!reply) return reply.error();
      place.feeds = (*reply)[0].text();
      place.waiting = (*reply)[1].texts();  // a small set is returned whole
    }
    while (!place.waiting.empty() && ids.size() < posts_per_step) {
      const std::string key = impl_.keys.sort(place.waiting.back());
      const Words command{"ZRANGE", key, "0", "-1"};
      const auto posts = ask(impl_, std::span(&command, 1));
      if (!posts) return posts.error();
      for (std::string& id : posts->front().texts()) ids.push_back(std::move(id));
      place.waiting.pop_back();
    }
    place.done = place.waiting.empty() && place.feeds == "0";
  }
  if (const auto synced = sync(ids); !synced) return synced.error();
  return place;
}

StoreResult<void> Stories::drop() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < shards; ++i) {
    keys.push_back(impl_.keys.story_posts(i));
    keys.push_back(impl_.keys.story_pages(i));
  }
  keys.push_back(impl_.keys.delivered("stories"));
  keys.push_back(impl_.keys.stories());  // last, so that an interrupted drop is repeated
  for (std::span<const std::string> left(keys); !left.empty();) {
    const auto batch = left.first(std::min(keys_per_call, left.size()));
    Words words{"UNLINK"};
    words.insert(words.end(), batch.begin(), batch.end());
    const auto reply = impl_.redis.command(words);
    if (!reply) return reply.error();
    left = left.subspan(batch.size());
  }
  return {};
}

}  // namespace feedmill
