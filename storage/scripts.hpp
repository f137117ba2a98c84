// The texts of scripts/*.lua, each with the prelude behind its first line.
#pragma once

namespace feedmill::scripts {

extern const char* const add;
extern const char* const claim;
extern const char* const commit;
extern const char* const hosts;
extern const char* const look_up;
extern const char* const move;
extern const char* const pause;
extern const char* const release;
extern const char* const remove;
extern const char* const resume;
extern const char* const settings;
extern const char* const slot;
extern const char* const unspread;
extern const char* const wake;

}  // namespace feedmill::scripts
