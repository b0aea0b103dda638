#include "engine/kv_layout.h"

#include "base/check.h"

namespace sluice::engine {

std::string_view kv_type_name(KvType type) {
  switch (type) {
    case KvType::kF32:
      return "f32";
    case KvType::kF16:
      return "f16";
    case KvType::kBf16:
      return "bf16";
    case KvType::kInt8:
      return "int8";
    case KvType::kFp8:
      return "fp8";
  }
  SLUICE_CHECK(false && "a KvType outside the enum");
}

std::optional<KvType> kv_type_from_name(std::string_view name) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBf16, KvType::kInt8, KvType::kFp8}) {
    if (name == kv_type_name(type)) return type;
  }
  return std::nullopt;
}

}  // namespace sluice::engine
