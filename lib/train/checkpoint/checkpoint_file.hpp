#pragma once

#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/checkpoint/checkpoint_table.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver_options.hpp"

namespace LEAT::detail {

/// All values of a registry at one time.
struct checkpoint_snapshot {
  checkpoint_table table;  // laid out; without checksums
  std::vector<saved_value> values;
};

/// Takes a snapshot now. `copy`: the values may change before it is written.
/// Errors: exceptions of save() of an object; invalid_argument if it is too large for a file.
[[nodiscard]] checkpoint_snapshot take_snapshot(const checkpoint_registry& registry, bool copy);

/// Writes a checkpoint, which appears under its name when it is complete. After an error, a file of
/// this name is unchanged, unless `has_name` was set. `durable`: syncs the file to the device.
/// Errors: system errors.
[[nodiscard]] task<void> write_checkpoint(std::string path, checkpoint_snapshot snapshot,
                                          bool durable, bool& has_name);

/// Returns true if the file is a checkpoint of the same program, and complete according to its
/// header; it does not read the values. Returns nothing if the device cannot read it (EIO).
/// Errors: other system errors.
[[nodiscard]] task<std::optional<bool>> is_checkpoint_of(std::string path,
                                                         const checkpoint_registry& registry);

/// Reads all of a checkpoint of any program. Errors: data_loss and invalid_argument if it is not
/// intact; system errors.
[[nodiscard]] task<void> verify_checkpoint(std::string path);

/// See read_saved_object().
[[nodiscard]] task<std::string> read_object(std::string path, std::string name);

/// The phases of a restore, in order.
enum class restore_phase {
  table,    ///< opens the file and reads its table
  entries,  ///< compares the entries with the registry
  values,   ///< reads the values
  objects,  ///< the objects restore themselves
};

/// Reads a whole checkpoint, and only then assigns its contents to the values of the registry.
/// After an error the values are unchanged, and `phase` is the phase that failed. Returns the names
/// of registered entries that were not restored, as `options` permits. Errors: see
/// saver::restore().
[[nodiscard]] task<std::vector<std::string>> read_checkpoint(std::string path,
                                                             const checkpoint_registry& registry,
                                                             const saver_options& options,
                                                             restore_phase& phase);

}  // namespace LEAT::detail
