// The order of requests: those that name the same feed, channel or ref take effect one after the other, and nobody else
// waits for them (RELIABILITY Q3). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "worker/operations/request.hpp"

namespace feedmill {

/// What a request names, as hashes, 0 = nothing. Different things that have one hash wait for each other; that is all.
using RequestNames = std::array<std::uint64_t, 4>;
/// `entry_feed`: the feed of the post that entry_remove is about, "" = not known.
RequestNames names_of(const Request& request, const std::string& entry_feed = {});

/// Requests that were taken and have not come to their end, in the order of the stream: what is under way, and what
/// waits for that. Of each no more than its id and names is kept.
class RequestOrder {
 public:
  static constexpr std::size_t most = 100'000;

  struct Waiting {
    std::string id;
    RequestNames names{};
    bool needs_memory = false;  ///< of Redis
    bool is_page = false;       ///< its feed is looked for behind its address
  };

  bool empty() const { return waiting_.empty(); }
  bool full() const { return waiting_.size() >= most; }
  /// Whether one of these names what such a request names.
  bool comes_before(const RequestNames& names) const;
  /// Behind all others.
  void put(Waiting request);
  void clear();

  /// The next that waits for none before it and `can_go`; nullptr once behind the last, then from the first again. What
  /// is returned lives until one of the two below is called; until then it is the next again.
  const Waiting* next(const std::function<bool(const Waiting&)>& can_go);
  /// It has come to its end.
  void ended();
  /// It has not.
  void stays();

 private:
  void pass();

  std::list<Waiting> waiting_;
  std::list<Waiting>::iterator at_ = waiting_.end();
  bool in_round_ = false;
  std::unordered_set<std::uint64_t> passed_;              // names of what stays before at_
  std::unordered_map<std::uint64_t, std::size_t> names_;  // of all, how often
};

}  // namespace feedmill
