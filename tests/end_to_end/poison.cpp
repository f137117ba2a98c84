// Loaded into the program under test: aborts or throws when a document about to be parsed asks for it, to simulate a
// real crash or bug in the parser.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <dlfcn.h>
#include <xxhash.h>

extern "C" XXH128_hash_t XXH3_128bits(const void* data, size_t size) {
  constexpr char marker[] = "this document kills";
  if (memmem(data, size, marker, sizeof marker - 1) != nullptr) std::abort();
  constexpr char bug[] = "this document is a bug";
  if (memmem(data, size, bug, sizeof bug - 1) != nullptr) throw std::runtime_error("a bug, as the document asks for");
  using Function = XXH128_hash_t (*)(const void*, size_t);
  static const auto original = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "XXH3_128bits"));
  return original(data, size);
}
