// One structured line per event to stderr (OPERATIONS §5).
#pragma once

namespace feedmill {

enum class LogLevel { debug, info, warn, error };

/// automatic: logfmt on a terminal, else JSON.
enum class LogFormat { automatic, json, logfmt };

}  // namespace feedmill
