// Malicious markup for testing the sanitiser's output in a browser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace feedmill::test {

/// Vectors of public collections, from data/cheat_sheet.txt. Raw bytes as an attacker sends them: may be invalid UTF-8
/// and contain NUL.
std::vector<std::string> cheat_sheet_vectors();

/// Every combination of a few tables: elements with handlers, spellings of schemes in all URL attributes, endings of
/// one kind of content inside another, CSS, srcset. Deterministic.
std::vector<std::string> systematic_vectors();

/// One of an unlimited number of vectors, randomly assembled from pieces of the systematic ones; deterministic by
/// `seed`.
std::string generated_vector(std::uint64_t seed);

}  // namespace feedmill::test
