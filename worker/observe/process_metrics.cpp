#include "worker/observe/process_metrics.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/resource.h>

#include <time.h>
#include <unistd.h>

namespace feedmill {
namespace {

/// A gauge or counter of this process, named as by the standard collectors.
prometheus::MetricFamily process_metric(const std::string& name, const std::string& help, double value, bool counter) {
  prometheus::MetricFamily family;
  family.name = "process_" + name;
  family.help = help;
  family.type = counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  family.metric.emplace_back();
  if (counter) {
    family.metric.back().counter.value = value;
  } else {
    family.metric.back().gauge.value = value;
  }
  return family;
}

/// Fields of /proc/self/stat after the name, starting with the third (proc(5)).
std::vector<std::string> process_status() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  return {std::istream_iterator<std::string>(rest), {}};
}

double number(const std::string& text) {
  std::istringstream stream(text);
  double value = 0;
  stream >> value;
  return value;
}

/// The machine's boot time in Unix seconds. From the clocks: /proc/stat does not exist under ProcSubset=pid.
double boot_time() {
  const auto seconds = [](clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  };
  return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
}

}  // namespace

std::vector<prometheus::MetricFamily> process_families() {
  std::vector<prometheus::MetricFamily> families;
  const auto fields = process_status();
  const auto field = [&](std::size_t i) { return i - 3 < fields.size() ? number(fields[i - 3]) : 0; };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::error_code ignored;
  const auto open = std::distance(std::filesystem::directory_iterator("/proc/self/fd", ignored), {});
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  static const double booted = boot_time();
  families.push_back(
      process_metric("cpu_seconds_total", "CPU time used, user and system.", (field(14) + field(15)) / ticks, true));
  families.push_back(process_metric("resident_memory_bytes", "Resident memory.",
                                    field(24) * static_cast<double>(::sysconf(_SC_PAGESIZE)), false));
  families.push_back(process_metric("virtual_memory_bytes", "Virtual memory.", field(23), false));
  families.push_back(process_metric("open_fds", "Open file descriptors.", static_cast<double>(open), false));
  families.push_back(process_metric("max_fds", "Maximum number of open file descriptors.",
                                    static_cast<double>(limit.rlim_cur), false));
  families.push_back(
      process_metric("start_time_seconds", "Start of the process, unix time.", booted + field(22) / ticks, false));
  return families;
}

}  // namespace feedmill
