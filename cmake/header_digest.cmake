# cmake -DROOT=FOLDER -DHEADERS=FILE;... -DOUTPUT=FILE -P header_digest.cmake: writes a C++ file with header_digest() of engine/cuda/plugin.h. The
# digest is of the headers' paths below ROOT and of what is in them, and of nothing else.
set(lines "")
list(SORT HEADERS)
foreach(header IN LISTS HEADERS)
  file(RELATIVE_PATH path ${ROOT} ${header})
  file(SHA256 ${header} digest)
  string(APPEND lines "${digest} ${path}\n")
endforeach()
string(SHA256 digest "${lines}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUTPUT} "#include \"engine/cuda/plugin.h\"

namespace sluice::engine::cuda {

std::string_view header_digest() {
  return \"${digest}\";
}

}  // namespace sluice::engine::cuda
")
