# A ctest entry for each suite of a program of tests, and several for a large one, so that it runs on all processors. A
# process for each test costs as much as most of these tests, and each would start a redis-server of its own.
#
#   feedmill_add_suites(PROGRAM [FULL GTEST_PATTERN] [LABEL NAME] [EACH NUMBER] SECONDS NUMBER [COST NUMBER])
#
# An entry is FOLDER.SUITE, or FOLDER.SUITE.1, .2 … of at most EACH tests (16). FULL: tests that only scripts/test --full
# runs, in entries FOLDER.full.SUITE… with the label "full". LABEL: of all other entries; a program with one is built
# only when named. SECONDS: the time limit of one test, which tests/support/test_main.cpp enforces; an entry has as much
# for each of its tests. COST: ctest begins with the highest.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(feedmill_add_suites program)
    cmake_parse_arguments(PARSE_ARGV 1 suites "" "FULL;LABEL;EACH;SECONDS;COST" "")
    if(NOT suites_EACH)
      set(suites_EACH 16)
    endif()
    if(NOT suites_COST)
      set(suites_COST 0)
    endif()
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
    target_link_libraries(${program} PRIVATE feedmill_test_main)
    set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${file} VERBATIM COMMAND ${CMAKE_COMMAND}
      -D PROGRAM=$<TARGET_FILE:${program}> -D FOLDER=${folder} -D FULL=${suites_FULL} -D LABEL=${suites_LABEL} -D EACH=${suites_EACH}
      -D SECONDS=${suites_SECONDS} -D COST=${suites_COST} -D FILE=${file} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    # Named but not built, it must not pass for a program without tests.
    set(not_built ${folder}.${program}_NOT_BUILT)
    file(WRITE ${file}.in "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n"
      "  add_test(${not_built} ${not_built})\n  set_tests_properties(${not_built} PROPERTIES LABELS \"${suites_LABEL}\")\n"
      "endif()\n")
    if(suites_LABEL)
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file}.in)
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)
set(script "")
function(add_entry name filter tests label environment)
  math(EXPR patience "${tests} * ${SECONDS}")
  string(APPEND script
    "add_test([=[${FOLDER}.${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${filter}]=])\n"
    "set_tests_properties([=[${FOLDER}.${name}]=] PROPERTIES TIMEOUT ${patience} SKIP_RETURN_CODE 77 COST ${COST}\n"
    "  LABELS [=[${label}]=] ENVIRONMENT [=[SECONDS_PER_TEST=${SECONDS};${environment}]=])\n")
  set(script "${script}" PARENT_SCOPE)
endfunction()

# Entries for the tests that `pattern` selects, less those of `without`.
function(add_entries prefix pattern without label)
  if(without)
    string(PREPEND without "-")
  endif()
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${pattern}${without} OUTPUT_VARIABLE listed
    TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE " +#[^\n]*" "" listed "${listed}")  # values of parameters, which may hold anything
  string(REGEX MATCHALL "[^\n]+" lines "${listed}")
  set(suites "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([^ ]+)\\.$")
      set(suite "${CMAKE_MATCH_1}")
      list(APPEND suites "${suite}")
      set(names_of_${suite} "")
    elseif(line MATCHES "^  ([^ ]+)$")
      list(APPEND "names_of_${suite}" "${CMAKE_MATCH_1}")
    else()
      message(FATAL_ERROR "${PROGRAM} lists: ${line}")
    endif()
  endforeach()
  foreach(suite IN LISTS suites)
    list(LENGTH "names_of_${suite}" tests)
    set(filter "${suite}.*${without}")
    if(prefix)
      list(TRANSFORM "names_of_${suite}" PREPEND "${suite}.")
      list(JOIN "names_of_${suite}" ":" filter)
    endif()
    math(EXPR parts "(${tests} + ${EACH} - 1) / ${EACH}")
    if(parts LESS 2)
      add_entry("${prefix}${suite}" "${filter}" ${tests} "${label}" "")
      continue()
    endif()
    foreach(part RANGE 1 ${parts})
      math(EXPR index "${part} - 1")
      add_entry("${prefix}${suite}.${part}" "${filter}" ${EACH} "${label}"
        "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
    endforeach()
  endforeach()
  set(script "${script}" PARENT_SCOPE)
endfunction()

add_entries("" "*" "${FULL}" "${LABEL}")
if(FULL)
  add_entries("full." "${FULL}" "" full)
endif()
file(WRITE ${FILE} "${script}")
