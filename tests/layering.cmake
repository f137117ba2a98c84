# Fails when an include goes against parsers ◀ storage ◀ worker (DESIGN §6), past a public face, or to a library that
# is another layer's business; and when a key's name stands anywhere but in storage/keys.hpp and storage/scripts/.
#   cmake -D SOURCE_DIR=… -P tests/layering.cmake
cmake_minimum_required(VERSION 3.25)
set(parsers_faces charset.hpp date.hpp discovery.hpp document_json.hpp entry_values.hpp explain.hpp feed.hpp hub_links.hpp
  limits.hpp normalise.hpp opml.hpp read_feed.hpp strings.hpp text.hpp url.hpp)
set(storage_faces archive.hpp byte_text.hpp channels.hpp deliveries.hpp diff.hpp entry_record.hpp feed_fields.hpp
  fields.hpp given_entry.hpp identity.hpp key_value.hpp notifications.hpp pushes.hpp records.hpp rekey.hpp
  signal_record.hpp store.hpp test_point.hpp verify.hpp)

# What a layer must not include, as regular expressions of what stands between the quotes or angle brackets.
set(parsers_forbidden  # I/O, clocks' users, threads, and what the other layers are made of
  "^(storage|worker|tests)/"
  "^(fstream|iostream|istream|ostream|filesystem|cstdio|stdio\\.h|csignal|signal\\.h|random|ctime|time\\.h)$"
  "^(thread|mutex|shared_mutex|condition_variable|future|stop_token|semaphore|latch|barrier|atomic|coroutine)$"
  "^(unistd|fcntl|poll|netdb|dirent|spawn|pthread|dlfcn)\\.h$" "^(sys|net|netinet|arpa)/"
  "^boost/(asio|beast|filesystem|process|thread|redis)" "^(curl|hiredis|ares|prometheus|spdlog|fmt|toml\\+\\+|CLI)/" "^ares\\.h$")
set(storage_forbidden
  "^(worker|tests)/" "^(thread|mutex|shared_mutex|condition_variable|future|coroutine)$"
  "^boost/(asio|beast|process|thread)" "^(curl|ares|prometheus|spdlog|toml\\+\\+|CLI)/" "^ares\\.h$"
  "^(pugixml|pugiconfig|simdjson)\\.h" "^(brotli/decode|zstd|libdeflate)\\.h$")
set(worker_forbidden
  "^tests/" "^(pugixml|pugiconfig|simdjson)\\.h" "^hiredis" "^(sw/redis|boost/redis)")

# Names of keys, in string literals: their beginnings, and the endings of those that begin with a feed's URL.
string(CONCAT key_names
  "\"(ids:Entry|Entry:|Feed:|state:(feed|host|worker|channels|watch)|stats:feeds|stream:signals|meta:store|conf:hosts|websub:callback"
  "|lock:delivery|channel_sortorder_|zchannel:|list:notification|hash:notification|deliver:)"
  "|(:sort|:guidmap|:digests|:tombs)\"")

# Sets `found` to what is wrong with `line` of `file` (relative to the source directory), or to "".
function(look_at file line found)
  set(${found} "" PARENT_SCOPE)
  string(REGEX MATCH "^[a-z]+" layer "${file}")
  if(line MATCHES "^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]")
    set(quote "${CMAKE_MATCH_1}")
    set(header "${CMAKE_MATCH_2}")
    foreach(forbidden IN LISTS ${layer}_forbidden)
      if(header MATCHES "${forbidden}")
        set(${found} "${layer}/ must not include ${header}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
    if(header MATCHES "^(parsers|storage|worker)/(.*)$")
      set(other "${CMAKE_MATCH_1}")
      set(face "${CMAKE_MATCH_2}")
      if(NOT other STREQUAL layer AND NOT face IN_LIST ${other}_faces)
        set(${found} "${header} is no public face of ${other}/" PARENT_SCOPE)
      endif()
    elseif(quote STREQUAL "\"")
      set(${found} "our own headers are included as <layer>/<header>, not as ${header}" PARENT_SCOPE)
    endif()
  elseif(NOT file STREQUAL "storage/keys.hpp")
    string(REGEX REPLACE "(^|[^:])//.*$" "\\1" code "${line}")
    if(code MATCHES "${key_names}")
      set(${found} "the name of a key (${CMAKE_MATCH_0}) stands outside of storage/keys.hpp" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# The check must be able to fail: these lines do, and those below do not.
macro(check_example file line is_wrong)
  look_at("${file}" "${line}" wrong)
  if((wrong AND NOT ${is_wrong}) OR (NOT wrong AND ${is_wrong}))
    message(FATAL_ERROR "layering: expected another verdict on ${file}: ${line} (${wrong})")
  endif()
endmacro()
check_example(parsers/rss.cpp "#include \"storage/records.hpp\"" TRUE)
check_example(parsers/rss.cpp "#include <fstream>" TRUE)
check_example(parsers/rss.cpp "#  include <sys/stat.h>" TRUE)
check_example(parsers/rss.cpp "#include <thread>" TRUE)
check_example(parsers/rss.cpp "#include \"xml.hpp\"" TRUE)
check_example(storage/store.cpp "#include \"worker/log.hpp\"" TRUE)
check_example(storage/store.cpp "#include <boost/asio/post.hpp>" TRUE)
check_example(storage/store.cpp "#include <curl/curl.h>" TRUE)
check_example(storage/store.cpp "#include \"parsers/xml.hpp\"" TRUE)
check_example(storage/store.cpp "  return prefix + \"state:feed:\" + url;" TRUE)
check_example(worker/run.cpp "#include <pugixml.hpp>" TRUE)
check_example(worker/run.cpp "#include <simdjson.h>" TRUE)
check_example(worker/run.cpp "#include <hiredis/hiredis.h>" TRUE)
check_example(worker/run.cpp "#include \"storage/keys.hpp\"" TRUE)
check_example(worker/run.cpp "#include \"parsers/xml.hpp\"" TRUE)
check_example(worker/run.cpp "  const std::string key = url + \":guidmap\"" TRUE)
check_example(parsers/rss.cpp "#include \"parsers/xml.hpp\"" FALSE)
check_example(storage/store.cpp "#include \"storage/keys.hpp\"" FALSE)
check_example(storage/store.cpp "#include \"parsers/feed.hpp\"" FALSE)
check_example(storage/store.cpp "  // \"state:feed:\" is a key" FALSE)
check_example(storage/keys.hpp "join(feed_url, \":guidmap\")" FALSE)
check_example(worker/run.cpp "#include \"storage/store.hpp\"" FALSE)
check_example(worker/run.cpp "#include <boost/asio/post.hpp>" FALSE)

set(wrongs "")
set(looked_at 0)
foreach(layer IN ITEMS parsers storage worker)
  file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/${layer}/*.cpp" "${SOURCE_DIR}/${layer}/*.hpp")
  foreach(file IN LISTS files)
    math(EXPR looked_at "${looked_at} + 1")
    # Only lines that can matter: file(STRINGS) would be slow on all, and list separators would get in the way.
    file(STRINGS "${SOURCE_DIR}/${file}" lines REGEX "#[ \t]*include|${key_names}")
    foreach(line IN LISTS lines)
      look_at("${file}" "${line}" wrong)
      if(wrong)
        string(APPEND wrongs "\n  ${file}: ${wrong}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(looked_at LESS 50)
  message(FATAL_ERROR "layering: found only ${looked_at} files below '${SOURCE_DIR}'")
endif()
if(wrongs)
  message(FATAL_ERROR "layering:${wrongs}")
endif()
