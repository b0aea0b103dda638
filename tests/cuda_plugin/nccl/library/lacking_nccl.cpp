// NCCL of a version without one of the functions.
extern "C" const char* ncclGetErrorString() {
  return "";
}
