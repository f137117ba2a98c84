#include "worker/push_out/new_content.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "worker/republish/topic_document.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_kept = std::size_t{8} << 20U, most_bytes = std::size_t{1} << 20U;

}  // namespace

asio::awaitable<StoreResult<NewContent::Made>> NewContent::of(const Subscriber& subscriber,
                                                              std::vector<std::string> entry_ids, std::string version) {
  std::string key = subscriber.topic_url + " " + std::move(version);
  for (const std::string& id : entry_ids) key.append(" ").append(id);
  if (const auto found = made_.find(key); found != made_.end()) co_return found->second;
  const Topic topic = subscriber.topic;
  const TopicFormat format = subscriber.topic_url.ends_with(".json") ? TopicFormat::json : TopicFormat::atom;
  TopicLinks links;
  links.self = subscriber.topic_url;
  links.hub = hub_;
  Made made;
  const auto make = [&](Store& store) -> StoreResult<std::optional<TopicDocument>> {
    for (made.posts = entry_ids.size();; made.posts = (made.posts + 1) / 2) {
      std::vector<std::string> ids(entry_ids.begin(), entry_ids.begin() + static_cast<std::ptrdiff_t>(made.posts));
      std::ranges::reverse(ids);
      auto page = read_topic_entries(store, topic, ids);
      if (!page) return page.error();
      if (!*page || (*page)->entries.empty()) return std::optional<TopicDocument>();
      TopicDocument document = render_topic(**page, format, links);
      if (document.body.size() <= most_bytes || made.posts == 1) return std::optional(std::move(document));
    }
  };
  StoreResult<std::optional<TopicDocument>> document = co_await store_.call(make);
  if (!document) co_return document.error();
  if (!*document) co_return made;
  auto content = std::make_shared<Sender::Content>();
  content->body = std::move((*document)->body);
  content->type = std::move((*document)->content_type);
  content->hub = hub_;
  content->self = subscriber.topic_url;
  if (bytes_ + content->body.size() > most_kept) {
    made_.clear();
    bytes_ = 0;
  }
  bytes_ += content->body.size();
  made.content = std::move(content);
  made_.insert_or_assign(std::move(key), made);
  co_return made;
}

}  // namespace feedmill
