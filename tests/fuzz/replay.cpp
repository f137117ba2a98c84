// Runs a fuzz target over the files of a folder, where there is no libFuzzer: feedmill_fuzz_replay TARGET FOLDER.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

using FuzzTarget = int (*)(const std::uint8_t* data, std::size_t size);

// targets.inc, from CMake, is TARGET(name) for each.
#define TARGET(name) int name(const std::uint8_t* data, std::size_t size);
#include "targets.inc"
#undef TARGET

namespace {

struct Row {
  std::string_view name;
  FuzzTarget target;
};

#define TARGET(name) Row{#name, name},
constexpr Row rows[] = {
#include "targets.inc"
};
#undef TARGET

}  // namespace

int main(int argc, char** argv) {
  const auto row = std::ranges::find(rows, std::string_view(argc == 3 ? argv[1] : ""), &Row::name);
  if (row == std::end(rows)) return 2;
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(argv[2])) {
    std::printf("%s\n", file.path().filename().c_str());  // names the culprit when the next line aborts
    std::fflush(stdout);
    std::ifstream in(file.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    row->target(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    ++count;
  }
  return count > 0 ? 0 : 1;  // an empty folder tests nothing
}
