// Exit codes for shells and systemd (OPERATIONS §1, RELIABILITY §11).
#pragma once

namespace feedmill {

namespace exits {
inline constexpr int done = 0;
inline constexpr int no = 1;  ///< succeeded, the answer is no
inline constexpr int usage = 64;
inline constexpr int bad_input = 65;
inline constexpr int unavailable = 69;  ///< Redis, or its program is missing
inline constexpr int bug = 70;
inline constexpr int directory = 73;
inline constexpr int unfinished = 75;  ///< try again
inline constexpr int configuration = 78;
inline constexpr int interrupted = 130;
}  // namespace exits

}  // namespace feedmill
