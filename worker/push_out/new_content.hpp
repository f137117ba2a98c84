// New content of a topic as its subscribers receive it: made once for all of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/outgoing_memory.hpp"
#include "worker/push_out/sender.hpp"
#include "worker/push_out/store_calls.hpp"

namespace feedmill {

/// Lives on the loop's thread.
class NewContent {
 public:
  /// `hub`: the hub's URL, named in documents. `memory` counts documents while they are kept or sent; outlives this.
  NewContent(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string hub,
             OutgoingMemory& memory)
      : store_(store), hub_(std::move(hub)), memory_(memory), making_(executor) {}

  struct Made {
    std::size_t posts = 0;                           ///< requested posts that fit, from the first on
    std::shared_ptr<const Sender::Content> content;  ///< null: all posts were removed or may not be re-published
    bool no_memory = false;                          ///< nothing was made; retry later
  };
  /// A current document of these posts (`Entry:<n>`, in event order), newest first, at most 1 MiB. `version` must
  /// change whenever a post changes. `of_memory`: the share of the memory (0 to 1) that the document may fill.
  boost::asio::awaitable<StoreResult<Made>> of(const Subscriber& subscriber, std::vector<std::string> entry_ids,
                                               std::string version, double of_memory);

 private:
  StoreCalls store_;
  const std::string hub_;
  OutgoingMemory& memory_;
  OneAtATime making_;                 // a document: concurrent requests for one find it made
  std::map<std::string, Made> made_;  // by topic, version and posts
  std::size_t bytes_ = 0;             // bytes of made_
};

}  // namespace feedmill
