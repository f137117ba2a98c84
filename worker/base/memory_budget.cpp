#include "worker/base/memory_budget.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "worker/base/units.hpp"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t step = 64u << 10;
constexpr std::uint64_t receiving_cost = 2;  // a body, and its copy while the buffer grows
constexpr std::uint64_t without_a_limit = 512u << 20;
constexpr std::uint64_t least_of_private_server = 16u << 20;

std::uint64_t in_steps(std::uint64_t bytes) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::uint64_t MemoryBudget::used() const {
  const Lock lock(mutex_);
  return used_by_others_ + used_by_first();
}

bool MemoryBudget::is_short() const {
  const Lock lock(mutex_);
  return used_by_others_ > total_ - total_ / 10;
}

void MemoryBudget::on_released(LoopCall tell) {
  const Lock lock(mutex_);
  to_tell_.push_back(std::move(tell));
}

void MemoryBudget::forget(const LoopCall& tell) {
  const Lock lock(mutex_);
  std::erase(to_tell_, tell);
}

std::uint64_t MemoryBudget::used_by_first() const {
  return first_ == nullptr ? 0 : first_->held_;
}

bool MemoryBudget::fits(const Share& share, std::uint64_t bytes) const {
  const std::uint64_t more = bytes - share.held_;
  return used_by_others_ <= total_ && more <= total_ - used_by_others_;
}

/// All shares but one stay within the total. The first that does not fit is exempt until it ends or all shares fit
/// again, so one always makes progress.
bool MemoryBudget::grant(Share& share, std::uint64_t bytes) {
  if (first_ == nullptr && !fits(share, bytes)) {
    first_ = &share;
    used_by_others_ -= share.held_;
  }
  if (&share != first_ && !fits(share, bytes)) return false;
  hold(share, bytes);
  return true;
}

void MemoryBudget::hold(Share& share, std::uint64_t bytes) {
  share.list();
  if (&share != first_) used_by_others_ += bytes - share.held_;  // unsigned wrap-around is intended
  share.held_ = bytes;
}

/// Documents waiting to be read come first, on whichever loop they are, because reading soon returns its memory.
void MemoryBudget::released() {
  if (first_ != nullptr && used() <= total_) used_by_others_ += std::exchange(first_, nullptr)->held_;
  if (to_tell_.empty()) return serve_waiting();
  for (const LoopCall& call : std::exchange(to_tell_, {})) call.tell();
}

void MemoryBudget::serve_waiting() {
  const Lock lock(mutex_);
  for (auto at = shares_.begin(); waiting_ > 0 && at != shares_.end(); ++at) {
    Share& share = **at;
    if (share.wanted_ == 0) continue;
    if (!grant(share, share.wanted_)) return;
    share.want(0);
    share.wake_.tell();
  }
}

MemoryBudget::Share::Share(MemoryBudget& budget, std::uint64_t expected_bytes)
    : budget_(budget), expected_(in_steps(std::max(expected_bytes, step))) {}

MemoryBudget::Share::~Share() {
  const Lock lock(budget_.mutex_);
  wake_.cancel();
  if (!listed_) return;
  want(0);
  budget_.hold(*this, 0);
  budget_.shares_.erase(place_);
  if (budget_.first_ == this) budget_.first_ = nullptr;
  budget_.released();
}

void MemoryBudget::Share::want(std::uint64_t bytes) {
  budget_.waiting_ += (bytes != 0 ? 1U : 0U) - (wanted_ != 0 ? 1U : 0U);
  wanted_ = bytes;
  if (bytes != 0) list();
}

void MemoryBudget::Share::list() {
  if (!std::exchange(listed_, true)) place_ = budget_.shares_.insert(budget_.shares_.end(), this);
}

/// Grows by half while there is room; otherwise many shares, each holding a little and waiting for more, would finish
/// one at a time.
bool MemoryBudget::Share::cover(std::uint64_t body_bytes) {
  const Lock lock(budget_.mutex_);
  const std::uint64_t bytes = receiving_cost * std::max(in_steps(body_bytes), held_ == 0 ? expected_ : 0);
  want(0);
  if (bytes <= held_) return true;
  const std::uint64_t ahead = std::max(bytes, receiving_cost * in_steps(held_ / receiving_cost * 3 / 2));
  if (budget_.grant(*this, budget_.fits(*this, ahead) ? ahead : bytes)) return true;
  want(bytes);
  return false;
}

void MemoryBudget::Share::on_granted(LoopCall wake) {
  const Lock lock(budget_.mutex_);
  wake_.cancel();
  wake_ = std::move(wake);
  if (wanted_ == 0) wake_.tell();
}

bool MemoryBudget::Share::may_always_grow() const {
  const Lock lock(budget_.mutex_);
  return budget_.first_ == this;
}

std::uint64_t MemoryBudget::Share::held() const {
  const Lock lock(budget_.mutex_);
  return held_;
}

bool MemoryBudget::Share::cover_reading(std::uint64_t document_bytes) {
  const Lock lock(budget_.mutex_);
  const std::uint64_t bytes = limits::reading_cost(in_steps(document_bytes));
  want(0);
  return bytes <= held_ || budget_.grant(*this, bytes);
}

std::uint64_t MemoryBudget::Share::readable_bytes() const {
  const std::uint64_t bytes = held();
  return bytes < limits::reading_base ? 0 : (bytes - limits::reading_base) / limits::reading_multiple;
}

void MemoryBudget::Share::hold(std::uint64_t bytes) {
  const Lock lock(budget_.mutex_);
  want(0);
  budget_.hold(*this, bytes);
  budget_.released();
}

namespace {

/// The smallest limit of our cgroup and its ancestors.
std::optional<std::uint64_t> memory_limit(const fs::path& root) {
  constexpr std::uint64_t unlimited = std::uint64_t{1} << 60U;  // version 1 writes a huge number instead
  std::optional<std::uint64_t> least = cgroup_limit("memory.max", root);
  const auto old = number_in(root / "sys/fs/cgroup/memory/memory.limit_in_bytes");  // version 1
  if (old && *old < unlimited) least = std::min(least.value_or(*old), *old);
  return least;
}

}  // namespace

std::uint64_t automatic_memory_budget(std::uint64_t least, const fs::path& root) {
  const auto limit = memory_limit(root);
  if (!limit) return std::max(without_a_limit, least);
  return std::max(*limit / 10 * 6, std::min(least, *limit / 4 * 3));
}

MemoryPlan plan_memory(std::optional<std::uint64_t> budget, std::uint64_t least, bool private_server,
                       const fs::path& root) {
  const auto limit = memory_limit(root);
  if (!limit || !private_server) return {budget.value_or(automatic_memory_budget(least, root)), 0};
  const std::uint64_t documents = budget.value_or(std::max(*limit / 3, least));
  // The rest is for both programs themselves, and for pages copied while the server rewrites its file.
  const std::uint64_t left = *limit - std::min(*limit, documents);
  return {documents, std::max<std::uint64_t>(left / 20 * 11, 1)};  // 0 would mean no limit
}

std::string objection_to_memory(std::optional<std::uint64_t> budget, std::uint64_t max_body_bytes, bool private_server,
                                const fs::path& root) {
  const std::uint64_t least = MemoryBudget::least(max_body_bytes);
  if (const std::uint64_t given = budget.value_or(automatic_memory_budget(least, root)); given < least) {
    return "at least " + std::to_string(limits::reading_multiple) + " × fetch.max_body + 68MiB, which is " +
           format_size(least) + (budget ? "" : "; this machine's limit gives " + format_size(given)) +
           ": allow more memory or lower fetch.max_body";
  }
  const MemoryPlan plan = plan_memory(budget, least, private_server, root);
  if (plan.private_server == 0 || plan.private_server >= least_of_private_server) return "";
  return "leaves the private server " + format_size(plan.private_server) +
         " of this machine's limit: lower memory.budget, or raise the limit";
}

std::uint64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string text;
  std::uint64_t number = 0;
  if (!(in >> text) || !read_number(text, number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> cgroup_limit(const std::string& file, const fs::path& root) {
  std::optional<std::uint64_t> least;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;  // cgroup v2
    fs::path group = fs::path(line.substr(3)).relative_path();
    for (;; group = group.parent_path()) {
      if (const auto number = number_in(root / "sys/fs/cgroup" / group / file))
        least = std::min(least.value_or(*number), *number);
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace feedmill
