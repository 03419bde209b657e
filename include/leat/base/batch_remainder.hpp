#pragma once

namespace leat {

/// The treatment of the last items if they are too few for a full batch: `keep` delivers them as a
/// smaller batch; `drop` drops and counts them.
enum class batch_remainder { keep, drop };

}  // namespace leat
