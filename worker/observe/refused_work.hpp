// Logs work that Redis rejects although it is up, because a key it needs has the wrong type.
#pragma once

#include <string_view>

#include "storage/redis/store_error.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

/// Reports one kind of work, on one thread at a time.
class RefusedWork {
 public:
  /// `work`: its name, such as "delivery". All arguments must outlive this.
  RefusedWork(Metrics& metrics, Log& log, std::string_view work) : metrics_(metrics), log_(log), work_(work) {}

  /// The work failed with an error that is not an outage (is_transient()). Logged once until the work continues: as a
  /// notice if a key has the wrong type, otherwise as a bug, which is counted.
  void tell(const StoreError& error);
  /// The work succeeded; logged if it had failed.
  void goes_on();

 private:
  Metrics& metrics_;
  Log& log_;
  std::string_view work_;
  bool told_ = false;
};

}  // namespace feedmill
