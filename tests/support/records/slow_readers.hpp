#pragma once

// Reference readers for comparison. Each one reads its format by the definition, from bytes that
// are complete in memory.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "support/records/slow_csv.hpp"

namespace leat_test {

/// The result of reading a file: the records with their positions, and the error at the end, if
/// any.
struct read_outcome {
  std::vector<std::string> records;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> indices;
  std::string error;  ///< of a slow reader: only where it is, "record 3 at offset 48:"
  leat::reader_statistics statistics;  ///< at the end
  std::uint64_t end = 0;               ///< the reader's place there
  std::uint64_t end_index = 0;

  void add(std::string_view record, std::uint64_t offset, std::uint64_t index) {
    records.emplace_back(record);
    offsets.push_back(offset);
    indices.push_back(index);
  }

  [[nodiscard]] bool same_records(const read_outcome& other) const {
    return records == other.records && offsets == other.offsets && indices == other.indices;
  }
};

/// Returns the difference between the result of a reader and of a reference reader, or an empty
/// string.
inline std::string difference(const read_outcome& found, const read_outcome& expected) {
  if (!found.same_records(expected)) return "other records; " + found.error;
  if (found.error.empty() != expected.error.empty()) return "error: '" + found.error + "'";
  const bool right_place = found.error.find(", " + expected.error) != std::string::npos;
  if (expected.error.empty() || right_place) return {};
  return found.error + ", not " + expected.error;
}

/// Reads a file with a reader until its end or an error.
template <class Reader>
leat::task<read_outcome> read_outcome_of(std::string path, typename Reader::options_type options) {
  read_outcome o;
  try {
    auto reader = co_await Reader::open(std::move(path), std::move(options));
    typename Reader::batch_type batch;
    for (bool more = true; more;) {
      more = co_await reader->read_batch(batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const leat::record_position at = batch.position(i);
        o.add({reinterpret_cast<const char*>(batch[i].data()), batch[i].size()}, at.offset,
              at.index);
      }
    }
    o.statistics = reader->statistics();
    o.end = reader->position().offset;
    o.end_index = reader->position().index;
  } catch (const leat::failure& e) {
    o.error = e.what();
  }
  co_return o;
}

// `whole` is false if the bytes are the part of a compressed file that precedes damage. The
// reference readers then report an error instead of an incomplete last record.

inline std::string error_at(const std::string& record, std::uint64_t offset) {
  return record + " at offset " + std::to_string(offset) + ":";
}

/// Whether the masked checksum of the first `count` bytes follows them.
inline bool checksum_follows(std::string_view bytes, std::size_t count) {
  return leat::mask_crc32c(leat::crc32c(leat::as_bytes(bytes.substr(0, count)))) ==
         leat::load_little_endian<std::uint32_t>(leat::as_bytes(bytes.substr(count)).data());
}

/// Returns the length from the header at the front, or nothing if the header is short or damaged.
inline std::optional<std::uint64_t> tfrecord_length_in_front(std::string_view bytes) {
  if (bytes.size() < leat::tfrecord_header_size || !checksum_follows(bytes, 8)) return std::nullopt;
  return leat::load_little_endian<std::uint64_t>(leat::as_bytes(bytes).data());
}

/// Returns the payload of the record at the front, or nothing if the record is short or damaged.
inline std::optional<std::string_view> tfrecord_in_front(std::string_view bytes) {
  const auto size = tfrecord_length_in_front(bytes);
  if (!size || bytes.size() < leat::tfrecord_overhead) return std::nullopt;
  if (*size > bytes.size() - leat::tfrecord_overhead) return std::nullopt;
  const std::string_view rest = bytes.substr(leat::tfrecord_header_size);
  if (!checksum_follows(rest, *size)) return std::nullopt;
  return rest.substr(0, *size);
}

inline read_outcome slow_tfrecords(std::string_view bytes, bool whole = true) {
  read_outcome o;
  std::size_t at = 0;
  while (const auto payload = tfrecord_in_front(bytes.substr(at))) {
    o.add(*payload, at, o.records.size());
    at += payload->size() + leat::tfrecord_overhead;
  }
  if (at < bytes.size() || !whole) {
    o.error = error_at("record " + std::to_string(o.records.size()), at);
  }
  return o;
}

/// Damage that resync skips, as leat::corruption_policy defines it.
struct left_out {
  std::uint64_t offset = 0;
  std::uint64_t index = 0;
  std::uint64_t skipped = 0;
  friend bool operator==(const left_out&, const left_out&) = default;
};

/// Returns the records that resync reads from a file, in order. It does not model damage at the end
/// of compressed data.
inline read_outcome slow_resync(std::string_view bytes, std::uint64_t max_record_size,
                                std::vector<left_out>& reports) {
  const auto record_at = [&](std::size_t at) {
    const auto payload = tfrecord_in_front(bytes.substr(at));
    return payload && payload->size() <= max_record_size ? payload : std::nullopt;
  };
  const auto behind_damage_at = [&](std::size_t at) {
    const std::uint64_t left = bytes.size() - at;
    const auto length = tfrecord_length_in_front(bytes.substr(at));
    if (length && left >= leat::tfrecord_overhead && *length <= left - leat::tfrecord_overhead) {
      const auto end = at + static_cast<std::size_t>(*length) + leat::tfrecord_overhead;
      if (end == bytes.size() || tfrecord_length_in_front(bytes.substr(end))) return end;
    }
    for (++at; at < bytes.size() && !record_at(at);) ++at;
    return at;
  };
  read_outcome o;
  std::uint64_t index = 0;
  for (std::size_t at = 0; at < bytes.size(); ++index) {
    if (const auto payload = record_at(at)) {
      o.add(*payload, at, index);
      at += payload->size() + leat::tfrecord_overhead;
    } else {
      const std::size_t next = behind_damage_at(at);
      reports.push_back({at, index, next - at});
      at = next;
    }
  }
  return o;
}

inline read_outcome slow_lines(std::string_view bytes, std::uint64_t skip, bool whole = true) {
  read_outcome o;
  std::size_t at = 0;
  std::uint64_t index = 0;
  for (; at < bytes.size(); ++index) {
    const std::size_t end = bytes.find('\n', at);
    if (end == std::string_view::npos && !whole) break;
    std::string_view line = bytes.substr(at, std::min(end, bytes.size()) - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (index >= skip) o.add(line, at, index);
    at = end == std::string_view::npos ? bytes.size() : end + 1;
  }
  if (!whole) o.error = error_at("line " + std::to_string(index + 1), at);
  return o;
}

/// Reads records until the first corrupt one or, with another policy than `fail`, all intact ones.
inline read_outcome slow_csv(std::string_view bytes, const leat::csv_reader_options& options,
                             std::vector<left_out>& reports, bool whole = true) {
  read_outcome o;
  std::uint64_t index = 0;
  std::size_t at = bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  const bool is_utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
  for (; at < bytes.size(); ++index) {
    const std::string_view rest = bytes.substr(at);
    const csv_row row = first_csv_row(rest, options.delimiter, options.quotes);
    // Bytes after the rest could close its quotes, or continue the line end.
    const std::size_t known = row.is_malformed ? end_of_first_line(rest) : row.next;
    const bool is_open = row.is_malformed && row.seen == rest.size();
    if (!whole && (is_open || (known == rest.size() && rest.back() != '\n'))) break;
    const bool too_long =
        (row.is_malformed ? row.seen : row.end) > options.max_record_size || is_utf16;
    if ((row.is_malformed && index >= options.skip_header_records) || too_long) {
      if (options.corruption.policy == leat::corruption_policy::fail) {
        o.error = error_at("record " + std::to_string(index), at);
        return o;
      }
      const bool whole_file =
          is_utf16 || options.corruption.policy == leat::corruption_policy::skip_file;
      const std::size_t size = whole_file ? rest.size() : 1 + after_first_line(rest.substr(1));
      reports.push_back({at, index, size});
      at += size;
      continue;
    }
    if (row.is_malformed) {
      at += end_of_first_line(rest);
      continue;
    }
    at += row.next;
    if (row.end == 0 && options.skip_blank_lines) {
      --index;
    } else if (index >= options.skip_header_records) {
      o.add(rest.substr(0, row.end), at - row.next, index);
    }
  }
  if (!whole) o.error = error_at("record " + std::to_string(index), at);
  return o;
}

inline read_outcome slow_fixed_lengths(std::string_view bytes,
                                       const leat::fixed_length_reader_options& options,
                                       bool whole = true) {
  read_outcome o;
  std::size_t at = options.header_size;
  const std::size_t hop = options.hop_size == 0 ? options.record_size : options.hop_size;
  for (; at + options.record_size + options.footer_size <= bytes.size(); at += hop) {
    o.add(bytes.substr(at, options.record_size), at, o.records.size());
  }
  if (!whole || bytes.size() < options.header_size) {
    o.error = error_at("record " + std::to_string(o.records.size()), at);
  }
  return o;
}

inline read_outcome slow_whole_file(std::string_view bytes, bool whole = true) {
  read_outcome o;
  if (whole) o.add(bytes, 0, 0);
  if (!whole) o.error = error_at("the whole file", 0);
  return o;
}

}  // namespace leat_test
