#include "worker/push_out/new_content.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "worker/republish/topic_document.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_kept = std::size_t{8} << 20U, most_bytes = std::size_t{1} << 20U;
constexpr std::uint64_t making_cost = 24U << 20U;  // five posts of 2 MiB, twice, and the document

}  // namespace

asio::awaitable<StoreResult<NewContent::Made>> NewContent::of(const Subscriber& subscriber,
                                                              std::vector<std::string> entry_ids, std::string version,
                                                              double of_memory) {
  std::string key = subscriber.topic_url + " " + std::move(version);
  for (const std::string& id : entry_ids) key.append(" ").append(id);
  if (const auto found = made_.find(key); found != made_.end()) co_return found->second;
  const OneAtATime::Inside inside = co_await making_.enter();
  if (const auto found = made_.find(key); found != made_.end()) co_return found->second;
  Made made;
  if (!memory_.has_room(most_bytes, of_memory)) {
    made_.clear();  // drop documents that no delivery is sending
    bytes_ = 0;
    made.no_memory = !memory_.has_room(most_bytes, of_memory);
    if (made.no_memory) co_return made;
  }
  MemoryBudget::Share making(memory_.budget(), 0);
  making.hold(making_cost);
  const Topic topic = subscriber.topic;
  const TopicFormat format = subscriber.topic_url.ends_with(".json") ? TopicFormat::json : TopicFormat::atom;
  TopicLinks links;
  links.self = subscriber.topic_url;
  links.hub = hub_;
  const auto make = [&](Store& store) -> StoreResult<std::optional<TopicDocument>> {
    auto page = read_topic_entries(store, topic, entry_ids, DocumentBound{format, most_bytes}, &made.posts);
    if (!page) return page.error();
    if (!*page) made.posts = entry_ids.size();
    if (!*page || (*page)->entries.empty()) return std::optional<TopicDocument>();
    std::ranges::reverse((*page)->entries);
    return std::optional(render_topic(**page, format, links));
  };
  StoreResult<std::optional<TopicDocument>> document = co_await store_.call(make);
  if (!document) co_return document.error();
  if (!*document) co_return made;
  auto content = std::make_shared<Sender::Content>();
  (*document)->body.shrink_to_fit();
  content->body = memory_.share(std::move((*document)->body));
  content->type = std::move((*document)->content_type);
  content->hub = hub_;
  content->self = subscriber.topic_url;
  if (bytes_ + content->body->size() > most_kept) {
    made_.clear();
    bytes_ = 0;
  }
  bytes_ += content->body->size();
  made.content = std::move(content);
  made_.insert_or_assign(std::move(key), made);
  co_return made;
}

}  // namespace feedmill
