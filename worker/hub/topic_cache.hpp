// Documents of topics that were asked for a moment ago, of all stores of a process (WEBSUB U1, SECURITY M5).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/outgoing_memory.hpp"

namespace feedmill {

/// A document of a topic as it is answered.
struct KeptDocument {
  std::shared_ptr<const std::string> body;  ///< counted while anybody sends it
  std::string content_type, etag;
  std::optional<std::chrono::sys_seconds> last_modified;
};

/// Keeps each for a second, 16 MiB at most, so that a crowd costs one look at the store. Lives on the loop's thread.
class TopicCache {
 public:
  TopicCache(const boost::asio::any_io_executor& executor, MemoryBudget& budget);
  TopicCache(const TopicCache&) = delete;
  TopicCache& operator=(const TopicCache&) = delete;

  /// The document of an address; null: none is kept.
  std::shared_ptr<const KeptDocument> find(const std::string& address) const;
  /// Keeps it under its address in place of the one there.
  void keep(const std::string& address, std::shared_ptr<const KeptDocument> document);
  /// Room for another document; drops what is kept to make it. False: too much is being sent.
  bool make_room(std::size_t bytes);
  /// Counts the bodies, kept and being sent: 32 MiB at most.
  OutgoingMemory& memory() { return memory_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::string address;
    std::size_t bytes;
    Clock::time_point until;
    std::shared_ptr<const KeptDocument> document;
  };
  using Place = std::list<Kept>::iterator;

  void drop(Place place);
  void drop_old();

  OutgoingMemory memory_;
  std::list<Kept> kept_;                              // oldest first
  std::map<std::string, Place, std::less<>> places_;  // by address
  std::size_t bytes_ = 0;                             // of all that are kept
  boost::asio::steady_timer oldest_;                  // its end
};

}  // namespace feedmill
