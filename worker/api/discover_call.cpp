// What is behind an address, over HTTP.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/requests/requests.hpp"
#include "worker/api/api.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t calls_per_look = 5;  // as which an address that is asked counts
constexpr std::chrono::milliseconds look_again{20};

boost::json::object discovery_json(const std::string& url, const Discovery& found, const std::vector<bool>& present,
                                   bool complete) {
  boost::json::array feeds, refused;
  for (std::size_t i = 0; i < found.feeds.size(); ++i) {
    const FoundFeed& feed = found.feeds[i];
    boost::json::array posts;
    for (const Fields& fields : feed.posts) {
      boost::json::object& post = posts.emplace_back(boost::json::object()).get_object();
      for (const auto& [name, value] : fields) post[name] = value;
    }
    feeds.push_back({{"url", feed.url},
                     {"title", visible(feed.title)},
                     {"format", feed.format},
                     {"entries", feed.entries},
                     {"found_in", to_string(feed.found_in)},
                     {"present", present[i]},
                     {"posts", std::move(posts)}});
  }
  for (const RefusedCandidate& one : found.refused) {
    refused.push_back({{"url", visible(one.url)}, {"detail", visible(one.reason)}});
  }
  const std::string trouble = found.look && !found.look->is_page() ? found.look->trouble() : std::string();
  return {{"url", url},
          {"complete", complete},
          {"feeds", std::move(feeds)},
          {"refused", std::move(refused)},
          {"trouble", trouble.empty() ? boost::json::value() : boost::json::value(visible(trouble))}};
}

}  // namespace

/// By the code of `feedmill discover`.
asio::awaitable<ApiReply> Api::discover(const ApiCall& call, Visit& visit) {
  const auto url = canonical_feed_url(call.get("url"));
  if (!url) co_return problem("bad_value", fmt::format("url: {}", visible(url.error())));
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  const auto known = [&](Store& store) { return Feeds(store).is_registered(*url); };
  const auto is_there = co_await with_store(call.app, known);
  if (!is_there) co_return store_is_away(is_there.error());
  const bool may_look = looking_.size() < most_looks && !looking_.contains(call.app);
  const auto look = may_look ? looks_.begin(*url) : nullptr;
  if (!look) co_return problem("busy", "too many URLs are being checked");
  const Looking looking(*this, call.app);
  asio::steady_timer timer(executor_);
  while (!look->done()) {
    timer.expires_after(look_again);
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (!look->bug().empty()) throw std::runtime_error(look->bug());
  const Discovery& found = look->discovery();
  const std::size_t asked = 1 + found.feeds.size() + found.refused.size();
  charge(call.app, static_cast<std::int64_t>(calls_per_look * asked) * options_.call_time);
  if (found.look && found.look->is_refused()) {
    co_return problem("refused_address", visible(found.look->trouble()));
  }
  std::vector<std::string> urls;
  for (const FoundFeed& feed : found.feeds) urls.push_back(feed.url);
  const auto look_up = [&](Store& store) { return Feeds(store).records(urls); };
  const auto records = co_await with_store(call.app, look_up);
  if (!records) co_return store_is_away(records.error());
  std::vector<bool> present;
  for (const auto& record : *records) present.push_back(record.has_value());
  co_return resource(discovery_json(*url, found, present, look->is_complete()));
}

}  // namespace feedmill
