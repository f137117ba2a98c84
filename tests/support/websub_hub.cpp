#include "tests/support/websub_hub.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace feedmill::test {

namespace {

constexpr auto patience = std::chrono::seconds(30);

std::string field(const std::vector<std::pair<std::string, std::string>>& fields, std::string_view name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& candidate) { return candidate.first == name; });
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace

std::string hub_signature(std::string_view method, std::string_view secret, std::string_view body) {
  const EVP_MD* const digest = EVP_get_digestbyname(std::string(method).c_str());
  if (digest == nullptr) throw std::invalid_argument("no such digest: " + std::string(method));
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  HMAC(digest, secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(body.data()),
       body.size(), bytes.data(), &size);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = std::string(method) + "=";
  for (unsigned i = 0; i < size; ++i) text.append(1, digits[bytes[i] >> 4U]).append(1, digits[bytes[i] & 15U]);
  return text;
}

WebSubHub::WebSubHub(HttpServer& server, std::string path) : server_(server), path_(std::move(path)) {
  server_.serve(path_, [this](const ServedRequest& request) { return receive(request); });
  thread_ = std::thread([this] { work(); });
}

WebSubHub::~WebSubHub() {
  server_.serve(path_, {.status = 404});
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WebSubHub::behave(HubHabits habits) {
  const std::lock_guard lock(mutex_);
  habits_ = std::move(habits);
}

std::vector<HubRequest> WebSubHub::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<HubSubscriber> WebSubHub::subscribers(const std::string& topic) const {
  const std::lock_guard lock(mutex_);
  std::vector<HubSubscriber> found;
  std::copy_if(subscribers_.begin(), subscribers_.end(), std::back_inserter(found),
               [&](const HubSubscriber& subscriber) { return subscriber.topic == topic; });
  return found;
}

bool WebSubHub::await_subscribers(const std::string& topic, std::size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] {
    const auto of_topic = [&](const HubSubscriber& subscriber) { return subscriber.topic == topic; };
    return static_cast<std::size_t>(std::count_if(subscribers_.begin(), subscribers_.end(), of_topic)) == count;
  });
}

bool WebSubHub::await_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return requests_.size() >= count && tasks_.empty() && !busy_; });
}

std::vector<HttpAnswer> WebSubHub::verifications() const {
  const std::lock_guard lock(mutex_);
  return verifications_;
}

std::vector<HttpAnswer> WebSubHub::publish(const std::string& topic, const std::string& body,
                                           const std::string& content_type, std::string_view method) {
  const auto forget = [this](const auto& condition) {
    const std::lock_guard lock(mutex_);
    std::erase_if(subscribers_, condition);
  };
  forget([now = std::chrono::steady_clock::now()](const HubSubscriber& subscriber) { return subscriber.end <= now; });
  std::vector<HttpAnswer> answers;
  for (const HubSubscriber& subscriber : subscribers(topic)) {
    HttpAsk delivery{"POST", subscriber.callback, {{"Content-Type", content_type}}, body};
    delivery.headers.emplace_back("Link", "<" + url() + ">; rel=\"hub\", <" + topic + ">; rel=\"self\"");
    if (!subscriber.secret.empty()) {
      delivery.headers.emplace_back("X-Hub-Signature", hub_signature(method, subscriber.secret, body));
    }
    answers.push_back(ask(delivery));
    if (answers.back().status != 410) continue;
    forget([&](const HubSubscriber& known) { return known.callback == subscriber.callback; });
  }
  return answers;
}

HttpAnswer WebSubHub::verify(const std::string& callback,
                             const std::vector<std::pair<std::string, std::string>>& parameters,
                             std::string_view http_method) {
  std::string url = callback;
  for (const auto& [name, value] : parameters) {
    url += (url.find('?') == std::string::npos ? '?' : '&') + percent_encoded(name) + "=" + percent_encoded(value);
  }
  return ask({std::string(http_method), url});
}

Response WebSubHub::receive(const ServedRequest& request) {
  HubRequest wish;
  wish.fields = form_fields(request.body);
  wish.mode = field(wish.fields, "hub.mode");
  wish.topic = field(wish.fields, "hub.topic");
  wish.callback = field(wish.fields, "hub.callback");
  wish.secret = field(wish.fields, "hub.secret");
  wish.lease_seconds = field(wish.fields, "hub.lease_seconds");
  wish.request = request;
  Response response;
  {
    const std::lock_guard lock(mutex_);
    response.status = habits_.status;
    response.headers = habits_.headers;
    response.body = habits_.body;
    if (habits_.status / 100 == 2 && habits_.verifies) tasks_.push_back({wish, habits_});
    requests_.push_back(std::move(wish));
    changed_.notify_all();  // under the lock, because a test that sees the request may destroy the hub
  }
  return response;
}

void WebSubHub::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    carry_out(task.request, task.habits);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void WebSubHub::carry_out(const HubRequest& request, const HubHabits& habits) {
  const std::string topic = habits.topic.empty() ? request.topic : habits.topic;
  if (!habits.denies.empty()) {
    HttpAnswer answer =
        verify(request.callback, {{"hub.mode", "denied"}, {"hub.topic", topic}, {"hub.reason", habits.denies}});
    const std::lock_guard lock(mutex_);
    verifications_.push_back(std::move(answer));
    return;
  }
  for (unsigned i = 0; i < habits.verifications; ++i) {
    std::string challenge;
    {
      const std::lock_guard lock(mutex_);
      challenge = "challenge-" + std::to_string(++challenges_);
    }
    std::vector<std::pair<std::string, std::string>> parameters{
        {"hub.mode", habits.mode.empty() ? request.mode : habits.mode},
        {"hub.topic", topic},
        {"hub.challenge", challenge}};
    if (!habits.lease_seconds.empty()) parameters.emplace_back("hub.lease_seconds", habits.lease_seconds);
    HttpAnswer answer = verify(request.callback, parameters);
    const bool confirmed = answer.status / 100 == 2 && answer.body == challenge;
    const std::lock_guard lock(mutex_);
    verifications_.push_back(std::move(answer));
    if (!confirmed) continue;
    std::erase_if(subscribers_, [&](const HubSubscriber& subscriber) {
      return subscriber.callback == request.callback && subscriber.topic == request.topic;
    });
    if (request.mode == "subscribe") {
      subscribers_.push_back({request.callback, request.topic, request.secret, habits.lease_seconds});
      std::int64_t lease = 0;
      std::from_chars(habits.lease_seconds.data(), habits.lease_seconds.data() + habits.lease_seconds.size(), lease);
      constexpr std::int64_t longest = 1LL << 31U;
      if (lease > 0)
        subscribers_.back().end = std::chrono::steady_clock::now() + std::chrono::seconds(std::min(lease, longest));
    }
  }
}

}  // namespace feedmill::test
