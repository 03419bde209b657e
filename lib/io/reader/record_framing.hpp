#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/io/reader/detail/range_checksums.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/io/stream/detail/framing_types.hpp"
#include "leat/io/stream/internal/decompressed_stream.hpp"

namespace LEAT::detail {

/// How records lie in a stream of bytes, for basic_record_reader. The views that find()
/// appends refer to its input.
///
///   headroom          bytes of a record that are usually carried over to the next chunk
///   frame             bytes of a record before its data
///   search_finds_end  true if search() finds the end of a corrupt record itself
///   overlap           bytes at the end of a search to be searched again with those that follow
///   F(options, path)  throws invalid_argument, with the path, for an option out of range
///   stream()          the best options to read a file
///   first_record()    bytes before the first record
///   find()            appends the complete records at the beginning of the input
///   search()          the offset at which the next record can begin; empty if there is none
///   position_text()   "record 3", for messages
///   key()             "a.tfrecord:48", as TensorFlow's readers write it
template <class F>
concept record_framing =
    (std::same_as<typename F::view, byte_view> ||
     std::same_as<typename F::view, std::string_view>) &&
    requires(const typename F::options& options) {
      { options.corruption } -> std::convertible_to<const corruption_options&>;
      { F::name } -> std::convertible_to<std::string_view>;
      { F::is_one_record_per_file } -> std::convertible_to<bool>;
      { F::search_finds_end } -> std::convertible_to<bool>;
      { F::headroom } -> std::convertible_to<std::size_t>;
      { F::frame } -> std::convertible_to<std::size_t>;
      { F::overlap } -> std::convertible_to<std::size_t>;
    } && std::constructible_from<F, const typename F::options&, std::string_view> &&
    requires(const F& framing, const file_status& status, const framing_input& input,
             std::vector<typename F::view>& records, byte_view bytes, std::uint64_t index,
             const record_position& position) {
      { framing.stream(status) } -> std::same_as<decompressed_stream_options>;
      { framing.first_record() } -> std::same_as<std::uint64_t>;
      { framing.find(input, records) } -> std::same_as<framing_result>;
      { framing.search(bytes) } -> std::same_as<std::optional<std::size_t>>;
      { F::position_text(index) } -> std::same_as<std::string>;
      { F::key(position) } -> std::same_as<std::string>;
    };

/// A framing in which a corrupt header can state a wrong end of its record.
///
///   record_start_size  bytes that starts_record() needs
///   starts_record()    true if a record can begin with these bytes
template <class F>
concept framing_with_record_start = record_framing<F> && requires(byte_view bytes) {
  { F::record_start_size } -> std::convertible_to<std::size_t>;
  { F::starts_record(bytes) } -> std::same_as<bool>;
};

/// A framing whose search() finds only candidates, which may lie within a corrupt record.
///
///   contradicts()         why no record begins at these bytes, whatever follows; empty if one may
///   exceeds_limit()       true if a record that began here would be too long to be delivered
///   declared_size()       its size, if it is too long to be kept in memory for a check
///   verify_out_of_band()  like contradicts() for such a record, by reading it without changing
///                         the view
///   make_corruption()     the corruption of such a record
///   leading_record()      the first record alone; empty if it is not complete
template <class F>
concept framing_with_candidates =
    framing_with_record_start<F> &&
    requires(const F& framing, range_checksums& checksums, byte_view bytes, std::uint64_t number,
             decompressed_stream& stream, std::source_location where,
             const checksum_mismatch& wrong) {
      {
        framing.contradicts(checksums, bytes, number)
      } -> std::same_as<std::optional<checksum_mismatch>>;
      { framing.exceeds_limit(bytes) } -> std::same_as<bool>;
      { framing.declared_size(bytes, number) } -> std::same_as<std::optional<std::uint64_t>>;
      {
        F::verify_out_of_band(stream, checksums, number, number, where)
      } -> std::same_as<task<std::optional<checksum_mismatch>>>;
      { F::make_corruption(number, wrong) } -> std::same_as<record_corruption>;
      { F::leading_record(bytes) } -> std::same_as<byte_view>;
    };

/// Whether a framing has some members of an optional concept but not all: the reader would
/// silently do without them.
template <class F>
inline constexpr bool is_incomplete_framing =
    (requires { F::record_start_size; } && !framing_with_record_start<F>) ||
    (requires { &F::contradicts; } && !framing_with_candidates<F>);

}  // namespace LEAT::detail
