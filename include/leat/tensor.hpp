#pragma once

// Values in shapes: tensors, tuples and batches of them; DLPack and Arrow.

#include "leat/tensor/arrow.hpp"
#include "leat/tensor/batch_spec.hpp"
#include "leat/tensor/column_batch.hpp"
#include "leat/tensor/dlpack.hpp"
#include "leat/tensor/dtype.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/ragged_tensor.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/sparse_tensor.hpp"
#include "leat/tensor/stacking.hpp"
#include "leat/tensor/string_values.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"
