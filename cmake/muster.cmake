# How a module, its tests and a program are declared; nothing else in the tree adds targets.

add_library(muster_options INTERFACE)
target_compile_options(muster_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -pthread -fPIC)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(muster_options INTERFACE -Wthread-safety)
endif()
target_include_directories(muster_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(muster_options INTERFACE Threads::Threads)
# Some hundred programs are linked, which takes mold less time than the default linker.
find_program(MUSTER_MOLD mold)
if(MUSTER_MOLD)
  add_link_options(-fuse-ld=mold)
  # mold 1.10 begins the pages that are read-only after relocation with .tbss, also where that lies on the
  # last bytes of the page before them: one program in some hundred then cannot be loaded. Shipped programs
  # keep these pages (hardening.cmake), and each of them is started by the tests of its package. Without
  # separate-code, mold 1.10 then links some programs for ever: where the text ends near a page's end, its
  # layout goes back and forth between two numbers of segments.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    add_link_options(-Wl,-z,norelro -Wl,-z,separate-code)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler cache asks for it where headers are precompiled.
  target_compile_options(muster_options INTERFACE -fpch-preprocess)
  # It warns of types in unnamed namespaces of included files, and a batch includes nothing else.
  target_compile_options(muster_options INTERFACE -Wno-subobject-linkage)
else()
  # Clang would write into precompiled headers when their parts were written.
  target_compile_options(muster_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

if(MUSTER_SYNTAX_ONLY)
  # Nothing is linked: where one target waits for another, an empty file is what it waits for.
  set(CMAKE_CXX_ARCHIVE_CREATE "${CMAKE_COMMAND} -E touch <TARGET>")
  set(CMAKE_CXX_ARCHIVE_FINISH "")
  set(CMAKE_CXX_LINK_EXECUTABLE "${CMAKE_COMMAND} -E touch <TARGET>")
  set(CMAKE_CXX_CREATE_SHARED_LIBRARY "${CMAKE_COMMAND} -E touch <TARGET>")
  add_compile_options($<$<NOT:$<BOOL:$<TARGET_PROPERTY:MUSTER_WRITES_HEADERS>>>:-fsyntax-only>)
endif()

# muster_batches(VARIABLE TARGET [WHOLE|BY_FOLDER] files…)
# Standard headers, and templates that many sources use, take most of the time that a source takes to
# compile, so that sources are compiled several at a time: the variable is set to generated sources which
# include the given ones: up to 12 of one folder; up to 24 whatever their folder where sources are seldom
# compiled again one by one (WHOLE, or everywhere if MUSTER_BATCHES is MODULES); all but tests alone if
# MUSTER_BATCHES is TESTS, which shows whether each includes what it needs. BY_FOLDER: never more than one
# folder. A source with the property MUSTER_ALONE is in no batch. The generated text names no
# directory of this machine, and so the compiler cache knows it again in another clone. A source with
# properties of its own stays alone. Names in unnamed namespaces must differ within a module; those of a
# test are in a namespace of its name.
function(muster_batches variable target)
  cmake_parse_arguments(ARG "WHOLE;BY_FOLDER" "" "" ${ARGN})
  set(result)
  set(groups)
  set(most 12)
  if(ARG_WHOLE OR (MUSTER_BATCHES STREQUAL "MODULES" AND NOT ARG_BY_FOLDER))
    set(most 24)
    set(ARG_WHOLE ON)
  endif()
  foreach(source ${ARG_UNPARSED_ARGUMENTS})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    get_source_file_property(own ${source} COMPILE_DEFINITIONS)
    get_source_file_property(alone ${source} MUSTER_ALONE)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} generated)
    if(own OR alone OR generated OR (MUSTER_BATCHES STREQUAL "TESTS" AND NOT ARG_WHOLE))
      list(APPEND result ${source})
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(group all)
    if(NOT ARG_WHOLE)
      cmake_path(GET source PARENT_PATH group)
      string(MAKE_C_IDENTIFIER ${group} group)
    endif()
    list(APPEND groups ${group})
    list(APPEND in_${group} ${source})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    set(sources ${in_${group}})
    list(LENGTH sources count)
    # Batches of one size: 13 files are seven and six, not twelve and one.
    math(EXPR batches "(${count} + ${most} - 1) / ${most}")
    math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
    math(EXPR last "${count} - 1")
    foreach(first RANGE 0 ${last} ${size})
      list(SUBLIST sources ${first} ${size} batch)
      list(TRANSFORM batch PREPEND "#include \"")
      list(TRANSFORM batch APPEND "\"\n")
      string(CONCAT text ${batch})
      set(file ${PROJECT_BINARY_DIR}/batches/${target}/${group}_${first}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      list(APPEND result ${file})
    endforeach()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

# muster_precompiled(TARGET NAME): the target is compiled with headers that take longer to read than
# most of our sources, and are read once: NAME is `library`, or `test` with GoogleTest's and gRPC's. A
# source includes what it needs all the same, which tools/check/includes.py sees to. The compiler takes
# such headers only with the options that they were made with, hence those in muster_options.
set(precompiled_library <algorithm> <chrono> <condition_variable> <filesystem> <fstream> <functional>
  <map> <memory> <mutex> <nlohmann/json.hpp> <set> <sstream> <string> <thread> <variant> <vector>)
set(precompiled_test ${precompiled_library} <gmock/gmock.h> <grpcpp/grpcpp.h> <gtest/gtest.h>)
function(muster_precompiled target name)
  if(NOT TARGET muster_precompiled_${name})
    set(source ${PROJECT_BINARY_DIR}/batches/precompiled_${name}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(muster_precompiled_${name} OBJECT ${source})
    target_link_libraries(muster_precompiled_${name} PRIVATE muster_${name}_options)
    target_precompile_headers(muster_precompiled_${name} PRIVATE ${precompiled_${name}})
    set_target_properties(muster_precompiled_${name} PROPERTIES MUSTER_WRITES_HEADERS ON)
  endif()
  target_precompile_headers(${target} REUSE_FROM muster_precompiled_${name})
endfunction()
add_library(muster_library_options ALIAS muster_options)
add_library(muster_test_options INTERFACE)
target_link_libraries(muster_test_options INTERFACE muster_options GTest::gmock)
target_compile_options(muster_test_options INTERFACE ${MUSTER_TEST_OPTIONS})

# tests_LABEL builds the tests that carry the label: a sanitizer run builds no more than it runs.
foreach(label unit sim store tsan)
  add_custom_target(tests_${label})
endforeach()

# muster_module(NAME [BY_FOLDER] DEPS modules… LINK libraries…)
# A static library of src/NAME/**.cc, and test_NAME of src/NAME/**_test.cc.
# Tests may use TEST_DEPS on top.
function(muster_module name)
  cmake_parse_arguments(ARG "BY_FOLDER" "" "DEPS;LINK;TEST_DEPS;LABELS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_main\\.cc$|/main\\.cc$|_fuzz\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(ARG_BY_FOLDER)
    list(PREPEND sources BY_FOLDER)
  endif()
  muster_batches(batches muster_${name} ${sources})
  add_library(muster_${name} STATIC ${batches})
  # Batches name their sources from the root of the tree.
  target_include_directories(muster_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  list(TRANSFORM ARG_DEPS PREPEND muster_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND muster_)
  # Our warnings are for us: who uses the installed library does not get them.
  target_link_libraries(muster_${name} PUBLIC $<BUILD_INTERFACE:muster_options> Threads::Threads
    ${ARG_DEPS} ${ARG_LINK})
  muster_precompiled(muster_${name} library)
  # Outside they are <muster/client/…>, so that no other project's client/ is in the way.
  target_include_directories(muster_${name} INTERFACE $<INSTALL_INTERFACE:include>)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.h)
  muster_lone_headers(${name} HEADERS ${headers} LINK ${ARG_TEST_DEPS})
  set(test_headers ${headers})
  list(FILTER test_headers INCLUDE REGEX "_test_|/testing")
  list(FILTER headers EXCLUDE REGEX "_test_|/testing")
  target_sources(muster_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers}
    FILE_SET test_headers TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${test_headers})
  if(MUSTER_TESTS AND tests)
    muster_test(test_${name} SOURCES ${tests} DEPS ${name} LINK ${ARG_TEST_DEPS}
      LABELS unit ${ARG_LABELS})
  endif()
  file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*_fuzz.cc)
  if(MUSTER_FUZZ)
    foreach(source ${fuzzers})
      get_filename_component(fuzzer ${source} NAME_WE)
      add_executable(${fuzzer} ${source})
      target_link_libraries(${fuzzer} PRIVATE muster_${name})
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

# muster_lone_headers(MODULE HEADERS files… LINK libraries…)
# Every header must compile alone. One with a source of its own is the first include of that source
# (tools/check/includes.py sees to it), and sources are compiled alone where MUSTER_BATCHES is TESTS;
# there, the others are compiled as lone_headers_MODULE.
add_custom_target(lone_headers)
function(muster_lone_headers module)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  if(NOT MUSTER_BATCHES STREQUAL "TESTS")
    return()
  endif()
  set(sources)
  foreach(header ${ARG_HEADERS})
    cmake_path(REMOVE_EXTENSION header LAST_ONLY OUTPUT_VARIABLE stem)
    if(NOT EXISTS ${stem}.cc)
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src)
      file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/lone/${header}.cc CONTENT "#include \"${header}\"\n")
      list(APPEND sources ${PROJECT_BINARY_DIR}/lone/${header}.cc)
    endif()
  endforeach()
  if(sources)
    add_library(lone_headers_${module} OBJECT ${sources})
    target_link_libraries(lone_headers_${module} PRIVATE muster_${module} ${ARG_LINK})
    target_include_directories(lone_headers_${module} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(lone_headers_${module} PRIVATE
      $<TARGET_PROPERTY:muster_${module},COMPILE_DEFINITIONS>)
    add_dependencies(lone_headers lone_headers_${module})
  endif()
endfunction()

# muster_test(NAME [ROOM] SOURCES files… DEPS modules… LABELS labels… ARGS arguments…)
# ROOM: of the tests with this word two at most run at once, because they start many processes.
function(muster_test name)
  cmake_parse_arguments(ARG "ROOM" "TIMEOUT" "SOURCES;DEPS;LINK;LABELS;ARGS" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND muster_)
  muster_batches(batches ${name} WHOLE ${ARG_SOURCES})
  add_executable(${name} ${batches})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE muster_test_options ${ARG_DEPS} ${ARG_LINK} GTest::gtest_main)
  muster_precompiled(${name} test)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  math(EXPR timeout "${ARG_TIMEOUT} * ${MUSTER_TIMEOUT_FACTOR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout})
  if(ARG_ROOM)
    set_tests_properties(${name} PROPERTIES PROCESSORS 3)
  endif()
  foreach(label ${ARG_LABELS})
    if(TARGET tests_${label})
      add_dependencies(tests_${label} ${name})
    endif()
  endforeach()
endfunction()

# muster_program(NAME [TEST] SOURCES files… DEPS modules… LINK libraries…)
# TEST: with the options and the headers of tests.
function(muster_program name)
  cmake_parse_arguments(ARG "TEST" "" "SOURCES;DEPS;LINK" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND muster_)
  set(whole)
  if(ARG_TEST)
    set(whole WHOLE)
  endif()
  muster_batches(batches ${name} ${whole} ${ARG_SOURCES})
  add_executable(${name} ${batches})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(ARG_TEST)
    target_link_libraries(${name} PRIVATE muster_test_options ${ARG_DEPS} ${ARG_LINK})
    muster_precompiled(${name} test)
  else()
    target_link_libraries(${name} PRIVATE muster_options ${ARG_DEPS} ${ARG_LINK})
    muster_precompiled(${name} library)
  endif()
endfunction()

# muster_planted(PROGRAM MUTANTS files… SOURCES files… DEPS libraries…)
# The program with copies of some sources in which something is planted. The originals are in the
# libraries, too, and the linker takes the first of two definitions, which is the planted one.
# For this to hold between functions of one source, code must call through symbols that a linker may
# still choose, which is what position-independent code does.
function(muster_planted program)
  cmake_parse_arguments(ARG "" "" "MUTANTS;SOURCES;DEPS" ${ARGN})
  set(plant ${PROJECT_SOURCE_DIR}/tests/mutants/plant.py)
  set(copies ${CMAKE_CURRENT_BINARY_DIR}/${program}.cc)
  set(originals)
  foreach(mutant ${ARG_MUTANTS})
    file(STRINGS ${mutant} file REGEX "^file: " LIMIT_COUNT 1)
    string(REPLACE "file: " "" file ${file})
    list(APPEND originals ${PROJECT_SOURCE_DIR}/${file})
  endforeach()
  add_custom_command(OUTPUT ${copies}
    COMMAND python3 ${plant} ${PROJECT_SOURCE_DIR} ${copies} ${ARG_MUTANTS}
    DEPENDS ${ARG_MUTANTS} ${plant} ${originals}
    COMMENT "Planting what ${program} has in it")
  add_executable(${program} ${copies} ${ARG_SOURCES})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE ${ARG_DEPS})
  # Asked for in one source before its first include, which comes too late after others.
  target_compile_definitions(${program} PRIVATE OPENSSL_SUPPRESS_DEPRECATED=)
  muster_precompiled(${program} library)
  target_link_options(${program} PRIVATE -Wl,-z,muldefs)
endfunction()
