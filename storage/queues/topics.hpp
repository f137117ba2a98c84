// Unguessable addresses under which feeds and channels are shared (WEBSUB §10).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/topic.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// A shared topic and the token in its address.
struct TopicAddress {
  Topic topic;
  std::string token;    ///< 26 characters of a-z2-7; a secret
  std::string title{};  ///< of its own; "" = the feed's, or the channel's name
};

/// The topics of one store, over a Store's connection.
class Topics {
 public:
  /// `store` must outlive this object.
  explicit Topics(Store& store) : impl_(store.impl()) {}
  explicit Topics(Store::Impl& impl) : impl_(impl) {}

  /// The address of a topic, created if it has none. `title`: its new title, "" = none; absent: as it is. The caller
  /// checks that the feed or channel exists and may be shared. The result has a title only if it was given.
  StoreResult<TopicAddress> share(const Topic& topic, const std::optional<std::string>& title = {});
  /// False if it had no address. Does not notify subscribers (Subscribers::deny).
  StoreResult<bool> unshare(const Topic& topic);
  /// Ends the topic of a removed feed or channel: its address becomes invalid for good, and its subscribers are denied.
  /// Does nothing if it had no address.
  StoreResult<void> end(const Topic& topic);
  /// One bounded step of end(): `after` is "" at first, then the result of the previous step; "" = ended.
  StoreResult<std::string> end_step(const Topic& topic, const std::string& after);
  StoreResult<std::optional<TopicAddress>> find(const Topic& topic);
  /// The topic's own title, "" = none.
  StoreResult<std::string> title(const Topic& topic);
  /// The topic of a token.
  StoreResult<std::optional<Topic>> find(const std::string& token);
  /// Topics after `after` ("" = from the first), at most `limit`; `next` is "" at the end. Channels come first.
  struct Page {
    std::vector<TopicAddress> topics;
    std::string next;
  };
  StoreResult<Page> list(const std::string& after, std::size_t limit);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
