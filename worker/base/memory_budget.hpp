// What all documents in memory may take together (SECURITY §8): bodies are read only as far as it grants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "parsers/text/limits.hpp"
#include "worker/base/loop_call.hpp"

namespace feedmill {

/// Bytes granted to documents on their way through, each of which holds a Share: while it is received, while it is
/// read, and until it is stored. All loops of a process share one; each share is used on one loop's thread. Must
/// outlive its shares; neither copied nor moved.
class MemoryBudget {
 public:
  class Share;

  /// Least that memory.budget must be for bodies of at most `max_body_bytes` (SECURITY M1): the largest one is read
  /// whatever the others hold, and these have 64 MiB.
  static constexpr std::uint64_t least(std::uint64_t max_body_bytes) {
    return limits::reading_cost(max_body_bytes) + (64u << 20);
  }

  /// `bytes`: for all shares but one, which is granted whatever it needs.
  explicit MemoryBudget(std::uint64_t bytes) : total_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  std::uint64_t total() const { return total_; }
  /// What all shares hold. May exceed the total, by what the share does that found too little (SECURITY M3).
  std::uint64_t used() const;
  /// Less than a tenth is free: nothing new is to be begun (SECURITY M3).
  bool is_short() const;

  /// Told when next something is given back, before those who wait to receive are served; must not end a share, and
  /// calls serve_waiting() when it has taken what it wanted.
  void on_released(LoopCall tell);
  /// It need not be told any more.
  void forget(const LoopCall& tell);
  /// Gives those who wait to receive what is left, in order of age; one that finds too little makes the younger ones
  /// wait.
  void serve_waiting();

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;  // who is told of memory takes some at once

  std::uint64_t used_by_first() const;
  bool fits(const Share& share, std::uint64_t bytes) const;
  bool grant(Share& share, std::uint64_t bytes);
  void hold(Share& share, std::uint64_t bytes);
  void released();

  const std::uint64_t total_;
  mutable std::recursive_mutex mutex_;  ///< of all below, and of all shares
  std::uint64_t used_by_others_ = 0;    ///< by all but first_
  Share* first_ = nullptr;    ///< granted whatever it needs, because it found too little; null: all have enough
  std::list<Share*> shares_;  ///< that hold something or wait for it, oldest first
  std::size_t waiting_ = 0;   ///< of these
  std::vector<LoopCall> to_tell_;
};

/// One document's part of the budget, given back whole at its end.
class MemoryBudget::Share {
 public:
  /// `expected_bytes`: size of the body of last time, 0 when unknown. Nothing is reserved yet.
  Share(MemoryBudget& budget, std::uint64_t expected_bytes);
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// Reserves what it takes to receive so many bytes, in steps of 64 KiB, at least what was expected. False when that
  /// is not free; then the share waits, see on_granted().
  bool cover(std::uint64_t body_bytes);

  /// Told once what the last cover() wanted has been reserved after all, which may be now; from within another share's
  /// end, so it must do no more than wake somebody. Empty: nobody waits any more.
  void on_granted(LoopCall wake);

  /// Reserves what it costs to read a document of so many bytes (SECURITY M2), in steps of 64 KiB of it. False when
  /// that is not free; it does not wait.
  bool cover_reading(std::uint64_t document_bytes);

  /// Whether it may always have what it needs (SECURITY M3): it must wait for nobody who waits for memory.
  bool may_always_grow() const;

  /// How large a document may be that is read in what it holds.
  std::uint64_t readable_bytes() const;

  /// From now on it holds `bytes`, which are there already: the document is read.
  void hold(std::uint64_t bytes);

  std::uint64_t held() const;

 private:
  friend class MemoryBudget;

  void want(std::uint64_t bytes);
  void list();

  MemoryBudget& budget_;
  std::uint64_t expected_;
  std::uint64_t held_ = 0;
  std::uint64_t wanted_ = 0;  ///< 0 unless it waits
  bool listed_ = false;
  std::list<Share*>::iterator place_;  ///< when listed
  LoopCall wake_;
};

/// Where no private server shares it: 60 % of the smallest memory.max of our cgroup and those above it, `least`
/// (MemoryBudget::least()) if that is more and no more than three quarters; without a limit 512 MiB, or `least`.
/// `root`: where /proc and /sys are.
std::uint64_t automatic_memory_budget(std::uint64_t least, const std::filesystem::path& root = "/");

/// How the limit of our cgroup is shared out.
struct MemoryPlan {
  std::uint64_t documents = 0;       ///< memory.budget: the total of a MemoryBudget and what its first share may need
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
