// Malicious markup for testing the sanitiser's output in a browser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace feedmill::test {

/// The shapes of public collections, from data/cheat_sheet.txt. Bytes as an attacker sends them: neither valid UTF-8
/// nor free of NUL.
std::vector<std::string> cheat_sheet_vectors();

/// Every combination of a few tables: elements with handlers, spellings of schemes in all attributes that take a URL,
/// what ends one kind of content inside of another, CSS, srcset. Always the same ones.
std::vector<std::string> systematic_vectors();

/// One of endlessly many, put together at random from pieces of the above; the same for the same seed.
std::string generated_vector(std::uint64_t seed);

}  // namespace feedmill::test
