// Prints the findings of doctor.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "worker/base/terminal.hpp"
#include "worker/verbs/doctor.hpp"

namespace feedmill {

/// Prints findings as they arrive and remembers the worst. Text output merges equal findings of several partitions.
class DoctorReport {
 public:
  /// `terminal` must outlive this. `partitions`: number of partitions of the store.
  DoctorReport(Terminal& terminal, std::size_t partitions) : terminal_(terminal), partitions_(partitions) {}

  /// Findings belong to this partition until of_all(); until then, only JSON rows are printed at once.
  void of(unsigned partition) { partition_ = partition; }
  void of_all();

  void tell(const Finding& finding);
  void tell(const std::vector<Finding>& findings);
  /// Exit code: `no` if a check failed.
  int exit() const;

 private:
  /// A finding and the partitions that have it, ascending.
  struct Kept {
    Finding finding;
    std::vector<unsigned> partitions;
  };

  void keep(const Finding& finding);
  void tell_check(std::span<const Kept> kept);
  void tell_of(const Finding& finding, const std::vector<unsigned>& partitions);

  Terminal& terminal_;
  const std::size_t partitions_;
  std::optional<unsigned> partition_;
  std::vector<Kept> kept_;  // adjacent for each check
  bool failed_ = false;
};

}  // namespace feedmill
