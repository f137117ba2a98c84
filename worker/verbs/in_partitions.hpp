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
#include "worker/command_line/operation_verb.hpp"
#include "worker/command_line/operation_verbs.hpp"
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
  if constexpr (requires { verb.url; }) return &verb.url;
  if constexpr (requires { verb.guid; }) return &verb.feed;
  return nullptr;
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
      if (!terminal.json()) terminal.line(fmt::format("partition {} of {}:", i, count));
      code = std::max(code, at(i));
      terminal.flush();
      if (code == exits::configuration) break;  // the others would say the same
    }
    return code;
  };
  if constexpr (std::is_same_v<Kind, OperationVerb>) {
    const std::string url = feed_of(*verb.operation, verb.given);
    return url.empty() ? work(verb, config) : at(partition_of(url, count));
  }
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
  const auto with_entry = [&](const std::string& id) { return partition_with_entry(config, id); };
  if constexpr (requires { verb.ids; }) {  // of entries
    std::map<unsigned, std::vector<std::string>> shares;
    std::optional<unsigned> lacks;
    for (const std::string& id : verb.ids) {
      const auto its = with_entry(id);
      const unsigned partition = its.value_or(partition_of_entry(id, count));
      if (!its) lacks = partition;
      shares[partition].push_back(id);
    }
    if (lacks) shares = {*shares.find(*lacks)};  // it says so, and nothing is done
    int code = exits::done;
    for (auto& [partition, share] : shares) {
      verb.ids = std::move(share);
      code = std::max(code, at(partition));
    }
    return code;
  } else if constexpr (requires {
                         verb.id;
                         verb.guid;
                       }) {
    if (is_entry_id(verb.id)) return at(with_entry(verb.id).value_or(partition_of_entry(verb.id, count)));
  }
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
