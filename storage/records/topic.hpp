// A topic: the posts of a feed or of a channel, which others may read and subscribe to (WEBSUB U1).
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

enum class TopicKind { feed, channel };
inline std::string_view to_string(TopicKind kind) {
  return kind == TopicKind::feed ? "feed" : "channel";
}

struct Topic {
  TopicKind kind{};
  std::string name{};  ///< the feed's URL, or the channel's uid

  bool operator==(const Topic&) const = default;
};

}  // namespace feedmill
