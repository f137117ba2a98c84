// Checks data derived from posts: channels, timelines, read marks, notices.
#include <algorithm>
#include <charconv>

#include "storage/upkeep/verify_work.hpp"

namespace feedmill {
namespace {

constexpr std::string_view members_per_step = "500";

}  // namespace

void Verifier::Work::note_behind(std::string_view behind) {
  Milliseconds::rep ms = 0;
  const auto end = std::from_chars(behind.data(), behind.data() + behind.size(), ms).ptr;
  if (end == behind.data()) return;
  const Milliseconds since(ms);
  summary_.behind_since = std::min(summary_.behind_since.value_or(since), since);
  if (end != behind.data() + behind.size()) uncompared_ = true;
}

StoreResult<void> Verifier::Work::posts_of(const std::string& uid, const std::string& url) {
  return settle_call(Script::verify_channel, {"feed", uid, url},
                     [&](const Reply& reply) { note_behind(reply[1].text()); });
}

StoreResult<void> Verifier::Work::page_through(const std::string& of, std::string_view what) {
  for (std::string cursor = "0"; !cursor.empty();) {
    const std::string here = cursor;
    const auto done = settle_call(Script::verify_channel, {what, of, here, members_per_step}, [&](const Reply& reply) {
      note_behind(reply[1].text());
      cursor = reply[2].text();
    });
    if (!done) return done.error();
    stepped();
  }
  return {};
}

StoreResult<void> Verifier::Work::channel(const std::string& uid) {
  ++summary_.channels;
  if (const auto done = settle_call(Script::verify_channel, {"channel", uid}); !done) return done.error();
  for (std::string cursor = "0"; !cursor.empty();) {
    const std::string here = cursor;
    std::vector<std::string> feeds;
    const auto done =
        settle_call(Script::verify_channel, {"members", uid, here, members_per_step}, [&](const Reply& reply) {
          cursor = reply[2].text();
          feeds = reply[3].texts();
        });
    if (!done) return done.error();
    for (const std::string& url : feeds) {
      if (const auto looked = posts_of(uid, url); !looked) return looked.error();
    }
    stepped();
  }
  if (const auto looked = page_through(uid, "timeline"); !looked) return looked.error();
  if (const auto looked = page_through(uid, "index"); !looked) return looked.error();
  return page_through(uid, "read");
}

StoreResult<void> Verifier::Work::notices(const std::string& user) {
  return settle_call(Script::verify_channel, {"notices", user});
}

StoreResult<void> Verifier::Work::derived() {
  const auto known = impl_.each_page(impl_.keys.channels(), [&](std::vector<std::string> page) -> StoreResult<bool> {
    for (std::string& uid : page) channels_.insert(std::move(uid));
    return true;
  });
  if (!known) return known.error();
  for (const std::string& uid : channels_) {
    if (const auto done = channel(uid); !done) return done.error();
  }
  return impl_.each_page(impl_.keys.watchers(), [&](const std::vector<std::string>& page) -> StoreResult<bool> {
    for (const std::string& user : page) {
      if (const auto done = settle_call(Script::verify_channel, {"watcher", user}); !done) return done.error();
    }
    return true;
  });
}

StoreResult<void> Verifier::Work::derived_of(const std::string& url) {
  if (const auto done = page_through(url, "holders"); !done) return done.error();
  return impl_.each_page(impl_.keys.holders(url), [&](const std::vector<std::string>& page) -> StoreResult<bool> {
    for (const std::string& uid : page) {
      if (const auto done = posts_of(uid, url); !done) return done.error();
    }
    return true;
  });
}

}  // namespace feedmill
