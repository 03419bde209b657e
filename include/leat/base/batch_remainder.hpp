#pragma once

namespace leat {

/// What becomes of the items at the end that do not fill a batch. There is no silent default:
/// dropped ones are counted.
enum class batch_remainder { keep, drop };

}  // namespace leat
