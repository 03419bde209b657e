#pragma once

#include <array>
#include <cstdint>

#include <leat/leat.hpp>

#include "support/training_example.hpp"

namespace bench {

/// A parsed Example of the pipeline workloads. It has a fixed size and allocates no memory.
struct training_element {
  std::int64_t label = 0;
  std::array<float, training_example::features> features = {};
  std::array<char, training_example::image_size> image = {};
};

inline leat::example_fields<training_element> training_fields() {
  using e = training_element;
  return leat::example_fields<e>({leat::required_field<&e::label>("label"),
                                  leat::required_field<&e::features>("features"),
                                  leat::required_field<&e::image>("image")});
}

}  // namespace bench
