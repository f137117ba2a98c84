// What is new in a topic, as its subscribers get it: made once, however many they are.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/base/one_at_a_time.hpp"
#include "worker/base/outgoing_memory.hpp"
#include "worker/push_out/sender.hpp"
#include "worker/push_out/store_calls.hpp"

namespace feedmill {

/// Lives on the loop's thread.
class NewContent {
 public:
  /// `hub`: the address of the hub that documents name. `memory` counts them while they are kept or sent, and outlives
  /// this.
  NewContent(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string hub,
             OutgoingMemory& memory)
      : store_(store), hub_(std::move(hub)), memory_(memory), making_(executor) {}

  struct Made {
    std::size_t posts = 0;                           ///< of those asked for, from the first: more make it too large
    std::shared_ptr<const Sender::Content> content;  ///< null: none of them is left, or may be re-published
    bool no_memory = false;                          ///< nothing was made: to be asked for again later
  };
  /// The document with these posts (`Entry:<n>`, in the order of their events) as of about now, the last one first; of
  /// 1 MiB at most, as it is sent. `version` changes whenever one of them has. `of_memory`: the part of it, 0 to 1,
  /// that such a document may fill up.
  boost::asio::awaitable<StoreResult<Made>> of(const Subscriber& subscriber, std::vector<std::string> entry_ids,
                                               std::string version, double of_memory);

 private:
  StoreCalls store_;
  const std::string hub_;
  OutgoingMemory& memory_;
  OneAtATime making_;                 // a document: those who wait for the same one find it made
  std::map<std::string, Made> made_;  // by topic, version and posts
  std::size_t bytes_ = 0;             // of these
};

}  // namespace feedmill
