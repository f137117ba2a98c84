#include "worker/memory_budget.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <unistd.h>

#include "worker/text/units.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::uint64_t step = 64u << 10;
constexpr std::uint64_t without_a_limit = 512u << 20;
constexpr std::uint64_t least_of_private_server = 16u << 20;

std::uint64_t in_steps(std::uint64_t bytes) {
  return (bytes + step - 1) / step * step;
}

/// The number in a file of the kernel's; nothing for "max", and for files that are not there.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string text;
  std::uint64_t number = 0;
  if (!(in >> text)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool MemoryBudget::grant(Share& share, std::uint64_t bytes) {
  const std::uint64_t more = bytes - share.held_;
  const bool oldest = shares_.front() == &share;
  if (!oldest && (used_ > total_ || more > total_ - used_)) return false;
  used_ += more;
  share.held_ = bytes;
  share.wanted_ = 0;
  return true;
}

/// Those who wait are served in order of age; one that cannot be makes the younger ones wait.
void MemoryBudget::released() {
  for (Share* share : shares_) {
    if (share->wanted_ == 0) continue;
    if (!grant(*share, share->wanted_)) return;
    if (const auto wake = std::exchange(share->wake_, nullptr)) wake();
  }
}

MemoryBudget::Share::Share(MemoryBudget& budget, std::uint64_t expected_bytes)
    : budget_(budget), expected_(in_steps(std::max(expected_bytes, step))) {}

MemoryBudget::Share::~Share() {
  if (listed_) budget_.shares_.erase(place_);
  budget_.used_ -= held_;
  wake_ = nullptr;
  budget_.released();
}

/// While there is room, by half as much again as before: many who hold a little and wait for more would finish one
/// after the other.
bool MemoryBudget::Share::cover(std::uint64_t document_bytes) {
  const std::uint64_t bytes = document_cost * std::max(in_steps(document_bytes), held_ == 0 ? expected_ : 0);
  wanted_ = 0;
  if (bytes <= held_) return true;
  if (!std::exchange(listed_, true)) place_ = budget_.shares_.insert(budget_.shares_.end(), this);
  const std::uint64_t ahead = std::max(bytes, document_cost * in_steps(this->document_bytes() * 3 / 2));
  if (budget_.used_ + (ahead - held_) <= budget_.total_) return budget_.grant(*this, ahead);
  wanted_ = bytes;
  return budget_.grant(*this, bytes);
}

void MemoryBudget::Share::on_granted(std::function<void()> wake) {
  wake_ = std::move(wake);
}

asio::awaitable<bool> MemoryBudget::Share::cover_within(std::uint64_t document_bytes,
                                                        std::chrono::milliseconds longest) {
  if (cover(document_bytes)) co_return true;
  asio::steady_timer timer(co_await asio::this_coro::executor, longest);
  on_granted([&timer] { timer.cancel(); });
  const auto [interrupted] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  on_granted(nullptr);
  const bool granted = std::exchange(wanted_, 0) == 0;
  if (interrupted && !granted) throw boost::system::system_error(interrupted);  // cancelled: unwind
  co_return granted;
}

namespace {

/// The smallest limit of our cgroup and those above it.
std::optional<std::uint64_t> memory_limit(const fs::path& root) {
  std::optional<std::uint64_t> least;
  const auto consider = [&least](const fs::path& file) {
    if (const auto number = number_in(file)) least = std::min(least.value_or(*number), *number);
  };
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;  // version 2
    fs::path group = fs::path(line.substr(3)).relative_path();
    for (;; group = group.parent_path()) {
      consider(root / "sys/fs/cgroup" / group / "memory.max");
      if (group.empty()) break;
    }
  }
  consider(root / "sys/fs/cgroup/memory/memory.limit_in_bytes");  // version 1
  constexpr std::uint64_t unlimited = std::uint64_t{1} << 60U;    // version 1 says so by a huge number
  return least && *least < unlimited ? least : std::nullopt;
}

}  // namespace

std::uint64_t automatic_memory_budget(const fs::path& root) {
  const auto limit = memory_limit(root);
  return limit ? *limit / 10 * 6 : without_a_limit;
}

MemoryPlan plan_memory(std::optional<std::uint64_t> budget, std::uint64_t least, bool private_server,
                       const fs::path& root) {
  const auto limit = memory_limit(root);
  if (!limit || !private_server) return {budget.value_or(automatic_memory_budget(root)), 0};
  const std::uint64_t documents = budget.value_or(std::max(*limit / 4, least));
  // What is left is for both programs themselves, and for the pages that change while the server rewrites its file.
  const std::uint64_t left = *limit - std::min(*limit, documents);
  return {documents, std::max<std::uint64_t>(left / 20 * 11, 1)};  // 0 would be no limit
}

std::string objection_to_memory(std::optional<std::uint64_t> budget, std::uint64_t max_body_bytes, bool private_server,
                                const fs::path& root) {
  const std::uint64_t least = MemoryBudget::least(max_body_bytes);
  if (const std::uint64_t given = budget.value_or(automatic_memory_budget(root)); given < least) {
    return "at least 4 × fetch.max_body + 64MiB, which is " + format_size(least) +
           (budget ? "" : "; this machine's limit gives " + format_size(given)) +
           ": give more memory or lower fetch.max_body";
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

}  // namespace feedmill
