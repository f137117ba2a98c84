// The merged stream, a copy of the events of all partitions (RELIABILITY L28).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "storage/records/stream_records.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Copies one partition's events. Several may run at once, and any may be killed: each event is copied once, and those
/// of a partition in order.
class MergedStream {
 public:
  /// `store`, a partition, must outlive this object.
  explicit MergedStream(Store& store);

  struct Step {
    std::size_t copied = 0;
    bool missed = false;  ///< events were trimmed before they were copied
  };
  /// Copies up to `most` records, if available.
  StoreResult<Step> step(std::size_t most);

 private:
  StoreResult<void> send(std::span<const EventRecord> records);

  Store& store_;
  Store::Impl& impl_;
  const std::string prefix_, stream_, places_, partition_;
  Redis redis_;                 // of the node with the merged stream
  std::string at_;              // our last copied event, "" = unknown
  std::string newest_ = "0-0";  // id of the last copy (RELIABILITY L8)
};

}  // namespace feedmill
