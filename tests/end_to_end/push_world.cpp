#include "tests/end_to_end/push_world.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"

namespace feedmill::test {
namespace {

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The "127.0.0.1:PORT" after `words` in the worker's log.
std::string address_after(const Program& program, const std::string& words) {
  std::string address;
  eventually([&] {
    const std::string log = program.err();
    const auto at = log.find(words);
    if (at == std::string::npos || log.find('\n', at) == std::string::npos) return false;
    const auto from = at + words.size();
    address = log.substr(from, log.find_first_of(" ,\"\n", from) - from);
    return true;
  });
  if (address.empty()) throw std::runtime_error("the worker does not listen: " + program.err());
  return address;
}

bool passed_on(const std::string& name) {
  constexpr std::string_view own[] = {"host", "content-length", "connection"};
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(own, lower) == std::end(own);
}

PushWorld::Headers headers_of(const std::string& head) {
  PushWorld::Headers headers;
  for (auto begin = head.find("\r\n") + 2; begin < head.size();) {
    const auto end = head.find("\r\n", begin);
    const auto colon = head.find(':', begin);
    if (end == begin || colon == std::string::npos || colon > end) break;
    const auto value = head.find_first_not_of(' ', colon + 1);
    const std::string name = head.substr(begin, colon - begin);
    if (passed_on(name)) headers.emplace_back(name, head.substr(value, end - value));
    begin = end + 2;
  }
  return headers;
}

}  // namespace

std::string atom(const std::vector<PushedPost>& posts, const std::string& links) {
  std::string text = R"(<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title>)" + links;
  for (const PushedPost& post : posts) {
    text += "<entry><id>" + post.id + "</id><title>" + post.title + "</title><updated>" + post.updated +
            "</updated><link href=\"https://example.org/" + post.id + "\"/>";
    if (!post.html.empty()) text += "<content type=\"html\"><![CDATA[" + post.html + "]]></content>";
    text += "</entry>";
  }
  return text + "</feed>";
}

PushWorker::PushWorker(const Environment& environment, const std::vector<std::string>& more)
    : program_(
          [&] {
            std::vector<std::string> arguments{"run", "--no-deliver"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            return arguments;
          }(),
          environment),
      admin_(address_after(program_, "ready, http://")),
      port_(static_cast<std::uint16_t>(
          number(address_after(program_, "callbacks at http://").substr(std::string("127.0.0.1:").size())))) {}

std::int64_t PushWorker::metric(const std::string& series) const {
  const std::string text = get(admin_, "/metrics");
  const auto at = text.find("\n" + series + " ");
  if (at == std::string::npos) return -1;
  return number(std::string_view(text).substr(at + series.size() + 2));
}
std::string PushWorker::page(const std::string& path) const {
  return get(admin_, path);
}
std::int64_t PushWorker::deliveries(const std::string& result) const {
  return metric("feedmill_websub_deliveries_total{result=\"" + result + "\"}");
}
std::int64_t PushWorker::verifications(const std::string& result) const {
  return metric("feedmill_websub_verifications_total{result=\"" + result + "\"}");
}

std::int64_t PushWorker::resident() const {
  std::ifstream status("/proc/" + std::to_string(program_.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return number(line.substr(line.find_first_of("0123456789")));
  }
  return -1;
}

PushWorld::PushWorld(const std::vector<std::string>& redis_arguments) : World(redis_arguments) {
  environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  environment["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:0";
  environment["FEEDMILL_WEBSUB_PUBLIC_URL"] = front.url("");
  environment["FEEDMILL_WEBSUB_LISTEN"] = "127.0.0.1:0";
  environment["FEEDMILL_WEBSUB_ALLOW_HTTP"] = "true";
  front.serve_rest([this](const ServedRequest& request) { return hand_on(request); });
}

PushWorker& PushWorld::start(const Environment& more, const std::vector<std::string>& arguments) {
  auto worker = std::make_unique<PushWorker>(with(more), arguments);
  const std::lock_guard lock(mutex_);
  ports_.push_back(worker->port());
  workers_.push_back(std::move(worker));
  known_.notify_all();
  return *workers_.back();
}

void PushWorld::leave_to_last() {
  const std::lock_guard lock(mutex_);
  ports_.erase(ports_.begin(), ports_.end() - 1);
}

/// Acts as a proxy: forwards to the next worker in turn, 502 if that one is down. Waits for the first worker, because
/// hubs may call it back before this test knows its address.
Response PushWorld::hand_on(const ServedRequest& request) {
  std::uint16_t port = 0;
  {
    std::unique_lock lock(mutex_);
    if (!known_.wait_for(lock, std::chrono::seconds(30), [&] { return !ports_.empty(); })) return {.status = 502};
    port = ports_[turn_++ % ports_.size()];
  }
  const std::string worker = "http://127.0.0.1:" + std::to_string(port);
  const HttpAnswer answer = ask({request.method, worker + request.target, headers_of(request.head), request.body});
  if (answer.status == 0) return {.status = 502};
  return {.raw = answer.head + answer.body};
}

std::string PushWorld::hub_links(const std::string& topic, const std::string& hub_url) const {
  return "<link rel=\"hub\" href=\"" + (hub_url.empty() ? hub.url() : hub_url) + "\"/><link rel=\"self\" href=\"" +
         topic + "\"/>";
}

void PushWorld::serve_posts(const std::string& path, const std::vector<PushedPost>& posts, const std::string& links) {
  http.serve(path, {.headers = {{"Content-Type", "application/atom+xml"}}, .body = atom(posts, links)});
}

std::string PushWorld::add_served(const std::string& path) {
  const std::string url = http.url(path);
  const std::string settings = "{\"ca_file\":\"" + authority.file() + "\"}";
  EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url, .settings = settings}}));
  return url;
}

std::string PushWorld::add_feed(const std::string& path, const std::vector<PushedPost>& posts,
                                const std::string& links) {
  serve_posts(path, posts, links);
  return add_served(path);
}

std::string PushWorld::subscribed_feed(const std::string& path, const std::vector<PushedPost>& posts) {
  const std::string url = add_feed(path, posts, hub_links(http.url(path)));
  if (workers_.empty()) start();
  EXPECT_TRUE(hub.await_subscribers(url, 1)) << workers_.front()->program().err();
  // The worker stores the subscription after the hub has its answer.
  EXPECT_TRUE(eventually([&] { return redis_text({"HGET", "state:feed:" + url, "push_state"}) == "unproven"; }));
  return url;
}

HttpAnswer PushWorld::deliver(const std::string& callback, const std::string& body, Headers headers) {
  return ask({.method = "POST", .url = callback, .headers = std::move(headers), .body = body});
}

HttpAnswer PushWorld::push(const HubSubscriber& to, const std::string& body, const std::string& method) {
  return deliver(
      to.callback, body,
      {{"Content-Type", "application/atom+xml"}, {"X-Hub-Signature", hub_signature(method, to.secret, body)}});
}

bool PushWorld::push_and_wait(const std::string& url, const PushedPost& post) {
  EXPECT_EQ(push(subscriber(url), atom({post})).status, 202);
  return eventually([&] { return title(url, post.id) == post.title; });
}

bool PushWorld::push_until_written(const std::string& url, const PushedPost& post) {
  return eventually([&] {
    EXPECT_EQ(push(subscriber(url), atom({post})).status, 202);
    return title(url, post.id) == post.title;
  });
}

std::string PushWorld::state(const std::string& url, const std::string& field) const {
  return redis_text({"HGET", "state:feed:" + url, field});
}

std::string PushWorld::title(const std::string& url, const std::string& guid) const {
  constexpr const char* look =
      "local n = redis.call('HGET', ARGV[1] .. ':guidmap', ARGV[2]) "
      "return n and redis.call('HGET', n, 'title')";
  const std::string title = redis_text({"EVAL", look, "0", url, guid});
  return title == "(nil)" ? "" : title;
}

std::string PushWorld::callback_key(const std::string& url, bool pending) const {
  return "websub:callback:" + state(url, pending ? "push_pending" : "push_token");
}

std::string PushWorld::subscription(const std::string& url, const std::string& field, bool pending) const {
  return redis_text({"HGET", callback_key(url, pending), field});
}

void PushWorld::bring_forward(const std::string& url, const std::string& field, bool pending) const {
  redis_text({"HSET", callback_key(url, pending), field, "1"});
  redis_text({"ZADD", "websub:due", "XX", "1", url});
}

std::string PushWorld::everything() const {
  constexpr const char* look = R"lua(
local lines = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if not string.find(key, '^state:worker') and not string.find(key, '^state:host') then
    local kind = redis.call('TYPE', key).ok
    local parts = {}
    if kind == 'string' then parts = {redis.call('GET', key)}
    elseif kind == 'set' then parts = redis.call('SMEMBERS', key) table.sort(parts)
    elseif kind == 'zset' then parts = redis.call('ZRANGE', key, '0', '-1', 'WITHSCORES')
    elseif kind == 'list' then parts = redis.call('LRANGE', key, '0', '-1')
    elseif kind == 'stream' then parts = {tostring(redis.call('XLEN', key))}
    else
      local fields = redis.call('HGETALL', key)
      for i = 1, #fields, 2 do
        if fields[i] ~= 'bad' then parts[#parts + 1] = fields[i] .. '=' .. fields[i + 1] end
      end
      table.sort(parts)
    end
    lines[#lines + 1] = key .. ': ' .. table.concat(parts, ' ')
  end
end
table.sort(lines)
return table.concat(lines, '\n'))lua";
  return redis_text({"EVAL", look, "0"});
}

std::map<int, std::size_t> ask_often(std::uint16_t port, const HttpAsk& request, std::size_t times) {
  constexpr std::size_t on_one_connection = 100;
  namespace asio = boost::asio;
  std::string head = request.method + " " + request.url + " HTTP/1.1\r\nHost: x\r\n";
  for (const auto& [name, value] : request.headers) head.append(name).append(": ").append(value).append("\r\n");
  head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  std::map<int, std::size_t> statuses;
  for (std::size_t done = 0; done < times;) {
    const std::size_t some = std::min(on_one_connection, times - done);
    std::string bytes;
    for (std::size_t i = 0; i < some; ++i) {
      bytes += head + (i + 1 == some ? "Connection: close\r\n\r\n" : "\r\n") + request.body;
    }
    asio::io_context loop;
    asio::ip::tcp::socket socket(loop);
    socket.connect({asio::ip::address_v4::loopback(), port});
    asio::write(socket, asio::buffer(bytes));
    std::string answers;
    boost::system::error_code end;
    asio::read(socket, asio::dynamic_buffer(answers), end);
    constexpr std::string_view line = "HTTP/1.1 ";
    for (auto at = answers.find(line); at != std::string::npos; at = answers.find(line, at + 1)) {
      ++statuses[static_cast<int>(number(std::string_view(answers).substr(at + line.size(), 3)))];
    }
    done += some;
  }
  return statuses;
}

}  // namespace feedmill::test
