// Repairs: each change is journaled first, and applied only if the value it replaces is unchanged.
#include <algorithm>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/upkeep/verify_work.hpp"

namespace feedmill {
namespace {

std::string argument(const std::optional<std::string>& value) {
  return value ? "=" + *value : "-";
}

/// The violations that are in both lists.
std::vector<Violation> in_both(const std::vector<Violation>& first, std::vector<Violation> second) {
  std::erase_if(second, [&](const Violation& one) {
    return std::none_of(first.begin(), first.end(), [&](const Violation& other) {
      return one.kind == other.kind && one.keys == other.keys && one.detail == other.detail;
    });
  });
  return second;
}

std::string name_of(const Violation& violation) {
  std::string name = violation.kind + '\n' + violation.detail;
  for (const std::string& key : violation.keys) name += '\n' + key;
  return name;
}

}  // namespace

StoreResult<bool> Verifier::Work::repair(Violation& violation) {
  if (violation.changes.empty()) {
    violation.outcome = Violation::Outcome::unrepairable;
    return false;
  }
  std::vector<KeyValue> whole;
  Args args;
  args.own(impl_.options.stream_cap());
  for (const Change& change : violation.changes) {
    if (change.what == "del") {
      auto value = read_key(impl_.redis, change.key);
      if (!value) return value.error();
      whole.push_back(std::move(*value));
    } else if (change.what == "remove_feed" || change.what == "remove_channel") {
      std::vector<std::string> keys = violation.keys;
      if (change.what == "remove_feed") {
        const auto ids = impl_.redis.command({"ZRANGE", impl_.keys.sort(violation.feed_url), "0", "-1"});
        if (!ids) return ids.error();
        for (std::string& id : ids->texts()) keys.push_back(std::move(id));
      }
      for (const std::string& key : keys) {
        auto value = read_key(impl_.redis, key);
        if (!value) return value.error();
        whole.push_back(std::move(*value));
      }
    }
    for (const std::string* text : {&change.what, &change.key, &change.field}) args.add(std::string_view(*text));
    args.own(argument(change.old_value));
    args.own(argument(change.new_value));
  }
  if (!options_.journal(violation, whole)) return false;
  const auto reply = impl_.run(Script::repair, args);
  if (!reply) return reply.error();
  if (reply->integer() != 1) {
    violation.outcome = Violation::Outcome::changed;
    return false;
  }
  for (const Change& change : violation.changes) {
    if (change.what == "remove_feed") {
      if (const auto removed = Feeds(store_).remove(violation.feed_url); !removed) return removed.error();
    } else if (change.what == "remove_channel") {
      if (const auto removed = Channels(store_).remove(change.field); !removed) return removed.error();
    }
  }
  violation.outcome = Violation::Outcome::repaired;
  return true;
}

void Verifier::Work::tell(const Violation& violation) {
  if (violation.outcome == Violation::Outcome::changed) return;  // another client is changing it
  ++summary_.violations;
  if (violation.outcome == Violation::Outcome::repaired) ++summary_.repaired;
  if (options_.found) options_.found(violation);
}

StoreResult<void> Verifier::Work::settle(const Look& look) {
  told_.clear();
  for (bool again = true; again;) {
    again = false;
    const auto first = look();
    if (!first) return first.error();
    if (first->empty()) return {};
    auto second = look();
    if (!second) return second.error();
    for (Violation& violation : in_both(*first, std::move(*second))) {
      if (!told_.insert(name_of(violation)).second) continue;
      if (options_.journal) {
        const auto repaired = repair(violation);
        if (!repaired) return repaired.error();
        again = again || *repaired;
      }
      tell(violation);
    }
  }
  return {};
}

}  // namespace feedmill
