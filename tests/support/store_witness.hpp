// Inspects a store without using the product's code: checks the invariants of RELIABILITY §2 against what a publisher
// really served.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/ground_truth.hpp"

namespace feedmill::test {

enum class Stage {
  any,        ///< any state in which processes may have been stopped
  caught_up,  ///< every document of the publisher is stored, all events are delivered, and no worker is active
  restored    ///< caught_up, after Redis lost its latest writes: posts that left the documents since cannot be
              ///< recovered
};

/// The violations of RELIABILITY I1–I6, I11, I13 and I15 in words; empty if there are none. Each post must be stored
/// once, and created once in the stream. `timeline`: a channel that follows all feeds, "" for none. Assumes default
/// retention.
std::vector<std::string> wrongs(const std::string& redis_url, const GroundTruth& truth, Stage stage,
                                const std::string& timeline = "");
/// wrongs() as one text, one violation per line, at most twenty.
std::string wrongs_text(const std::string& redis_url, const GroundTruth& truth, Stage stage,
                        const std::string& timeline = "");

/// A digest of each key that refreshing and delivering writes, except keys of workers and hosts. Requires a server
/// started with "--enable-debug-command yes".
std::map<std::string, std::string> fingerprint(const std::string& redis_url);

}  // namespace feedmill::test
