# A ctest entry for each suite of a program of tests, and several for a large one, so that it runs on all processors. A
# process for each test costs as much as most of these tests, and each would start a redis-server of its own.
#
#   feedmill_add_suites(PROGRAM [EXCEPT GTEST_PATTERN] [EACH NUMBER] SECONDS NUMBER [COST NUMBER])
#
# An entry is FOLDER.SUITE, or FOLDER.SUITE.1, .2 … of at most EACH tests (16). SECONDS: the time limit of one test, which
# tests/support/test_main.cpp enforces; an entry has as much for each of its tests. COST: ctest begins with the highest.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(feedmill_add_suites program)
    cmake_parse_arguments(PARSE_ARGV 1 suites "" "EXCEPT;EACH;SECONDS;COST" "")
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
      -D PROGRAM=$<TARGET_FILE:${program}> -D FOLDER=${folder} -D EXCEPT=${suites_EXCEPT} -D EACH=${suites_EACH}
      -D SECONDS=${suites_SECONDS} -D COST=${suites_COST} -D FILE=${file} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    # Named but not built, it must not pass for a program without tests.
    file(WRITE ${file}.in "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n"
      "  add_test(${folder}.${program}_NOT_BUILT ${program}_NOT_BUILT)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file}.in)
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)
if(EXCEPT)
  string(PREPEND EXCEPT "-")
endif()
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=*${EXCEPT} OUTPUT_VARIABLE listed TIMEOUT 60
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " +#[^\n]*" "" listed "${listed}")  # values of parameters, which may hold anything
string(REGEX MATCHALL "[^\n]+" lines "${listed}")
set(suites "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite "${CMAKE_MATCH_1}")
    list(APPEND suites "${suite}")
    set("tests_of_${suite}" 0)
  elseif(line MATCHES "^  [^ ]+$")
    math(EXPR "tests_of_${suite}" "${tests_of_${suite}} + 1")
  else()
    message(FATAL_ERROR "${PROGRAM} lists: ${line}")
  endif()
endforeach()

set(script "")
function(add_entry name suite tests environment)
  math(EXPR patience "${tests} * ${SECONDS}")
  string(APPEND script
    "add_test([=[${FOLDER}.${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*${EXCEPT}]=])\n"
    "set_tests_properties([=[${FOLDER}.${name}]=] PROPERTIES TIMEOUT ${patience} SKIP_RETURN_CODE 77 COST ${COST}\n"
    "  ENVIRONMENT [=[SECONDS_PER_TEST=${SECONDS};${environment}]=])\n")
  set(script "${script}" PARENT_SCOPE)
endfunction()
foreach(suite IN LISTS suites)
  set(tests "${tests_of_${suite}}")
  math(EXPR parts "(${tests} + ${EACH} - 1) / ${EACH}")
  if(parts LESS 2)
    add_entry("${suite}" "${suite}" ${tests} "")
    continue()
  endif()
  foreach(part RANGE 1 ${parts})
    math(EXPR index "${part} - 1")
    add_entry("${suite}.${part}" "${suite}" ${EACH} "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
  endforeach()
endforeach()
file(WRITE ${FILE} "${script}")
