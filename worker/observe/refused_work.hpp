// Work for the whole store that Redis refuses although it serves, in the log: a key that it needs is of another type.
#pragma once

#include <string_view>

#include "storage/redis/store_error.hpp"
#include "worker/base/log.hpp"

namespace feedmill {

/// Of one kind of work, on one thread at a time.
class RefusedWork {
 public:
  /// `work`: as "delivery". It and `log` outlive this.
  RefusedWork(Log& log, std::string_view work) : log_(log), work_(work) {}

  /// The work met an error that is no outage (is_transient()), which names the key. Told once, until it goes on.
  void tell(const StoreError& error);
  /// The work was done; that is told where it had been refused.
  void goes_on();

 private:
  Log& log_;
  std::string_view work_;
  bool told_ = false;
};

}  // namespace feedmill
