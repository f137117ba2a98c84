#include "worker/observe/refused_work.hpp"

#include <utility>

#include <fmt/format.h>

namespace feedmill {

void RefusedWork::tell(const StoreError& error) {
  if (std::exchange(told_, true)) return;
  const bool is_refused = error.code == StoreError::Code::refused;
  if (!is_refused) metrics_.bug();
  log_.write(
      LogLevel::error, is_refused ? "notice" : "bug",
      fmt::format("{} cannot continue{}", work_,
                  is_refused ? ": a key it needs has the wrong type; delete or rename it" : "; feedmill retries"),
      {{"detail", error.detail}});
}

void RefusedWork::goes_on() {
  if (std::exchange(told_, false)) log_.write(LogLevel::info, "notice", fmt::format("{} continues", work_));
}

}  // namespace feedmill
