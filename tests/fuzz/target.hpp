// Defines a fuzz target: libFuzzer's entry point with the preset fuzz, else a function of feedmill_fuzz_replay.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef FEEDMILL_FUZZER
#define FEEDMILL_FUZZ_TARGET(name, data, size) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define FEEDMILL_FUZZ_TARGET(name, data, size) int name(const std::uint8_t* data, std::size_t size)
#endif
