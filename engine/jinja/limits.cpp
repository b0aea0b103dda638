#include "engine/jinja/limits.h"

#include <string>

namespace sluice::jinja {
namespace {

constexpr size_t kValueOverhead = 64;  // what even an empty value takes

}  // namespace

Status Budget::take_steps(int64_t steps) {
  steps_ += steps;
  if (steps_ <= limits_.steps_max) return {};
  return resource_exhausted("the template takes more than " + std::to_string(limits_.steps_max) + " steps");
}

Status Budget::take_value(size_t bytes) {
  if (bytes > limits_.value_bytes_max) {
    return resource_exhausted("the template builds a value of more than " + std::to_string(limits_.value_bytes_max) +
                              " bytes");
  }
  built_bytes_ += bytes + kValueOverhead;
  if (built_bytes_ > limits_.built_bytes_max) {
    return resource_exhausted("the template builds more than " + std::to_string(limits_.built_bytes_max) + " bytes");
  }
  return take_work(bytes);
}

Status Budget::take_values(size_t count, size_t bytes) {
  const bool is_above = bytes > 0 && count > limits_.value_bytes_max / bytes;
  return take_value(is_above ? limits_.value_bytes_max + 1 : count * bytes);
}

Status Budget::enter() {
  if (depth_ >= limits_.depth_max) {
    return resource_exhausted("the template calls itself more than " + std::to_string(limits_.depth_max) +
                              " levels deep");
  }
  ++depth_;
  return {};
}

}  // namespace sluice::jinja
