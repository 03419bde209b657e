#pragma once

namespace leat {

/// Whether the last items, too few for a full batch, form a smaller batch or are dropped. Dropped
/// items are counted.
enum class batch_remainder { keep, drop };

}  // namespace leat
