#include "leat/io/index/tfrecord_index_file.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/internal/error_text.hpp"
#include "io/file/open_file_cache.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/io/file/internal/atomic_file.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/stream/detail/read_ahead.hpp"

namespace LEAT {
namespace {

// ---------------------------------------------------------------------------------------- building

// If records are larger than this on average, their headers are read one by one; otherwise the
// whole file is read. The constant is the cost of a read in bytes, measured on a device of 54 us
// and 1 GB/s.
constexpr std::uint64_t large_if_cached = std::uint64_t{8} << 10;
constexpr std::uint64_t large_if_not = std::uint64_t{128} << 10;
// Size of a read for one header: it costs no more than fewer bytes.
constexpr std::size_t page_size = 4096;
// A record larger than this is always skipped.
constexpr std::uint64_t min_seek_distance = std::uint64_t{1} << 20;

[[noreturn]] void throw_shrunk_file(const file& f) {
  throw failure(errc::data_loss, f.path() + ": file became shorter while it was read");
}

// Finds the records of a file by their headers. The offset of the next header is
// index_.end_offset(): add() of the builder is the only progress. Each step reads one header or the
// next chunk, whichever the mean size of the last records makes cheaper; the first step, before any
// size is known, reads a header.
class header_scan {
 public:
  header_scan(file& f, const std::source_location& where)
      : file_(f), where_(where), size_(f.status().size), ahead_(f, {}, tfrecord_header_size) {}

  task<tfrecord_index_builder> run() {
    while (next_offset() < size_) {
      const std::uint64_t large = cached_ ? large_if_cached : large_if_not;
      if (mean_size_ > large) {
        co_await read_header();
      } else {
        co_await read_chunk();
      }
      if (detail::is_turn_over()) co_await detail::yield_turn();
    }
    co_return std::move(index_);
  }

 private:
  [[nodiscard]] std::uint64_t next_offset() const noexcept { return index_.end_offset(); }

  // Reads one header, and other headers in the same page.
  task<void> read_header() {
    const std::uint64_t rest_of_page = page_size - next_offset() % page_size;
    page_.resize(static_cast<std::size_t>(std::min(
        std::max<std::uint64_t>(rest_of_page, tfrecord_header_size), size_ - next_offset())));
    file_request now;
    now.handle = file_.open_handle()->number;
    now.data = page_.data();
    now.size = page_.size();
    now.offset = next_offset();
    cached_ = file_.open_handle()->backend.try_complete(now) &&
              now.result == static_cast<std::int64_t>(page_.size());
    if (!cached_) {
      const std::size_t got = co_await file_.read_at(next_offset(), page_, where_);
      if (got < page_.size()) throw_shrunk_file(file_);
    }
    add_records(page_);
  }

  // Reads the next chunk.
  task<void> read_chunk() {
    const detail::stream_window& view = ahead_.view();
    // read_header() may have moved on without the view.
    if (next_offset() < view.offset() || next_offset() > view.end() + min_seek_distance)
      ahead_.seek(next_offset());
    // A large record may continue after the view; then chunks without a header pass by.
    const std::uint64_t carried = view.end() - std::min(next_offset(), view.end());
    co_await ahead_.advance(static_cast<std::size_t>(carried), where_);
    if (next_offset() >= view.end()) co_return;
    const auto skipped = static_cast<std::size_t>(next_offset() - view.offset());
    add_records({view.data() + skipped, view.size() - skipped});
  }

  // Adds the records whose headers are in `bytes`.
  void add_records(byte_view bytes) {
    const std::uint64_t offset = next_offset();
    const std::uint64_t count = index_.size();
    const std::uint64_t left = size_ - offset;
    const tfrecord_scan scan = index_tfrecords(bytes, left, index_);
    if (index_.size() > count) mean_size_ = scan.consumed / (index_.size() - count);
    const bool fault =
        scan.status != tfrecord_scan_status::need_more || scan.needed > left - scan.consumed;
    if (!fault || next_offset() == size_) return;
    // A second fault at the same offset is corruption.
    if (std::exchange(reread_at_, next_offset()) != next_offset()) {
      ahead_.seek(next_offset());  // may be a transient error: it is read again
    } else {
      throw_corruption(bytes.subspan(scan.consumed));
    }
  }

  [[noreturn]] void throw_corruption(byte_view record) {
    if (index_.size() == 0) throw_if_compressed(record);
    const detail::tfrecord_framing framing({.max_record_size = UINT64_MAX}, file_.path());
    std::vector<byte_view> none;
    const detail::framing_input input{
        .bytes = record.first(std::min(record.size(), tfrecord_header_size)),
        .left = size_ - next_offset(),
        .index = index_.size()};
    const detail::framing_result result = framing.find(input, none);
    std::string what = result.fault ? result.fault->what : "record is corrupt";
    if (result.fault && result.fault->reason == errc::resource_exhausted) {
      // There is no limit here: the record is longer than any file.
      what = "truncated after " + std::to_string(input.left) +
             " bytes of a record with a length of " +
             std::to_string(load_little_endian<std::uint64_t>(record.data())) + " bytes";
    }
    throw failure(errc::data_loss, file_.path() + ", " + framing.position_text(index_.size()) +
                                       " at offset " + std::to_string(next_offset()) + ": " + what);
  }

  // For the first bytes, which are not a record.
  void throw_if_compressed(byte_view bytes) {
    const compression type = detect_tfrecord_compression(bytes);
    if (type == compression::none) return;
    throw failure(errc::invalid_argument,
                  file_.path() + ": file is compressed with " + std::string(to_string(type)) +
                      ": only an uncompressed TFRecord file can have an index");
  }

  file& file_;
  const std::source_location where_;
  const std::uint64_t size_;
  detail::read_ahead ahead_;
  std::vector<std::byte> page_;
  tfrecord_index_builder index_;
  std::uint64_t mean_size_ = UINT64_MAX;  // of the last found records
  bool cached_ = false;
  std::uint64_t reread_at_ = UINT64_MAX;
};

constexpr std::string_view index_suffix = ".index";

// A generated file, as in /proc, is a regular file of 0 bytes with any contents.
task<void> require_size(file& f) {
  std::byte first{};
  const std::span<std::byte> one(&first, 1);
  const std::size_t got = co_await f.read_at(0, one);
  if (got == 0) co_return;
  const file_status now = co_await get_status(f.path());
  if (now.size > 0) co_return;  // it has grown, which the fingerprint will show
  throw failure(errc::failed_precondition,
                f.path() + ": size of the file is unknown: read it sequentially, without an index");
}

// ----------------------------------------------------------------------------------------- loading

// Returns why the index does not belong to the file with the fingerprint `now`; empty if it does.
std::string describe_mismatch(const tfrecord_fingerprint& indexed,
                              const tfrecord_fingerprint& now) {
  if (indexed.size != now.size) {
    return "the file has " + std::to_string(now.size) + " bytes, but had " +
           std::to_string(indexed.size) + " when it was indexed";
  }
  if (indexed.modified_ns != now.modified_ns) return "the file was changed after it was indexed";
  if (indexed.sample != now.sample) return "the file is not the one that was indexed";
  return {};
}

std::string index_path_or_default(std::string index_path, std::string_view path) {
  return index_path.empty() ? tfrecord_index_path(path) : std::move(index_path);
}

// Reads an index file, but at most as many bytes as the largest index of a data file of this size.
task<std::vector<std::byte>> read_index(std::string index_path, std::uint64_t data_size) {
  file f = co_await file::open(std::move(index_path));
  const std::uint64_t size = f.status().size;
  // At most 63 bits per record and its share of a block; the memory is limited to that.
  const std::uint64_t most = data_size + 4096;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size, most)));
  bytes.resize(co_await f.read_at(0, bytes));
  co_return bytes;
}

// A file that cannot be read is reported when it is read as data.
task<bool> is_index(std::string path) {
  try {
    file f = co_await file::open(std::move(path));
    std::vector<std::byte> beginning(tfrecord_index_signature.size());
    beginning.resize(co_await f.read_at(0, beginning));
    co_return as_text(beginning) == tfrecord_index_signature;
  } catch (const failure& e) {
    if (e.code() == errc::cancelled) throw;
    co_return false;
  }
}

tfrecord_index decode_index(const std::string& index_path, byte_view bytes) {
  try {
    return tfrecord_index::decode(bytes);
  } catch (const failure& e) {
    throw failure(e.code(), index_path + ": " + detail::without_code_message(e));
  }
}

}  // namespace

// --------------------------------------------------------------------------------------- the parts

std::string tfrecord_index_path(std::string_view path) {
  return std::string(path) + std::string(index_suffix);
}

task<std::vector<std::string>> exclude_tfrecord_indexes(std::vector<std::string> paths) {
  const std::set<std::string, std::less<>> all(paths.begin(), paths.end());
  std::vector<std::string> kept;
  for (std::string& path : paths) {
    const std::size_t end = path.rfind(index_suffix);
    const std::string_view behind = std::string_view(path).substr(
        end == std::string::npos ? path.size() : end + index_suffix.size());
    bool is_one = end != std::string::npos && all.contains(std::string_view(path).substr(0, end));
    // "a.index" may be data of its own, so its first bytes decide. "a.index.partial" is an index
    // that is being written, or that a crash has left.
    if (is_one && behind.empty()) {
      is_one = co_await is_index(path);
    } else if (is_one) {
      is_one = behind.starts_with(".partial");
    }
    if (!is_one) kept.push_back(std::move(path));
  }
  co_return kept;
}

namespace {

// `status`: the current status of its path.
task<tfrecord_fingerprint> get_fingerprint(file& f, file_status status) {
  const auto part = std::min<std::uint64_t>(status.size, tfrecord_sample_size);
  std::vector<std::byte> both(static_cast<std::size_t>(2 * part));
  const std::span<std::byte> head = std::span(both).first(both.size() / 2);
  const std::span<std::byte> tail = std::span(both).last(both.size() / 2);
  std::uint64_t got = co_await f.read_at(0, head);
  got += co_await f.read_at(status.size - part, tail);
  if (got < both.size()) throw_shrunk_file(f);
  tfrecord_fingerprint fingerprint;
  fingerprint.size = status.size;
  fingerprint.modified_ns = status.modified_ns;
  fingerprint.sample = crc32c(both);
  co_return fingerprint;
}

}  // namespace

task<tfrecord_fingerprint> get_tfrecord_fingerprint(file& f) {
  co_return co_await get_fingerprint(f, co_await get_status(f.path()));
}

task<tfrecord_index> build_tfrecord_index(std::string path, std::source_location where) {
  file f = co_await file::open(std::move(path), open_mode::read, where);
  const file_status before = f.status();
  if (!before.is_regular) {
    throw failure(errc::failed_precondition,
                  f.path() + ": not a regular file: only a regular file can be indexed");
  }
  if (before.size == 0) co_await require_size(f);
  header_scan scan(f, where);
  tfrecord_index_builder builder = co_await scan.run();
  const file_status after = co_await get_status(f.path());
  if (!detail::is_unchanged(before, after)) {
    throw failure(errc::aborted,
                  f.path() + ": file was changed while it was indexed: index it again");
  }
  const tfrecord_fingerprint fingerprint = co_await get_fingerprint(f, after);
  co_return std::move(builder).finish(fingerprint);
}

task<tfrecord_index> load_tfrecord_index(std::string path, std::string index_path) {
  index_path = index_path_or_default(std::move(index_path), path);
  file f = co_await file::open(std::move(path));
  const std::vector<std::byte> bytes = co_await read_index(index_path, f.status().size);
  tfrecord_index index = decode_index(index_path, bytes);
  const tfrecord_fingerprint fingerprint = co_await get_tfrecord_fingerprint(f);
  const std::string why = describe_mismatch(index.fingerprint(), fingerprint);
  if (!why.empty()) {
    throw failure(errc::failed_precondition, index_path + ": index does not match " + f.path() +
                                                 ": " + why + "; build the index again");
  }
  co_return index;
}

task<void> save_tfrecord_index(std::string path, const tfrecord_index& index,
                               std::string index_path) {
  const std::vector<std::byte> bytes = index.encode();
  co_await detail::write_new_file(index_path_or_default(std::move(index_path), path), bytes);
}

task<void> save_tfrecord_index(std::string path, tfrecord_index_builder builder,
                               std::string index_path) {
  file f = co_await file::open(path);
  const tfrecord_fingerprint fingerprint = co_await get_tfrecord_fingerprint(f);
  const tfrecord_index index = std::move(builder).finish(fingerprint);
  co_await save_tfrecord_index(std::move(path), index, std::move(index_path));
}

task<tfrecord_index> load_or_build_tfrecord_index(std::string path, std::string index_path) {
  bool replace = true;
  try {
    co_return co_await load_tfrecord_index(path, index_path);
  } catch (const failure& e) {
    if (e.code() == errc::unimplemented) {
      // A later version of leat has written it and can still use it.
      replace = false;
    } else if (e.code() != errc::not_found && e.code() != errc::failed_precondition &&
               e.code() != errc::data_loss) {
      throw;
    }
  }
  tfrecord_index index = co_await build_tfrecord_index(path);
  if (!replace) co_return index;
  try {
    co_await save_tfrecord_index(std::move(path), index, std::move(index_path));
  } catch (const failure& e) {
    // A read-only or full file system does not prevent the use of the index in memory.
    if (e.code() != errc::permission_denied && e.code() != errc::resource_exhausted) throw;
  }
  co_return index;
}

}  // namespace LEAT
