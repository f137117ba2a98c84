// Work for the whole store that Redis refuses although it serves, in the log: a key that it needs is of another type.
#pragma once

#include <string_view>

#include "storage/redis/store_error.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

/// Of one kind of work, on one thread at a time.
class RefusedWork {
 public:
  /// `work`: as "delivery". It, `metrics` and `log` outlive this.
  RefusedWork(Metrics& metrics, Log& log, std::string_view work) : metrics_(metrics), log_(log), work_(work) {}

  /// The work met an error that is not an outage (is_transient()). Logged once until the work continues: as a notice
  /// where a key has the wrong type, otherwise as a bug, which is counted.
  void tell(const StoreError& error);
  /// The work was done; that is told where it had been refused.
  void goes_on();

 private:
  Metrics& metrics_;
  Log& log_;
  std::string_view work_;
  bool told_ = false;
};

}  // namespace feedmill
