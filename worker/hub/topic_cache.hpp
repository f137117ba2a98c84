// Recently requested topic documents of all stores of a process (WEBSUB U1, SECURITY M5).
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

/// A topic document as it is sent.
struct KeptDocument {
  std::shared_ptr<const std::string> body;  ///< counted while it is referenced
  std::string content_type, etag;
  std::optional<std::chrono::sys_seconds> last_modified;
};

/// Keeps each document for 1 s, at most 16 MiB, so that a burst of requests reads the store once. Lives on the loop's
/// thread.
class TopicCache {
 public:
  TopicCache(const boost::asio::any_io_executor& executor, MemoryBudget& budget);
  TopicCache(const TopicCache&) = delete;
  TopicCache& operator=(const TopicCache&) = delete;

  /// The cached document of an address, or null.
  std::shared_ptr<const KeptDocument> find(const std::string& address) const;
  /// Caches it under its address; replaces the previous one.
  void keep(const std::string& address, std::shared_ptr<const KeptDocument> document);
  /// Makes room for a document by dropping cached ones. False: too much is being sent.
  bool make_room(std::size_t bytes);
  /// Counts cached and outgoing bodies: at most 32 MiB.
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
  std::size_t bytes_ = 0;                             // of the cached documents
  boost::asio::steady_timer oldest_;                  // expiry of the oldest
};

}  // namespace feedmill
