#include "worker/verbs/doctor_report.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/base/exits.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// "partition 3 of 16", "partitions 0 to 4, 7 of 16" or "all 16 partitions". `some`: ascending, without duplicates.
std::string partitions_text(const std::vector<unsigned>& some, std::size_t count) {
  if (some.size() == count) return fmt::format("all {} partitions", count);
  std::string text;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < some.size() && some[i + 1] == some[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", some[first]);
    if (i > first) text += fmt::format(" to {}", some[i]);
  }
  return fmt::format("partition{} {} of {}", some.size() == 1 ? "" : "s", text, count);
}

}  // namespace

void DoctorReport::tell(const Finding& finding) {
  failed_ = failed_ || finding.verdict == Verdict::fail;
  if (partition_ && !terminal_.json()) {
    keep(finding);
    return;
  }
  const std::string verdict = fmt::format("{:<5}", to_string(finding.verdict));
  const std::string remedy = visible(finding.remedy);
  boost::json::object row{{"check", finding.check},
                          {"verdict", to_string(finding.verdict)},
                          {"text", visible(finding.text)},
                          {"remedy", text_or_null(remedy)}};
  if (partition_) row["partition"] = *partition_;
  terminal_.tell(std::move(row),
                 fmt::format("{}{:<16}{}{}{}", finding.verdict == Verdict::ok ? verdict : terminal_.red(verdict),
                             finding.check, visible(finding.text), remedy.empty() ? "" : ": ", remedy));
  terminal_.flush();
}

void DoctorReport::tell(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) tell(finding);
}

int DoctorReport::exit() const {
  return failed_ ? exits::no : exits::done;
}

void DoctorReport::keep(const Finding& finding) {
  auto behind = kept_.end();
  for (auto one = kept_.begin(); one != kept_.end(); ++one) {
    if (one->finding.check != finding.check) continue;
    behind = one + 1;
    const auto what = [](const Finding& of) { return std::tie(of.verdict, of.text, of.remedy); };
    if (what(one->finding) != what(finding)) continue;
    if (one->partitions.back() != *partition_) one->partitions.push_back(*partition_);
    return;
  }
  kept_.insert(behind, Kept{finding, {*partition_}});
}

void DoctorReport::of_all() {
  partition_.reset();
  for (auto first = kept_.begin(); first != kept_.end();) {
    const auto is_another = [&](const Kept& one) { return one.finding.check != first->finding.check; };
    const auto end = std::find_if(first, kept_.end(), is_another);
    tell_check({first, end});
    first = end;
  }
  kept_.clear();
}

/// If a check passed with many different details, prints only that it passed.
void DoctorReport::tell_check(std::span<const Kept> kept) {
  constexpr std::ptrdiff_t most_ways = 4;
  const auto is_well = [](const Kept& one) { return one.finding.verdict == Verdict::ok; };
  const bool in_few_ways = std::ranges::count_if(kept, is_well) <= most_ways;
  std::set<unsigned> well;
  for (const Kept& one : kept) {
    if (in_few_ways || !is_well(one))
      tell_of(one.finding, one.partitions);
    else
      well.insert(one.partitions.begin(), one.partitions.end());
  }
  if (!well.empty()) tell_of({kept.front().finding.check, Verdict::ok, "well", ""}, {well.begin(), well.end()});
}

void DoctorReport::tell_of(const Finding& finding, const std::vector<unsigned>& partitions) {
  Finding told = finding;
  told.text += fmt::format(" ({})", partitions_text(partitions, partitions_));
  tell(told);
}

}  // namespace feedmill
