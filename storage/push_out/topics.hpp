// Under which unguessable addresses feeds and channels are shown to others (WEBSUB §10).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/topic.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

struct TopicAddress {
  Topic topic;
  std::string token;  ///< 26 characters of a-z2-7; a secret
};

class Topics {
 public:
  /// `store` outlives this.
  explicit Topics(Store& store) : impl_(store.impl()) {}
  explicit Topics(Store::Impl& impl) : impl_(impl) {}

  /// The address of a topic, made when it has none. Whether there is such a feed or channel, and may be shown, is the
  /// caller's to see to.
  StoreResult<TopicAddress> share(const Topic& topic);
  /// False: it had no address. Who has subscribed is not told by this (Subscribers::deny).
  StoreResult<bool> unshare(const Topic& topic);
  /// Of one whose feed or channel goes: its address means nothing from then on, also should there be such a one again,
  /// and who has subscribed is told. Nothing where it had none.
  StoreResult<void> end(const Topic& topic);
  StoreResult<std::optional<TopicAddress>> find(const Topic& topic);
  /// What a token stands for.
  StoreResult<std::optional<Topic>> find(const std::string& token);
  /// Behind `after` ("" = from the first), at most `limit`; `next` "" at the end. Channels come first.
  struct Page {
    std::vector<TopicAddress> topics;
    std::string next;
  };
  StoreResult<Page> list(const std::string& after, std::size_t limit);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
