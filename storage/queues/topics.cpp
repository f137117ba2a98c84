#include "storage/queues/topics.hpp"

#include "storage/queues/subscribers.hpp"
#include "storage/records/tokens.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// Field name in the hash of topics.
std::string field_of(const Topic& topic) {
  return std::string(to_string(topic.kind)) + ":" + topic.name;
}

std::optional<Topic> topic_of(std::string_view field) {
  for (const TopicKind kind : {TopicKind::feed, TopicKind::channel}) {
    const std::string_view name = to_string(kind);
    if (field.size() > name.size() + 1 && field.starts_with(name) && field[name.size()] == ':')
      return Topic{kind, std::string(field.substr(name.size() + 1))};
  }
  return {};
}

}  // namespace

StoreResult<TopicAddress> Topics::share(const Topic& topic, const std::optional<std::string>& title) {
  const std::string fresh = random_token();
  Args args;
  args.own(field_of(topic));
  args.add(std::string_view(fresh));
  args.own(token_of(fresh));
  args.own(title ? "=" + *title : std::string());
  const auto reply = impl_.run(Script::push_out_topic, args);
  if (!reply) return reply.error();
  return TopicAddress{topic, std::string(reply->text()), title.value_or("")};
}

StoreResult<bool> Topics::unshare(const Topic& topic) {
  auto known = find(topic);
  if (!known) return known.error();
  if (!*known) return false;
  Args args;
  args.own(field_of(topic));
  args.add(std::string_view());
  args.own(token_of((*known)->token));
  args.add(std::string_view());
  const auto reply = impl_.run(Script::push_out_topic, args);
  if (!reply) return reply.error();
  return true;
}

StoreResult<std::string> Topics::end_step(const Topic& topic, const std::string& after) {
  constexpr std::size_t at_once = 100;
  if (after.empty()) {
    const auto had = unshare(topic);
    if (!had) return had.error();
    if (!*had) return std::string();
  }
  return Subscribers(impl_).deny(topic, after, at_once);
}

StoreResult<void> Topics::end(const Topic& topic) {
  std::string after;
  do {
    auto next = end_step(topic, after);
    if (!next) return next.error();
    after = std::move(*next);
  } while (!after.empty());
  return {};
}

StoreResult<std::optional<TopicAddress>> Topics::find(const Topic& topic) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.topics(), field = field_of(topic);
  const auto reply = impl_.redis.command({"HGET", key, field});
  if (!reply) return reply.error();
  if (reply->is_nil()) return std::optional<TopicAddress>();
  return std::optional(TopicAddress{topic, std::string(reply->text())});
}

StoreResult<std::string> Topics::title(const Topic& topic) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.topic_titles(), field = field_of(topic);
  const auto reply = impl_.redis.command({"HGET", key, field});
  if (!reply) return reply.error();
  return std::string(reply->text());
}

StoreResult<std::optional<Topic>> Topics::find(const std::string& token) {
  if (!is_token(token)) return std::optional<Topic>();
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.topic(token_of(token));
  const auto reply = impl_.redis.command({"GET", key});
  if (!reply) return reply.error();
  return reply->is_nil() ? std::optional<Topic>() : topic_of(reply->text());
}

StoreResult<Topics::Page> Topics::list(const std::string& after, std::size_t limit) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.topic_names(), from = after.empty() ? "-" : "(" + after;
  const std::string count = std::to_string(limit);
  const auto names = impl_.redis.command({"ZRANGE", key, from, "+", "BYLEX", "LIMIT", "0", count});
  if (!names) return names.error();
  Page page;
  if (names->size() == 0) return page;
  const std::string tokens_key = impl_.keys.topics();
  Words words{"HMGET", tokens_key};
  for (std::size_t i = 0; i < names->size(); ++i) words.push_back((*names)[i].text());
  const auto tokens = impl_.redis.command(words);
  if (!tokens) return tokens.error();
  const std::string titles_key = impl_.keys.topic_titles();
  words[1] = titles_key;
  const auto titles = impl_.redis.command(words);
  if (!titles) return titles.error();
  for (std::size_t i = 0; i < names->size(); ++i) {
    auto topic = topic_of((*names)[i].text());
    if (!topic || (*tokens)[i].is_nil()) continue;
    page.topics.push_back({std::move(*topic), std::string((*tokens)[i].text()), std::string((*titles)[i].text())});
  }
  if (names->size() == limit) page.next = (*names)[names->size() - 1].text();
  return page;
}

}  // namespace feedmill
