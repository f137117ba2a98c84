// The stores that an archive is written of, or read into.
#pragma once

#include <string>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// All partitions of a deployment, in their order, or one store, which may be one of them. They outlive this.
struct ArchiveStores {
  std::vector<Store*> all;

  unsigned partitions() const { return all.front()->partition().count; }
  /// Null: it is not among them.
  Store* at(unsigned partition) const {
    if (all.size() > 1) return all.at(partition);
    return all.front()->partition().index == partition ? all.front() : nullptr;
  }
  Store* with_feed(const std::string& feed_url) const { return at(partition_of(feed_url, partitions())); }
  /// Where something is kept that this partition stands first for; of one store alone, there.
  Store& home(unsigned partition) const { return all.size() > 1 ? *all.at(partition) : *all.front(); }
};

}  // namespace feedmill
