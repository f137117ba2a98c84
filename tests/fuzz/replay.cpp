// Runs a fuzz target over the files of a folder, where there is no libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

// NOLINTNEXTLINE(readability-redundant-declaration): a batch defines it before
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(argv[1])) {
    std::printf("%s\n", file.path().filename().c_str());  // names the culprit when the next line aborts
    std::fflush(stdout);
    std::ifstream in(file.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    ++count;
  }
  return count > 0 ? 0 : 1;  // an empty folder tests nothing
}
