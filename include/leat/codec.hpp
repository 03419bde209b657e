#pragma once

// Pure functions from bytes to values and back: framing, checksums, compression, CSV, Examples,
// events, checkpoints.

#include "leat/codec/checkpoint/checkpoint_state.hpp"
#include "leat/codec/checkpoint/checkpoint_table.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/codec/checksum/epoch_fingerprint.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/decompressor.hpp"
#include "leat/codec/compression/deflater.hpp"
#include "leat/codec/csv/csv_decoder.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/decode_raw.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/codec/event/histogram.hpp"
#include "leat/codec/example/decode_example.hpp"
#include "leat/codec/example/decode_json_example.hpp"
#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_fields.hpp"
#include "leat/codec/example/example_options.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/codec/example/features.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/codec/tfrecord/tfrecord_index.hpp"
