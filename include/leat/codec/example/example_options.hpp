#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT {

/// Options of reading a tf.train.Example or a tf.train.SequenceExample.
struct example_options {
  /// If true, a record with a name that is not UTF-8 is an error, as in protobuf. If false, the
  /// names of features and feature lists may be any bytes, as in TensorFlow's parsers.
  bool check_utf8 = true;
};

}  // namespace LEAT
