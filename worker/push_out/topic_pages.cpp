#include "worker/push_out/topic_pages.hpp"

#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>

#include <boost/beast/http/field.hpp>

#include "parsers/text/strings.hpp"
#include "storage/queues/topics.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::size_t page_posts = 50, most_bytes = std::size_t{2} << 20U;

/// The time as IMF-fixdate (RFC 9110 §5.6.7).
std::string http_date(std::chrono::sys_seconds time) {
  const std::time_t seconds = time.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  // strftime uses the C locale for names of days and months; the locale is never changed.
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace

bool names_etag(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    std::string_view one = trim_field(take_until(if_none_match, ','));
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);  // weak comparison
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
  co_return co_await store_.call(find);
}

/// Replaces an arbitrary `before` by the position of the post it resolves to, so that each page is cached only once.
asio::awaitable<TopicPages::Is> TopicPages::resolve(TopicTarget& target) {
  if (!target.before) co_return Is::there;
  const auto look = [&](Store& store) -> StoreResult<bool> {
    const auto topic = Topics(store).find(target.token);
    if (!topic) return topic.error();
    if (!*topic) return false;
    auto place = resolve_place(store, **topic, *target.before);
    if (!place) return place.error();
    target.before = std::move(*place);
    return true;
  };
  const StoreResult<bool> found = co_await store_.call(look);
  if (!found) co_return Is::store_away;
  co_return *found ? Is::there : Is::not_there;
}

asio::awaitable<TopicPages::Found> TopicPages::document_of(TopicTarget target) {
  Found found;
  found.is = co_await resolve(target);
  if (found.is != Is::there) co_return found;
  const std::string self = address(target, target.before);
  found.document = cache_.find(self);
  if (found.document) co_return found;
  const OneAtATime::Inside inside = co_await making_.enter();
  found.document = cache_.find(self);
  if (found.document) co_return found;
  found.is = Is::no_memory;
  if (!cache_.make_room(most_bytes)) co_return found;
  MemoryBudget::Share making(cache_.memory().budget(), 0);
  making.hold(topic_making_cost);
  const auto make = [&](Store& store) -> StoreResult<std::optional<TopicDocument>> {
    const auto topic = Topics(store).find(target.token);
    if (!topic) return topic.error();
    if (!*topic) return std::optional<TopicDocument>();
    const DocumentBound bound{target.format, most_bytes};
    const auto page = read_topic_page(store, **topic, target.before, page_posts, bound);
    if (!page) return page.error();
    if (!*page) return std::optional<TopicDocument>();
    TopicLinks links;
    links.self = self;
    links.hub = public_url_ + "/hub";
    links.first = address(target, {});
    if ((*page)->next) links.next = address(target, (*page)->next);
    return std::optional(render_topic(**page, target.format, links));
  };
  StoreResult<std::optional<TopicDocument>> made = co_await store_.call(make);
  found.is = Is::store_away;
  if (!made) co_return found;
  found.is = Is::not_there;
  if (!*made) co_return found;
  TopicDocument& document = **made;
  auto kept = std::make_shared<KeptDocument>();
  document.body.shrink_to_fit();
  kept->body = cache_.memory().share(std::move(document.body));
  kept->content_type = std::move(document.content_type);
  kept->etag = std::move(document.etag);
  kept->last_modified = document.last_modified;
  cache_.keep(self, kept);
  found.is = Is::there;
  found.document = std::move(kept);
  co_return found;
}

asio::awaitable<HttpReply> TopicPages::answer(const Visit& visit, const TopicTarget& target) {
  const Found found = co_await document_of(target);
  if (found.is == Is::not_there) co_return http_reply(http::status::not_found);
  if (found.is != Is::there) co_return try_later(found.is == Is::no_memory ? "5" : "30");
  const KeptDocument& document = *found.document;
  const Visit::Header& head = visit.head();
  // Ignore If-Modified-Since: it misses a removed post, and a second post within one second.
  const bool unchanged = names_etag(std::string_view(head[http::field::if_none_match]), document.etag);
  HttpReply reply =
      http_reply(unchanged ? http::status::not_modified : http::status::ok, document.content_type, std::string());
  if (!unchanged) reply.shared_body = document.body;
  reply.set(http::field::etag, document.etag);
  if (document.last_modified) reply.set(http::field::last_modified, http_date(*document.last_modified));
  reply.set(http::field::cache_control, "private, max-age=60");
  reply.set(http::field::link, "<" + public_url_ + "/hub>; rel=\"hub\", <" + address(target, {}) + ">; rel=\"self\"");
  reply.set("X-Robots-Tag", "noindex");
  reply.set(http::field::access_control_allow_origin, "*");
  co_return reply;
}

namespace {

constexpr std::size_t most_kept = std::size_t{16} << 20U, most_in_memory = std::size_t{32} << 20U;
constexpr std::size_t cost_of_one = 1'024;  // bytes, in addition to body and address
constexpr std::chrono::milliseconds kept_for{1'000};

}  // namespace

TopicCache::TopicCache(const boost::asio::any_io_executor& executor, MemoryBudget& budget)
    : memory_(budget, most_in_memory), oldest_(executor) {}

std::shared_ptr<const KeptDocument> TopicCache::find(const std::string& address) const {
  const auto found = places_.find(address);
  if (found == places_.end() || found->second->until <= Clock::now()) return nullptr;
  return found->second->document;
}

void TopicCache::keep(const std::string& address, std::shared_ptr<const KeptDocument> document) {
  if (const auto found = places_.find(address); found != places_.end()) drop(found->second);
  const std::size_t bytes = document->body->size() + 2 * address.size() + cost_of_one;
  while (!kept_.empty() && bytes_ + bytes > most_kept) drop(kept_.begin());
  if (bytes > most_kept) return;
  const bool first = kept_.empty();
  bytes_ += bytes;
  const auto place = kept_.insert(kept_.end(), {address, bytes, Clock::now() + kept_for, std::move(document)});
  places_.emplace(address, place);
  if (first) drop_old();
}

bool TopicCache::make_room(std::size_t bytes) {
  while (!kept_.empty() && !memory_.has_room(bytes)) drop(kept_.begin());
  return memory_.has_room(bytes);
}

void TopicCache::drop(Place place) {
  bytes_ -= place->bytes;
  places_.erase(place->address);
  kept_.erase(place);
}

void TopicCache::drop_old() {
  while (!kept_.empty() && kept_.front().until <= Clock::now()) drop(kept_.begin());
  if (kept_.empty()) return;
  oldest_.expires_at(kept_.front().until);
  oldest_.async_wait([this](const boost::system::error_code& ended) {
    if (!ended) drop_old();
  });
}

}  // namespace feedmill
