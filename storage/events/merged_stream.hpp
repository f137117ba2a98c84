// The one stream into which the events of all partitions are copied (RELIABILITY L28).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "storage/records/stream_records.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Copies those of one partition. Several may do so at once, and any may be killed: each event comes once, and those of
/// a partition in their order.
class MergedStream {
 public:
  /// `store`, of a partition, outlives this.
  explicit MergedStream(Store& store);

  struct Step {
    std::size_t copied = 0;
    bool missed = false;  ///< events had been trimmed away before they were copied
  };
  /// Copies up to `most` records, as many as there are.
  StoreResult<Step> step(std::size_t most);

 private:
  StoreResult<void> send(std::span<const EventRecord> records);

  Store& store_;
  Store::Impl& impl_;
  const std::string prefix_, stream_, places_, partition_;
  Redis redis_;                 // to the node that has the one stream
  std::string at_;              // the last of ours that was copied, "" = not known
  std::string newest_ = "0-0";  // id that the last copy got (RELIABILITY L8)
};

}  // namespace feedmill
