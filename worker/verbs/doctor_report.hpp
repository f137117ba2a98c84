// What doctor says of its findings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "worker/base/terminal.hpp"
#include "worker/diagnosis/doctor.hpp"

namespace feedmill {

/// Tells findings as they come and remembers the worst. As text, what is found of many partitions is told once.
class DoctorReport {
 public:
  /// `terminal` outlives this. `partitions`: that the store has.
  DoctorReport(Terminal& terminal, std::size_t partitions) : terminal_(terminal), partitions_(partitions) {}

  /// What follows is of a partition of several, until of_all(): only rows of JSON are written at once.
  void of(unsigned partition) { partition_ = partition; }
  void of_all();

  void tell(const Finding& finding);
  void tell(const std::vector<Finding>& findings);
  /// Of the process: `no` where something fails.
  int exit() const;

 private:
  /// What was found of these partitions alike; they ascend.
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
  std::vector<Kept> kept_;  // those of one check stand together
  bool failed_ = false;
};

}  // namespace feedmill
