#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The treatment of the last items if they are too few for a full batch: `keep` delivers them as a
/// smaller batch; `drop` drops and counts them.
enum class batch_remainder { keep, drop };

}  // namespace LEAT
