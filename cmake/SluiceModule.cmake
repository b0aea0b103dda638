# sluice_module(name DEPENDS targets...): one static library from all .cpp files directly in this folder
# (a folder below it is added by its own add_subdirectory), with the module's arrows as its link line.
function(sluice_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(excluded IN LISTS ARG_EXCLUDE)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE sluice_options)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

# sluice_test(name DEPENDS targets... [LABELS labels...] [FIXTURES fixtures...]): one GoogleTest binary from all .cpp files in this folder; its name
# begins the names of its tests.
function(sluice_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS;FIXTURES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} sluice_options GTest::gmock_main)
  target_compile_definitions(${name} PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}."
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 FIXTURES_REQUIRED "${ARG_FIXTURES}")
endfunction()
