#include "worker/admin/status_pages.hpp"

#include <algorithm>

#include <boost/json/value.hpp>

#include "worker/admin/feed_pages.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view html_type = "text/html; charset=utf-8", json_type = "application/json";
constexpr std::size_t most_kept = 64;
constexpr std::chrono::milliseconds process_kept{1'000};

AdminPage json_page(json::value value, unsigned status = 200) {
  return {status, std::string(json_type), json_text(without_secrets(std::move(value))) + "\n"};
}

AdminPage json_error(unsigned status, const std::string& error) {
  json::object object = json_row();
  object["error"] = error;
  return json_page(std::move(object), status);
}

}  // namespace

StatusPages::StatusPages(const asio::any_io_executor& executor, Options options, const StatusHistory& history,
                         std::function<ProcessStatus()> process, std::function<void(const char*)> bug)
    : options_(std::move(options)),
      history_(history),
      process_(std::move(process)),
      bug_(std::move(bug)),
      store_([this] {
        StoreOptions store = options_.store;
        store.timeout = std::min<Milliseconds>(store.timeout, options_.patience);
        return store;
      }()),
      pages_in_turn_(executor) {}

AdminPages StatusPages::pages() {
  AdminPages pages;
  pages.paths = {"/status", "/status.json", "/status/feeds", "/status/feed", std::string(style_path), "/explain"};
  pages.answer = [this](std::string path, std::string query) { return answer(std::move(path), std::move(query)); };
  return pages;
}

const AdminPage* StatusPages::kept(const std::string& key) {
  const auto now = Clock::now();
  std::erase_if(kept_, [&](const auto& one) { return now >= one.second.until; });
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : &found->second.page;
}

void StatusPages::keep(const std::string& key, const AdminPage& page, std::chrono::milliseconds span) {
  if (kept_.size() >= most_kept) {
    kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& one) { return one.second.until; }));
  }
  kept_[key] = {page, Clock::now() + span};
}

asio::awaitable<AdminPage> StatusPages::answer(std::string path, std::string query) {
  if (path == style_path) {
    AdminPage style{200, "text/css; charset=utf-8", std::string(stylesheet())};
    co_return style;
  }
  const std::string key = path + "?" + query;
  if (const AdminPage* page = kept(key)) co_return *page;
  const auto turn = co_await pages_in_turn_.enter();
  if (const AdminPage* page = kept(key)) co_return *page;  // another request has made it
  std::string failed;
  try {
    AdminPage page = co_await make(path, query);
    keep(key, page, path == "/status.json" ? std::min(options_.kept, process_kept) : options_.kept);
    co_return page;
  } catch (const std::exception& error) {
    if (is_cancellation(std::current_exception())) throw;
    failed = error.what();
  }
  bug_(failed.c_str());
  co_return json_error(500, "an unexpected error; please report it");
}

asio::awaitable<AdminPage> StatusPages::make(const std::string& path, const std::string& query) {
  if (path == "/status/feeds") co_return co_await feed_list(query);
  if (path == "/status/feed") co_return co_await feed(query, false);
  if (path == "/explain") co_return co_await feed(query, true);
  co_return co_await overview(path == "/status.json", parameter(query, refresh_parameter).has_value());
}

std::optional<StoreError> StatusPages::known_to_be_away() const {
  const ProcessStatus process = process_();
  if (process.store_trouble) return process.store_trouble;
  if (last_error_ && Clock::now() - last_error_at_ < options_.kept) return last_error_;
  return {};
}

void StatusPages::note_error(const StoreError& error) {
  // After a rejected request, the next one may succeed.
  if (error.code == StoreError::Code::refused || error.code == StoreError::Code::bug) return;
  last_error_ = error;
  last_error_at_ = Clock::now();
}

AdminPage page_of(const PageFrame& frame, const Html& main, unsigned status) {
  AdminPage page{status, std::string(html_type), whole_page(frame, main)};
  if (frame.refresh == PageFrame::Refresh::on) page.refresh = refresh_every;
  return page;
}

PageFrame StatusPages::frame_of(const std::string& title, const std::string& path, Milliseconds at) const {
  const ProcessStatus process = process_();
  PageFrame frame;
  frame.title = title;
  frame.path = path;
  frame.prefix = options_.prefix;
  frame.partition = options_.store.partition.index;
  frame.partitions = options_.store.partition.count;
  frame.host = process.host;
  frame.version = process.version;
  frame.configuration = process.configuration;
  frame.at = at;
  return frame;
}

AdminPage StatusPages::not_found(const std::string& heading, const Html& text) const {
  const Html main(
      "<section aria-labelledby=\"none\"><h1 id=\"none\">{}</h1>\n<p>{}</p>\n"
      "<p><a href=\"/status/feeds\">All feeds</a></p></section>\n",
      heading, text);
  return page_of(frame_of(heading, "", process_().clock), main, 404);
}

AdminPage StatusPages::store_is_away(const StoreError& error, const std::string& path, bool as_json) {
  const std::string text = failure_of(error).text;
  if (as_json) return json_error(503, text);
  const Html main(
      "<section class=\"verdict bad\" aria-labelledby=\"away\"><h1 id=\"away\">The store is unavailable</h1>\n"
      "<p>{}</p><p class=\"soft\">This worker's own figures are on the <a "
      "href=\"/status\">overview</a>.</p></section>\n",
      text);
  return page_of(frame_of("The store is unavailable", path, process_().clock), main, 503);
}

asio::awaitable<StoreResult<StoreStatus>> StatusPages::store_status(bool kept_will_do) {
  const bool fresh = store_status_ && Clock::now() - store_status_at_ < options_.kept && !known_to_be_away();
  if (!kept_will_do || !fresh) {
    auto asked = co_await ask(read_store_status);
    if (!asked) co_return asked.error();
    store_status_ = std::move(*asked);
    store_status_at_ = Clock::now();
  }
  co_return *store_status_;
}

asio::awaitable<AdminPage> StatusPages::overview(bool as_json, bool refreshes) {
  const auto store = co_await store_status(as_json);
  Status status;
  status.process = process_();
  take_history(status.process, history_, Clock::now());
  if (store)
    status.store = *store;
  else
    status.store_error = failure_of(store.error()).text;
  if (as_json) co_return json_page(status_json(status));
  PageFrame frame = frame_of(verdict(concerns(status)), "/status", status.now());
  frame.json_path = "/status.json";
  frame.refresh = refreshes ? PageFrame::Refresh::on : PageFrame::Refresh::offered;
  co_return page_of(frame, status_page(status));
}

asio::awaitable<AdminPage> StatusPages::feed_list(const std::string& query) {
  const FeedListQuery wanted = read_feed_list_query(query);
  const auto work = [&](Store& asked) { return read_feed_list(asked, wanted); };
  const auto list = co_await ask(work);
  if (!list) co_return store_is_away(list.error(), "/status/feeds", false);
  co_return page_of(frame_of("Feeds", "/status/feeds", list->fleet.now), feed_list_page(wanted, *list));
}

asio::awaitable<AdminPage> StatusPages::feed(const std::string& query, bool as_json) {
  const std::string given = parameter(query, "url").value_or("");
  const auto url = canonical_feed_url(given);
  if (!url) {
    if (as_json) co_return json_error(400, "not a feed URL: " + url.error() + "; use /explain?url=URL");
    const Html text("{}: {}. Give an absolute http or https URL: <code>/status/feed?url=</code>",
                    given.empty() ? "Nothing" : given.substr(0, 500), url.error());
    co_return not_found("Not a feed URL", text);
  }
  const std::string& feed_url = *url;
  const auto work = [&](Store& asked) { return read_feed_story(asked, options_.rules, feed_url); };
  const auto story = co_await ask(work);
  if (!story) co_return store_is_away(story.error(), "/status/feed", as_json);
  if (!*story) {
    if (as_json) co_return json_error(404, "no such feed: " + feed_url);
    co_return not_found("No such feed", Html("The store has no feed <bdi>{}</bdi>.", feed_url));
  }
  if (as_json) co_return json_page(explain_json((*story)->explained));
  const std::string title = readable_field((*story)->explained.record.feed, "title");
  co_return page_of(frame_of(short_text(title.empty() ? feed_url : title, 80), "/status/feed", (*story)->explained.now),
                    feed_page(**story));
}

}  // namespace feedmill
