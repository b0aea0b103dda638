# Warnings, sanitizers and ccache for our own code. Generated code and libraries are not held to the warnings.

add_library(sluice_options INTERFACE)
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wconversion -Werror -fno-omit-frame-pointer)
# One result whatever the compiler version: a multiply and an add are fused only where a kernel says so.
target_compile_options(sluice_options INTERFACE -ffp-contract=off)
target_include_directories(sluice_options INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(sluice_options INTERFACE Threads::Threads)

set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers for the whole build: address,undefined or thread")
if(SLUICE_SANITIZE)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
  # Debug builds of numeric code are unusably slow at -O0; -O1 keeps every check.
  add_compile_options(-O1)
  # The instrumented code hides from g++ what has been set, so it warns of members of a variant that is plainly full.
  target_compile_options(sluice_options INTERFACE -Wno-maybe-uninitialized)
endif()

# Line tables are what a profile or a sanitizer's report needs; full debug information makes a third of the build's time.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
if(SLUICE_SANITIZE STREQUAL "thread")
  set(CMAKE_CXX_FLAGS_DEBUG "-g1")
endif()

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  # Depend mode takes the includes from the compiler instead of preprocessing every file once more.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${SLUICE_CCACHE})
endif()
