# For folders with CUDA sources, which include this: the compiler, and for which devices it makes code.
if(NOT SLUICE_NVCC)
  message(FATAL_ERROR "SLUICE_CUDA needs nvcc, and neither PATH nor /usr/local/cuda/bin has it: install NVIDIA's CUDA toolkit 13, or set SLUICE_NVCC")
endif()
# Machine code for each generation of devices since Ampere, and PTX that a driver makes code of for later ones.
if(NOT DEFINED SLUICE_CUDA_GENERATIONS)
  set(SLUICE_CUDA_GENERATIONS 80-real 89-real 90-real 100)
endif()
set(CMAKE_CUDA_COMPILER ${SLUICE_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${SLUICE_CUDA_GENERATIONS})
enable_language(CUDA)
find_package(CUDAToolkit 13 REQUIRED)
# NCCL's declarations alone: the library is opened at run time. NVIDIA packages it apart from the toolkit.
find_path(SLUICE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT SLUICE_NCCL_INCLUDE)
  message(FATAL_ERROR "SLUICE_CUDA needs nccl.h, and neither ${CUDAToolkit_INCLUDE_DIRS} nor the system has it: install NVIDIA's libnccl-dev, or set SLUICE_NCCL_INCLUDE")
endif()
set(CMAKE_CUDA_STANDARD 20)
# Debian's CMake doesn't know yet that nvcc has C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG")

# 2810: nvcc takes assigning to a [[nodiscard]] type for ignoring the result.
set(SLUICE_CUDA_OPTIONS
  $<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:sluice_options,INTERFACE_COMPILE_OPTIONS>>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -diag-suppress 2810 -Xcompiler -Wall,-Wextra,-ffp-contract=off>")

# Of targets with CUDA sources: clang-tidy reads the commands of a build, and not nvcc's.
set(SLUICE_CUDA_EXPORTS_COMMANDS OFF)
