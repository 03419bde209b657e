#include "output/record_sink.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/codec/compression/deflater.hpp>
#include <leat/codec/tfrecord/tfrecord.hpp>
#include <leat/io/file/file.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>
#include <leat/io/writer/sharded_tfrecord_writer.hpp>
#include <leat/io/writer/tfrecord_writer.hpp>

#include "input/paths.hpp"
#include "terminal/status.hpp"

namespace tool {
namespace {

leat::tfrecord_writer_options writing(const sink_options& options) {
  leat::tfrecord_writer_options how;
  how.compression = options.compression;
  how.deflate.level = options.level;
  how.index = options.index;
  return how;
}

// A sink for a writer of leat.
template <class Writer>
class writer_sink final : public record_sink {
 public:
  explicit writer_sink(Writer writer, std::string path = {})
      : writer_(std::move(writer)), path_(std::move(path)) {}

  leat::task<> write(leat::byte_view record) override { return writer_.write(record); }
  leat::task<> close() override { return writer_.close(); }
  std::vector<std::string> paths() const override {
    if constexpr (requires { writer_.paths(); }) {
      return writer_.paths();
    } else {
      return {path_};
    }
  }

 private:
  Writer writer_;
  std::string path_;
};

// The bytes of a file or of standard output, collected for large writes.
class byte_sink {
 public:
  byte_sink() = default;
  byte_sink(const byte_sink&) = delete;
  byte_sink& operator=(const byte_sink&) = delete;
  virtual ~byte_sink() = default;

  [[nodiscard]] virtual leat::task<> write(leat::byte_view bytes) = 0;
  [[nodiscard]] virtual leat::task<> flush() { co_return; }
  [[nodiscard]] virtual leat::task<> close() = 0;
};

class standard_output final : public byte_sink {
 public:
  explicit standard_output(output& out) : out_(out) {}

  leat::task<> write(leat::byte_view bytes) override {
    out_.write(leat::as_text(bytes));
    co_return;
  }
  leat::task<> flush() override {
    out_.flush();
    co_return;
  }
  leat::task<> close() override { return flush(); }

 private:
  output& out_;
};

// A file that appears under its name when it is complete.
class new_file final : public byte_sink {
 public:
  new_file(leat::file f, std::string path) : file_(std::move(f)), path_(std::move(path)) {}
  ~new_file() override {
    std::error_code ignored;
    if (!published_) std::filesystem::remove(file_.path(), ignored);
  }

  const leat::file& contents() const noexcept { return file_; }

  leat::task<> write(leat::byte_view bytes) override {
    co_await file_.write_at(offset_, bytes);
    offset_ += bytes.size();
  }

  leat::task<> close() override {
    co_await file_.sync();
    co_await leat::rename_file(file_.path(), path_);
    published_ = true;
    co_await file_.close();
    std::string parent = std::filesystem::path(path_).parent_path().string();
    if (parent.empty()) parent = ".";
    co_await leat::sync_directory(std::move(parent));
  }

 private:
  leat::file file_;
  std::string path_;
  std::uint64_t offset_ = 0;
  bool published_ = false;
};

// A sink for records of any format, without shards and index.
class plain_sink final : public record_sink {
 public:
  plain_sink(std::unique_ptr<byte_sink> to, const sink_options& options)
      : to_(std::move(to)), options_(options) {
    if (options.compression == leat::compression::none) return;
    leat::deflate_options how;
    how.level = options.level;
    deflater_.emplace(options.compression, how);
  }

  leat::task<> write(leat::byte_view record) override {
    append(record);
    ++records_;
    if (buffer_.size() >= piece) co_await drain(leat::deflate_flush::none);
  }

  leat::task<> flush() override {
    if (options_.path != "-" || deflater_) co_return;
    co_await drain(leat::deflate_flush::none);
    co_await to_->flush();
  }

  leat::task<> close() override {
    co_await drain(leat::deflate_flush::finish);
    co_await to_->close();
  }

  std::vector<std::string> paths() const override { return {options_.path}; }

 private:
  static constexpr std::size_t piece = std::size_t{256} << 10;

  void append(leat::byte_view record) {
    if (options_.records == format::tfrecord) {
      leat::append_tfrecord(buffer_, record);
      return;
    }
    if (options_.records == format::lines) {
      if (std::find(record.begin(), record.end(), std::byte{'\n'}) != record.end()) {
        throw_record_error("contains a newline, which lines cannot store");
      }
      if (!record.empty() && record.back() == std::byte{'\r'}) {
        throw_record_error("ends with a carriage return, which readers of lines remove");
      }
    }
    if (options_.records == format::fixed) {
      if (record.empty()) throw_record_error("is empty, which fixed records cannot store");
      if (records_ == 0) size_ = record.size();
      if (record.size() != size_) {
        throw_record_error(
            fmt::format("has {} bytes, but earlier records have {}: fixed records need one size",
                        record.size(), size_));
      }
    }
    buffer_.insert(buffer_.end(), record.begin(), record.end());
    if (options_.records == format::lines || options_.records == format::csv) {
      buffer_.push_back(std::byte{'\n'});
    }
  }

  [[noreturn]] void throw_record_error(const std::string& why) const {
    throw leat::failure(leat::errc::failed_precondition,
                        fmt::format("{}: record {} {}", options_.path, records_, why));
  }

  // Readers decompress a file whose first bytes are those of a compressed one. Errors:
  // leat::failure, so that the conversion can be reversed.
  void check_beginning() {
    if (options_.records != format::lines && options_.records != format::fixed) return;
    const std::size_t missing = leat::compression_sample_size - beginning_.size();
    const leat::byte_view next = leat::byte_view(buffer_).first(std::min(missing, buffer_.size()));
    if (next.empty()) return;
    beginning_.insert(beginning_.end(), next.begin(), next.end());
    const leat::compression what = leat::detect_compression(beginning_);
    if (what == leat::compression::none) return;
    throw leat::failure(
        leat::errc::failed_precondition,
        fmt::format("{}: record 0 begins like a {} file, which readers would decompress: compress "
                    "the output, or write TFRecord files",
                    options_.path, leat::to_string(what)));
  }

  leat::task<> drain(leat::deflate_flush flush) {
    if (!deflater_) {
      check_beginning();
      co_await to_->write(buffer_);
      buffer_.clear();
      co_return;
    }
    std::vector<std::byte> compressed(piece);
    leat::byte_view left = buffer_;
    for (bool done = false; !done;) {
      const leat::deflate_result r = deflater_->deflate(left, compressed, flush);
      co_await to_->write(leat::byte_view(compressed).first(r.produced));
      left = left.subspan(r.consumed);
      done = r.done;
    }
    buffer_.clear();
  }

  std::unique_ptr<byte_sink> to_;
  const sink_options options_;
  std::optional<leat::deflater> deflater_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> beginning_;  // of an uncompressed file, at most compression_sample_size
  std::uint64_t records_ = 0;
  std::size_t size_ = 0;
};

// The suffix of the names of a set of files.
std::string shard_suffix(const sink_options& options) {
  std::string suffix = leat::sharded_tfrecord_writer_options().suffix;
  for (const leat::compression_format& f : leat::compression_formats()) {
    if (f.type == options.compression) suffix += f.extensions.front();
  }
  return suffix;
}

// Removes a text and the number that follows it from the beginning of a name.
bool take_number(std::string_view& name, std::string_view before, std::size_t& to) {
  if (!name.starts_with(before)) return false;
  name.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), to);
  if (error != std::errc()) return false;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  return true;
}

// Returns true if the name is one of the set of files of a sink.
bool is_shard(std::string_view name, const std::string& prefix, const sink_options& sink) {
  std::size_t index = 0;
  std::size_t count = 0;
  std::string_view left = name;
  if (!take_number(left, prefix + "-", index) || !take_number(left, "-of-", count)) return false;
  if (sink.shards > 0 && count != sink.shards) return false;
  return index < count && name == leat::shard_path(prefix, index, count, shard_suffix(sink));
}

bool is_written(const std::filesystem::path& file, const sink_options& sink) {
  std::error_code ignored;
  if (!sink.is_sharded()) return std::filesystem::equivalent(file, sink.path, ignored);
  const std::filesystem::path prefix(sink.path);
  return is_shard(file.filename().native(), prefix.filename().native(), sink) &&
         std::filesystem::equivalent("." / file.parent_path(), "." / prefix.parent_path(), ignored);
}

// Like is_written(), but for the index of a file, which need not exist.
bool is_written_index(const std::string& path, const sink_options& sink) {
  if (!sink.index) return false;
  if (sink.is_sharded()) {
    const std::string ending = leat::tfrecord_index_path({});
    return path.ends_with(ending) && is_written(path.substr(0, path.size() - ending.size()), sink);
  }
  std::error_code ignored;
  return std::filesystem::equivalent(path, leat::tfrecord_index_path(sink.path), ignored);
}

// Returns the absolute path of a file that need not exist, even if links lead to it.
std::filesystem::path final_path(std::filesystem::path path) {
  std::error_code ignored;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, ignored); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, ignored);
  }
  return std::filesystem::weakly_canonical("." / path, ignored);
}

leat::task<std::unique_ptr<record_sink>> open_sharded(sink_options options) {
  leat::sharded_tfrecord_writer_options how;
  how.shard_count = options.shards;
  how.max_records = options.max_records;
  how.max_bytes = options.max_bytes;
  how.file = writing(options);
  how.suffix = shard_suffix(options);
  leat::sharded_tfrecord_writer writer =
      co_await leat::sharded_tfrecord_writer::open(std::move(options.path), std::move(how));
  co_return std::make_unique<writer_sink<leat::sharded_tfrecord_writer>>(std::move(writer));
}

// Sets the owner first, because a change of the owner clears bits of the mode. Does not set an
// equal owner, because that can be forbidden.
void set_access(const leat::file& f, const file_access& access) {
  const int descriptor = f.open_handle()->number;
  struct stat now{};
  bool done = ::fstat(descriptor, &now) == 0;
  if (done && (now.st_uid != access.owner || now.st_gid != access.group)) {
    done = ::fchown(descriptor, access.owner, access.group) == 0;
  }
  if (done && ::fchmod(descriptor, access.mode) == 0) return;
  throw std::system_error(errno, std::generic_category(),
                          f.path() + ": cannot set the owner and mode of the original file");
}

// Like the writers of leat, because a rename would replace a device or a pipe for all programs.
leat::task<> require_replaceable(std::string path) {
  leat::file_status there;
  there.is_regular = true;
  try {
    there = co_await leat::get_status(path);
  } catch (const leat::failure&) {  // usually missing; other errors recur later
  }
  if (there.is_regular) co_return;
  throw leat::failure(leat::errc::failed_precondition,
                      path + ": not a regular file: choose another output path");
}

leat::task<std::unique_ptr<byte_sink>> open_bytes(const sink_options& options, output& out) {
  if (options.path == "-") co_return std::make_unique<standard_output>(out);
  co_await require_replaceable(options.path);
  std::string partial = fmt::format("{}.partial-{}", options.path, ::getpid());
  leat::file f = co_await leat::file::open(std::move(partial), leat::open_mode::write_new);
  auto made = std::make_unique<new_file>(std::move(f), options.path);
  if (options.access) set_access(made->contents(), *options.access);
  co_return made;
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (std::filesystem::equivalent(a, b, ignored)) return true;
  const std::filesystem::path path = final_path(a);
  return !path.empty() && path == final_path(b);
}

bool is_output(const std::string& path, const sink_options& sink) {
  if (sink.path == "-") return false;
  if (is_written(path, sink) || is_written_index(path, sink)) return true;
  if (sink.is_sharded()) return false;
  return is_same_file(path, sink.path) ||
         (sink.index && is_same_file(path, leat::tfrecord_index_path(sink.path)));
}

void throw_if_replaced(const std::string& path, const sink_options& sink) {
  if (sink.path == "-") return;
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::canonical(path, ignored);
  for (const std::string& name : {path, target.string()}) {  // the name, and the target of a link
    if (name.empty() || !(is_written(name, sink) || is_written_index(name, sink))) continue;
    throw usage_error(display_path(path) +
                      ": output would replace this input file: choose another output path");
  }
}

leat::task<std::unique_ptr<record_sink>> open_sink(sink_options options, output& out) {
  const bool records = options.records == format::tfrecord;
  if (options.is_sharded()) {
    if (!records || options.path == "-") {
      throw usage_error(
          "--shards, --max-records and --max-bytes apply only to TFRecord files, not to other "
          "formats or standard output");
    }
    if (options.shards > 0 &&
        (options.max_records != UINT64_MAX || options.max_bytes != UINT64_MAX)) {
      throw usage_error("--shards cannot be combined with --max-records or --max-bytes");
    }
    co_return co_await open_sharded(std::move(options));
  }
  if (records && options.path != "-" && !options.access) {
    leat::tfrecord_writer_options how = writing(options);
    leat::tfrecord_writer writer = co_await leat::tfrecord_writer::open(options.path, how);
    co_return std::make_unique<writer_sink<leat::tfrecord_writer>>(std::move(writer),
                                                                   std::move(options.path));
  }
  std::unique_ptr<byte_sink> bytes = co_await open_bytes(options, out);
  co_return std::make_unique<plain_sink>(std::move(bytes), options);
}

}  // namespace tool
