// Limits the memory of all documents together (SECURITY M1): bodies are read only as far as it grants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsers/text/limits.hpp"
#include "worker/base/coroutines.hpp"

namespace feedmill {

/// Bytes granted to documents being received, read or stored; each document holds a Share. Shared by all loops of a
/// process; each share is used on one loop's thread. Must outlive its shares; not copyable or movable.
class MemoryBudget {
 public:
  class Share;

  /// Minimum of memory.budget for bodies of at most `max_body_bytes` (SECURITY M1): the cost of reading the largest
  /// one, plus 64 MiB for the others.
  static constexpr std::uint64_t least(std::uint64_t max_body_bytes) {
    return limits::reading_cost(max_body_bytes) + (64u << 20);
  }

  /// `bytes`: limit for all shares but one, which gets whatever it needs.
  explicit MemoryBudget(std::uint64_t bytes) : total_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  std::uint64_t total() const { return total_; }
  /// Bytes held by all shares. May exceed the total by what the one exempt share holds (SECURITY M3).
  std::uint64_t used() const;
  /// Whether less than a tenth is free; then nothing new may start (SECURITY M3).
  bool is_short() const;

  /// Calls `tell` when memory is next released, before waiting receivers are served. `tell` must not end a share, and
  /// must call serve_waiting() after taking the memory it needs.
  void on_released(LoopCall tell);
  /// Cancels on_released().
  void forget(const LoopCall& tell);
  /// Grants waiting receivers the free memory, oldest first; stops at the first that does not fit.
  void serve_waiting();

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;  // recursive: callbacks reserve memory at once

  std::uint64_t used_by_first() const;
  bool fits(const Share& share, std::uint64_t bytes) const;
  bool grant(Share& share, std::uint64_t bytes);
  void hold(Share& share, std::uint64_t bytes);
  void released();

  const std::uint64_t total_;
  mutable std::recursive_mutex mutex_;  ///< guards all members below, and all shares
  std::uint64_t used_by_others_ = 0;    ///< by all but first_
  Share* first_ = nullptr;              ///< the exempt share, which was the first not to fit; null: all fit
  std::list<Share*> shares_;            ///< holding or waiting for memory, oldest first
  std::size_t waiting_ = 0;             ///< of shares_
  std::vector<LoopCall> to_tell_;
};

/// One document's part of the budget, released when destroyed.
class MemoryBudget::Share {
 public:
  /// `expected_bytes`: size of the previous body, 0 if unknown. Reserves nothing yet.
  Share(MemoryBudget& budget, std::uint64_t expected_bytes);
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// Reserves memory for receiving `body_bytes`, in steps of 64 KiB and at least the expected size. If it is not free,
  /// returns false and waits; see on_granted().
  bool cover(std::uint64_t body_bytes);

  /// Calls `wake` once the memory of the last cover() is reserved; immediately if it is already. Called while another
  /// share ends, so it must only wake a waiter. Empty: cancels.
  void on_granted(LoopCall wake);

  /// Reserves the cost of reading a document of `document_bytes` (SECURITY M2), in steps of 64 KiB of it. If it is not
  /// free, returns false and does not wait.
  bool cover_reading(std::uint64_t document_bytes);

  /// Whether this is the exempt share (SECURITY M3): it must not wait for others that wait for memory.
  bool may_always_grow() const;

  /// Size of the largest document that can be read with the memory held.
  std::uint64_t readable_bytes() const;

  /// Sets the memory held to `bytes`, which are already in use: the document has been read.
  void hold(std::uint64_t bytes);

  std::uint64_t held() const;

 private:
  friend class MemoryBudget;

  void want(std::uint64_t bytes);
  void list();

  MemoryBudget& budget_;
  std::uint64_t expected_;
  std::uint64_t held_ = 0;
  std::uint64_t wanted_ = 0;  ///< 0 unless waiting
  bool listed_ = false;
  std::list<Share*>::iterator place_;  ///< valid if listed_
  LoopCall wake_;
};

/// memory.budget if not configured, without a private server: 60 % of the smallest memory.max of our cgroup and its
/// ancestors, or `least` (MemoryBudget::least()) if that is more, up to three quarters of that limit. Without a limit:
/// 512 MiB, or `least` if that is more. `root`: directory of /proc and /sys.
std::uint64_t automatic_memory_budget(std::uint64_t least, const std::filesystem::path& root = "/");

/// How our cgroup's limit is divided.
struct MemoryPlan {
  std::uint64_t documents = 0;       ///< memory.budget: total of a MemoryBudget, with its exempt share
  std::uint64_t private_server = 0;  ///< bytes of data a private server may hold; 0: unlimited
};

/// `budget`: the configured value, if any. `least`: MemoryBudget::least(). With a private server in the cgroup, a third
/// of its limit (at least `least`) is for documents and 55 % of the rest for the server's data, so that the server
/// rejects excess data instead of a process being killed (RELIABILITY R11).
MemoryPlan plan_memory(std::optional<std::uint64_t> budget, std::uint64_t least, bool private_server,
                       const std::filesystem::path& root = "/");

/// Error text for a memory.budget that is too small, with the remedy; "" if it is fine. Bodies of `max_body_bytes` must
/// fit (SECURITY M1), and a private server needs 16 MiB in addition.
std::string objection_to_memory(std::optional<std::uint64_t> budget, std::uint64_t max_body_bytes, bool private_server,
                                const std::filesystem::path& root = "/");

/// Resident memory of this process in bytes; 0 if unknown.
std::uint64_t resident_memory();

// Limits of this process's control group (Linux, cgroup v2).

/// The number in a kernel file; empty for "max" and for missing files.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file);

/// The smallest number in `file` (such as "memory.max") of our cgroup and its ancestors; empty if none is set. `root`:
/// directory of /proc and /sys.
std::optional<std::uint64_t> cgroup_limit(const std::string& file, const std::filesystem::path& root = "/");

// Memory of outgoing data, shared by all connections (SECURITY M5).

/// Counts outgoing bytes, against memory.budget and against its own limit, while any reference to them is held. All
/// members, and the last release of a pointer from share(), on one loop's thread. Must outlive those pointers.
class OutgoingMemory {
 public:
  /// `budget` must outlive this. `most`: limit in bytes.
  OutgoingMemory(MemoryBudget& budget, std::size_t most) : budget_(budget), most_(most) {}
  OutgoingMemory(const OutgoingMemory&) = delete;
  OutgoingMemory& operator=(const OutgoingMemory&) = delete;

  /// Whether `bytes` more fit within the fraction `of_most` (0 to 1) of the limit and a tenth of the budget is free.
  bool has_room(std::size_t bytes, double of_most = 1) const {
    return static_cast<double>(used_ + bytes) <= of_most * static_cast<double>(most_) && !budget_.is_short();
  }
  /// Counts `bytes` until the last copy of the pointer is released.
  std::shared_ptr<const std::string> share(std::string bytes) {
    auto counted = std::make_shared<const Counted>(*this, std::move(bytes));
    return {counted, &counted->bytes};
  }
  std::size_t used() const { return used_; }
  MemoryBudget& budget() { return budget_; }

 private:
  struct Counted {
    Counted(OutgoingMemory& counter, std::string text) : memory(counter), bytes(std::move(text)) {
      memory.used_ += bytes.capacity();
      share.hold(bytes.capacity());
    }
    ~Counted() { memory.used_ -= bytes.capacity(); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    OutgoingMemory& memory;
    const std::string bytes;
    MemoryBudget::Share share{memory.budget_, 0};
  };

  MemoryBudget& budget_;
  const std::size_t most_;
  std::size_t used_ = 0;
};

}  // namespace feedmill
