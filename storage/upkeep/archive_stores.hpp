// The stores of an export or import.
#pragma once

#include <string>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// All partitions of a deployment, in order, or a single store, possibly one partition. They must outlive this object.
struct ArchiveStores {
  std::vector<Store*> all;

  unsigned partitions() const { return all.front()->partition().count; }
  /// Null if it is not among them.
  Store* at(unsigned partition) const {
    if (all.size() > 1) return all.at(partition);
    return all.front()->partition().index == partition ? all.front() : nullptr;
  }
  Store* with_feed(const std::string& feed_url) const { return at(partition_of(feed_url, partitions())); }
  /// Home partition of a name; a single store is the home of everything.
  Store& home(unsigned partition) const { return all.size() > 1 ? *all.at(partition) : *all.front(); }
};

}  // namespace feedmill
