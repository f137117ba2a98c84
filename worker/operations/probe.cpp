#include "worker/operations/probe.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <thread>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include "worker/egress/web_url.hpp"
#include "worker/http/content_coding.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;

/// Parses the page or feed into `look`. `response` must still have its body, or the part of it that arrived (`is_cut`).
void read_markup(const FetchResponse& response, bool is_cut, const ReadingOptions& options, Look& look) {
  const std::string links = joined_field(response.headers, "link");
  const std::string content_type(response.header("content-type"));
  PageHints page_hints{response.url, content_type, links};
  std::string text;
  if (response.status == 200) {
    const DecodeLimits limits{.max_bytes = options.max_body_bytes, .as_far_as_it_goes = is_cut};
    auto decoded =
        decode_content(std::string(response.body), joined_field(response.headers, "content-encoding"), limits);
    if (decoded) text = std::move(*decoded);
    DocumentHints hints;
    hints.url = response.url;
    hints.content_type = content_type;
    hints.content_location = response.header("content-location");
    hints.content_language = response.header("content-language");
    hints.html = options.html;
    auto feed = read_feed(text, hints);
    if (feed) look.feed = std::move(*feed);
  }
  look.page = read_page(look.feed ? std::string_view() : text, page_hints);
}

}  // namespace

bool Look::is_refused() const {
  const auto* const error = std::get_if<FetchError>(&fetched);
  return error != nullptr && (error->reason == Reason::egress_blocked || error->reason == Reason::egress_port);
}

bool Look::may_answer_later() const {
  const auto* const status = std::get_if<HttpStatus>(&reading);
  if (status != nullptr) return status->status == 408 || status->status == 429 || status->status >= 500;
  using enum Reason;
  constexpr std::array lasting{limit_body,       limit_header,  limit_ratio,   limit_coding,
                               redirect_invalid, redirect_loop, redirect_limit};
  const auto* const error = std::get_if<FetchError>(&reading);
  return error != nullptr && !is_refused() && std::ranges::find(lasting, error->reason) == lasting.end();
}

std::string Look::trouble() const {
  if (feed) return {};
  if (const auto* error = std::get_if<FetchError>(&reading)) {
    return fmt::format("{}: {}", to_string(error->reason), error->detail);
  }
  if (const auto* status = std::get_if<HttpStatus>(&reading))
    return fmt::format("the server answers {}", status->status);
  if (const Unreadable* const why = refusal_of(reading)) {
    return fmt::format("{}: {}", to_string(why->reason), why->detail);
  }
  return "no feed";
}

HostTurns::Clock::time_point HostTurns::next(const std::string& host, std::chrono::milliseconds spacing) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(last_, [&](const auto& one) { return one.second + spacing < now; });
  const auto last = last_.find(host);
  const auto turn = last == last_.end() ? now : std::max(now, last->second + spacing);
  last_[host] = turn;
  return turn;
}

Probe::Probe(ProbeOptions options) : options_(std::move(options)), fetcher_(loop_.get_executor(), options_.fetch) {}

Look Probe::look(const std::string& url) {
  wait_for_turn(host_of(url));
  Look look;
  look.request.feed_url = look.request.url = url;
  look.fetched = fetch(look.request);
  const auto* const error = std::get_if<FetchError>(&look.fetched);
  const bool is_cut = error != nullptr && error->cut_off;
  if (const auto* const came = is_cut ? &*error->cut_off : look.response()) {
    read_markup(*came, is_cut, options_.reading, look);
  }
  look.reading = read(look.fetched, FeedState(), options_.reading);
  if (is_cut && look.response() == nullptr) {  // the document is incomplete as well
    look.feed.reset();
    look.page = {};
  }
  return look;
}

void Probe::stop_if_given_up() const {
  if (options_.gives_up()) throw Interrupted{};
}

void Probe::wait_for_turn(const std::string& host) {
  stop_if_given_up();
  using Clock = HostTurns::Clock;
  const auto turn = options_.turns->next(host, options_.spacing);
  while (Clock::now() < turn) {
    std::this_thread::sleep_for(std::min<Clock::duration>(turn - Clock::now(), interrupt_interval));
    stop_if_given_up();
  }
}

FetchResult Probe::fetch(const FetchRequest& request) {
  std::optional<FetchResult> result;
  std::exception_ptr failed;
  bool ended = false;
  asio::cancellation_signal cancel;
  asio::co_spawn(loop_, fetcher_.fetch(request),
                 asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& error, FetchResult fetched) {
                   ended = true;
                   failed = error;
                   result = std::move(fetched);
                 }));
  loop_.restart();
  while (!ended) {
    loop_.run_one_for(interrupt_interval);
    if (options_.gives_up()) cancel.emit(asio::cancellation_type::terminal);  // libcurl releases the transfer first
  }
  stop_if_given_up();
  if (failed) std::rethrow_exception(failed);
  return std::move(*result);
}

}  // namespace feedmill
