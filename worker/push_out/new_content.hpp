// What is new in a topic, as its subscribers get it: made once, however many they are.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/push_out/sender.hpp"
#include "worker/push_out/store_calls.hpp"

namespace feedmill {

/// Lives on the loop's thread.
class NewContent {
 public:
  /// `hub`: the address of the hub that documents name.
  NewContent(const StoreOptions& store, std::string hub) : store_(store), hub_(std::move(hub)) {}

  struct Made {
    std::size_t posts = 0;                           ///< of those asked for, from the first: more make it too large
    std::shared_ptr<const Sender::Content> content;  ///< null: none of them is left, or may be re-published
  };
  /// The document with these posts (`Entry:<n>`, in the order of their events) as of about now, the last one first.
  /// `version` changes whenever one of them has.
  boost::asio::awaitable<StoreResult<Made>> of(const Subscriber& subscriber, std::vector<std::string> entry_ids,
                                               std::string version);

 private:
  StoreCalls store_;
  const std::string hub_;
  std::map<std::string, Made> made_;  // by topic, version and posts
  std::size_t bytes_ = 0;             // of these
};

}  // namespace feedmill
