#include "worker/hub/topic_pages.hpp"

#include <ctime>
#include <utility>

#include <boost/beast/http/field.hpp>

#include "storage/push_out/topics.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::size_t page_posts = 50, most_kept = 64;
constexpr std::chrono::milliseconds kept_for{1'000};

/// IMF-fixdate (RFC 9110 §5.6.7).
std::string http_date(std::chrono::sys_seconds time) {
  const std::time_t seconds = time.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  // The names of days and months are those of the C locale, which nobody has changed.
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace

bool names_etag(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    const auto comma = std::min(if_none_match.find(','), if_none_match.size());
    std::string_view one = trim_field(if_none_match.substr(0, comma));
    if_none_match.remove_prefix(std::min(comma + 1, if_none_match.size()));
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);  // the weak comparison, as it is to be
    if (one == etag) return true;
  }
  return false;
}

std::string TopicPages::address(const TopicTarget& target, const std::optional<EntryCursor>& before) const {
  std::string url = public_url_ + "/t/" + target.token + (target.format == TopicFormat::json ? ".json" : ".atom");
  if (before) url += "?before=" + std::to_string(before->score) + ":" + before->id;
  return url;
}

asio::awaitable<StoreResult<std::optional<Topic>>> TopicPages::topic_of(std::string token) {
  const auto find = [&](Store& store) -> StoreResult<std::optional<Topic>> {
    auto topic = Topics(store).find(token);
    if (!topic || !*topic) return topic;
    const auto page = read_topic_page(store, **topic, {}, 1);
    if (!page) return page.error();
    return *page ? std::move(*topic) : std::optional<Topic>();
  };
  co_return co_await store_.call_again(find);
}

asio::awaitable<StoreResult<std::optional<TopicPages::Kept>>> TopicPages::document_of(const TopicTarget& target) {
  const std::string self = address(target, target.before);
  const auto now = std::chrono::steady_clock::now();
  if (const auto found = kept_.find(self); found != kept_.end() && now - found->second.made < kept_for)
    co_return std::optional(found->second);
  const auto make = [&](Store& store) -> StoreResult<std::optional<Kept>> {
    const auto topic = Topics(store).find(target.token);
    if (!topic) return topic.error();
    if (!*topic) return std::optional<Kept>();
    const auto page = read_topic_page(store, **topic, target.before, page_posts);
    if (!page) return page.error();
    if (!*page) return std::optional<Kept>();
    Kept kept{now, {}, (*page)->next ? address(target, (*page)->next) : std::string()};
    TopicLinks links;
    links.self = self;
    links.hub = public_url_ + "/hub";
    links.first = address(target, {});
    links.next = kept.next;
    kept.document = std::make_shared<const TopicDocument>(render_topic(**page, target.format, links));
    return std::optional(std::move(kept));
  };
  StoreResult<std::optional<Kept>> made = co_await store_.call_again(make);
  if (made && *made) {
    if (kept_.size() >= most_kept) kept_.clear();
    kept_.insert_or_assign(self, **made);
  }
  co_return made;
}

asio::awaitable<HttpReply> TopicPages::answer(const Visit& visit, const TopicTarget& target) {
  const StoreResult<std::optional<Kept>> found = co_await document_of(target);
  if (!found) co_return try_later("30");
  if (!*found) co_return http_reply(http::status::not_found);
  const TopicDocument& document = *(*found)->document;
  const Visit::Header& head = visit.head();
  // Not by If-Modified-Since: a post may be removed, or another come within the same second.
  const bool unchanged = names_etag(std::string_view(head[http::field::if_none_match]), document.etag);
  HttpReply reply = http_reply(unchanged ? http::status::not_modified : http::status::ok, document.content_type,
                               unchanged ? std::string() : document.body);
  reply.set(http::field::etag, document.etag);
  if (document.last_modified) reply.set(http::field::last_modified, http_date(*document.last_modified));
  reply.set(http::field::cache_control, "private, max-age=60");
  reply.set(http::field::link, "<" + public_url_ + "/hub>; rel=\"hub\", <" + address(target, {}) + ">; rel=\"self\"");
  reply.set("X-Robots-Tag", "noindex");
  reply.set(http::field::access_control_allow_origin, "*");
  co_return reply;
}

}  // namespace feedmill
