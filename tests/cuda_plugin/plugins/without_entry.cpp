// A shared object that exports something else.
extern "C" int sluice_something_else() {
  return 1;
}
