// What all documents in memory may take together (SECURITY §8): bodies are read only as far as it grants.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace feedmill {

/// Bytes granted to refreshes under way, each of which holds a Share. Lives on one loop thread and must outlive its
/// shares; neither copied nor moved.
class MemoryBudget {
 public:
  class Share;

  /// Least that a budget must hold for bodies of at most `max_body_bytes` (M1).
  static std::uint64_t least(std::uint64_t max_body_bytes) { return document_cost * max_body_bytes + (64u << 20); }

  explicit MemoryBudget(std::uint64_t bytes) : total_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  std::uint64_t total() const { return total_; }
  /// What all shares hold. May exceed the total: the oldest share is granted whatever it needs (M3).
  std::uint64_t used() const { return used_; }
  /// Less than a tenth is free: nothing new is to be begun (M3).
  bool is_short() const { return used_ > total_ - total_ / 10; }

 private:
  static constexpr std::uint64_t document_cost = 4;  ///< body, tree, entries, script arguments (M2)

  bool grant(Share& share, std::uint64_t bytes);
  void released();

  const std::uint64_t total_;
  std::uint64_t used_ = 0;
  std::list<Share*> shares_;  ///< that hold something or wait for it, oldest first
};

/// One refresh's part of the budget, given back whole at its end.
class MemoryBudget::Share {
 public:
  /// `expected_bytes`: decoded size of the document of last time, 0 when unknown. Nothing is reserved yet.
  Share(MemoryBudget& budget, std::uint64_t expected_bytes);
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// Reserves what a document of so many bytes costs, in steps of 64 KiB, at least what was expected. False when that
  /// is not free; then the share waits, see on_granted().
  bool cover(std::uint64_t document_bytes);

  /// Called once when what the last cover() wanted has been reserved after all; from within another share's end, so it
  /// must do no more than wake somebody. Empty: nobody waits any more.
  void on_granted(std::function<void()> wake);

  /// cover(), waiting `longest` for it. Cancellation unwinds with operation_aborted.
  boost::asio::awaitable<bool> cover_within(std::uint64_t document_bytes, std::chrono::milliseconds longest);

  /// How large a document may be that this share covers.
  std::uint64_t document_bytes() const { return held_ / document_cost; }

 private:
  friend class MemoryBudget;

  MemoryBudget& budget_;
  std::uint64_t expected_;
  std::uint64_t held_ = 0;
  std::uint64_t wanted_ = 0;  ///< 0 unless it waits
  bool listed_ = false;
  std::list<Share*>::iterator place_;  ///< when listed
  std::function<void()> wake_;
};

/// Where no private server shares it: 60 % of the smallest memory.max of our cgroup and those above it, else 512 MiB.
/// `root`: where /proc and /sys are.
std::uint64_t automatic_memory_budget(const std::filesystem::path& root = "/");

/// How the limit of our cgroup is shared out.
struct MemoryPlan {
  std::uint64_t documents = 0;       ///< the total of a MemoryBudget
  std::uint64_t private_server = 0;  ///< bytes of data that a private server may hold, 0 = as many as it likes
};

/// `budget`: what the configuration says, if it does. `least`: MemoryBudget::least(). With a private server below the
/// same limit a quarter of it, `least` at least, is for documents and 55 % of what is left for the data, so that what
/// is too much is refused by the server instead of ending a process (RELIABILITY R11).
MemoryPlan plan_memory(std::optional<std::uint64_t> budget, std::uint64_t least, bool private_server,
                       const std::filesystem::path& root = "/");

/// What is wrong with memory.budget and what to do about it, "" when nothing is: bodies of `max_body_bytes` must fit
/// into it (SECURITY M1), and a private server must have 16 MiB beside it.
std::string objection_to_memory(std::optional<std::uint64_t> budget, std::uint64_t max_body_bytes, bool private_server,
                                const std::filesystem::path& root = "/");

/// Memory of this process that is in RAM, in bytes; 0 when it is not told.
std::uint64_t resident_memory();

}  // namespace feedmill
