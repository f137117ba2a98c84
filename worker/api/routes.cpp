#include "worker/api/routes.hpp"

#include <algorithm>

namespace feedmill {
namespace {

using boost::beast::http::verb;

constexpr ApiRoute routes[] = {
    {verb::get, "/feeds", "after limit", nullptr, {}, nullptr, ApiList::feeds},
    {verb::post, "/feeds", "", nullptr, "add"},
    {verb::get, "/feed", "url!", read_feed},
    {verb::patch, "/feed", "url!", nullptr, "set"},
    {verb::delete_, "/feed", "url!", nullptr, "remove"},
    {verb::get, "/feed/explain", "url!", read_explanation},
    {verb::post, "/feed/pause", "url!", nullptr, "pause"},
    {verb::post, "/feed/resume", "url!", nullptr, "resume"},
    {verb::post, "/feed/refresh", "url!", nullptr, "refresh"},
    {verb::post, "/feed/move", "url!", nullptr, "move"},
    {verb::get, "/feed/entries", "url! before limit", read_feed_entries},
    {verb::get, "/feed/entry", "url! guid!", read_entry_by_guid},
    {verb::post, "/entries", "", nullptr, "entry_put"},
    {verb::get, "/entries/{id}", "", read_entry},
    {verb::delete_, "/entries/{id}", "", nullptr, "entry_remove"},
    {verb::get, "/channels", "user after limit", nullptr, {}, nullptr, ApiList::channels},
    {verb::post, "/channels", "", nullptr, "channel_add"},
    {verb::post, "/channels/order", "", nullptr, "channel_order"},
    {verb::delete_, "/channel", "channel!", nullptr, "channel_remove"},
    {verb::get, "/channel/feeds", "channel! after limit", nullptr, {}, nullptr, ApiList::channel_feeds},
    {verb::put, "/channel/feed", "channel! url!", nullptr, "channel_follow"},
    {verb::delete_, "/channel/feed", "channel! url!", nullptr, "channel_unfollow"},
    {verb::get, "/channel/entries", "channel! before limit once", nullptr, {}, nullptr, ApiList::timeline},
    {verb::post, "/channel/marks", "channel!", nullptr, "channel_mark"},
    {verb::get, "/notices", "user!", nullptr, {}, nullptr, ApiList::notices},
    {verb::post, "/notices/marks", "user!", nullptr, "notice_mark"},
    {verb::get, "/rules", "user!", nullptr, {}, nullptr, ApiList::rules},
    {verb::post, "/rules", "user!", nullptr, "watch_add"},
    {verb::delete_, "/rules/{id}", "user!", nullptr, "watch_remove"},
    {verb::get, "/events", "after limit", read_events},
    {verb::get, "/snapshot", "after limit", read_snapshot},
    {verb::get, "/requests/{ref}", "id", read_answer},
    {verb::post, "/import", "user", nullptr, "import"},
    {verb::get, "/export", "user", nullptr, "export"},
    {verb::post, "/discover", "url!", nullptr, "discover"},
    {verb::get, "/webhooks", "after limit", read_webhooks},
    {verb::post, "/webhooks", "", nullptr, "", add_webhook},
    {verb::get, "/webhook", "id!", read_webhook},
    {verb::patch, "/webhook", "id!", nullptr, "", set_webhook},
    {verb::delete_, "/webhook", "id!", nullptr, "", remove_webhook},
    {verb::post, "/webhook/rotate", "id!", nullptr, "", rotate_webhook},
    {verb::post, "/webhook/resume", "id!", nullptr, "", resume_webhook},
    {verb::post, "/webhook/test", "id!", nullptr, "webhook_test"},
    {verb::get, "/topics", "after limit", read_topics},
    {verb::post, "/topics", "", nullptr, "", add_topic},
    {verb::delete_, "/topic", "url channel", nullptr, "topic_remove"},
    {verb::get, "/topics/subscribers", "after limit", read_topic_subscribers},
    {verb::get, "/openapi.json", "", nullptr, ""},
};

}  // namespace

std::span<const ApiRoute> api_routes() {
  return routes;
}

bool is_at(const ApiRoute& route, std::string_view path, std::string& item) {
  const std::size_t brace = route.path.find('{');
  if (brace == std::string_view::npos) return path == route.path;  // at the end of a path, where there is one
  const std::string_view rest = path.substr(std::min(brace, path.size()));
  if (!path.starts_with(route.path.substr(0, brace)) || rest.empty() || rest.find('/') != std::string_view::npos) {
    return false;
  }
  item = rest;
  return true;
}

}  // namespace feedmill
