// What a verb does where the store has several partitions and none of them is named (RELIABILITY L27): one that names
// feeds goes to those that have them, one that speaks of all feeds goes to each.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "storage/records/stored_entry.hpp"
#include "storage/store/partition.hpp"
#include "worker/base/exits.hpp"
#include "worker/base/terminal.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/command_line/push_verbs.hpp"
#include "worker/config/config.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// The feeds that are named by their addresses; null where the verb names none so.
template <class Kind>
std::vector<std::string>* named_feeds(Kind& verb) {
  if constexpr (requires { verb.urls; }) return &verb.urls;
  if constexpr (std::is_same_v<Kind, VerifyVerb>) return verb.feeds.empty() ? nullptr : &verb.feeds;
  return nullptr;
}
template <class Kind>
std::string* named_feed(Kind& verb) {
  if constexpr (std::is_base_of_v<WebhookVerb, Kind>)
    return nullptr;  // its address is that of a receiver
  else if constexpr (requires { verb.url; })
    return &verb.url;
  else if constexpr (requires {
                       verb.feed;
                       verb.guid;
                     })
    return &verb.feed;
  else
    return nullptr;
}

/// The partition that has all entries whose ids the verb is given; nothing where it is given none.
template <class Kind>
std::optional<unsigned> named_by_ids(const Kind& verb, const Config& config) {
  std::vector<std::string> ids;
  if constexpr (requires { verb.ids; }) ids = verb.ids;
  if constexpr (requires {
                  verb.id;
                  verb.guid;
                })
    ids = {verb.id};
  std::optional<unsigned> named;
  for (const std::string& id : ids) {
    if (!is_entry_id(id)) return std::nullopt;
    const unsigned its = partition_with_entry(config, id).value_or(partition_of_entry(id, config.redis.partitions));
    if (named && *named != its) return std::nullopt;
    named = its;
  }
  return named;
}

/// Calls `work(verb, config)` for each partition with what of the verb is meant for it; the highest of the exit codes.
/// Where that cannot be told, with `config` as it is: the store says that one must be named.
template <class Kind, class Work>
int in_partitions(Kind verb, const Config& config, Terminal& terminal, const Work& work) {
  const unsigned count = config.redis.partitions;
  const auto at = [&](unsigned partition) { return work(verb, config.of_partition(partition)); };
  const auto at_all = [&] {
    int code = exits::done;
    for (unsigned i = 0; i < count; ++i) {
      if (!terminal.json()) terminal.note(fmt::format("partition {} of {}:", i, count));
      code = std::max(code, at(i));
      terminal.flush();
      if (code == exits::configuration) break;  // the others would say the same
    }
    return code;
  };
  if (std::vector<std::string>* const urls = named_feeds(verb)) {
    if (urls->empty()) return at_all();
    std::map<unsigned, std::vector<std::string>> shares;
    for (const std::string& url : *urls) {
      const auto canonical = canonical_feed_url(url);
      if (!canonical) return at(0);  // where all of it is refused
      shares[partition_of(*canonical, count)].push_back(url);
    }
    // Nothing is done where one of them is told that it lacks a feed.
    int code = exits::done;
    if constexpr (requires { Kind::wants_known_feeds; }) {
      for (auto share = shares.begin(); share != shares.end() && shares.size() > 1;) {
        if (has_all(config, share->first, share->second)) {
          ++share;
          continue;
        }
        *urls = std::move(share->second);
        if (code = at(share->first); code != exits::done) return code;
        share = shares.erase(share);
      }
    }
    for (auto& [partition, share] : shares) {
      *urls = std::move(share);
      code = std::max(code, at(partition));
    }
    return code;
  }
  if (const auto partition = named_by_ids(verb, config)) return at(*partition);
  if (const std::string* const url = named_feed(verb); url != nullptr && !url->empty()) {
    const auto canonical = canonical_feed_url(*url);
    return at(canonical ? partition_of(*canonical, count) : 0);
  }
  if constexpr (requires { verb.of_all_partitions(); }) {
    if (verb.of_all_partitions()) return at_all();
  }
  return work(verb, config);
}

}  // namespace feedmill
