// Reads files with libuv, on its thread pool.
//
//   file/...     reads of 256 KiB, four in flight
//   files/...    open, fstat, read and close per file, 64 files concurrently

#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <uv.h>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

namespace {

class file_reading {
 public:
  explicit file_reading(const std::string& path) {
    uv_fs_t open;
    file_ = uv_fs_open(nullptr, &open, path.c_str(), O_RDONLY, 0, nullptr);
    uv_fs_req_cleanup(&open);
    if (file_ < 0) std::abort();
    for (reading& r : readings_) {
      r.self = this;
      r.memory.resize(size);
      r.begin();
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_fs_t close;
    uv_fs_close(nullptr, &close, file_, nullptr);
    uv_fs_req_cleanup(&close);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr unsigned size = 256 << 10;

  struct reading {
    uv_fs_t request;
    file_reading* self;
    std::vector<char> memory;

    void begin() {
      uv_buf_t buffer = uv_buf_init(memory.data(), size);
      request.data = this;
      uv_fs_read(uv_default_loop(), &request, self->file_, &buffer, 1, self->next_, &ended);
      self->next_ += size;
    }
    static void ended(uv_fs_t* request) {
      auto& r = *static_cast<reading*>(request->data);
      const ssize_t n = request->result;
      uv_fs_req_cleanup(request);
      if (n < 0) std::abort();
      r.self->bytes_ += static_cast<std::size_t>(n);
      if (n > 0) r.begin();
    }
  };

  uv_file file_;
  std::int64_t next_ = 0;
  std::size_t bytes_ = 0;
  reading readings_[4];
};

class files_reading {
 public:
  explicit files_reading(const std::vector<std::string>& paths) : paths_(paths) {
    for (one& o : all_) {
      o.self = this;
      o.memory.resize(128 << 10);
      o.begin();
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct one {
    uv_fs_t request;
    files_reading* self;
    uv_file file = -1;
    std::vector<char> memory;

    static ssize_t end(uv_fs_t* request) {
      const ssize_t result = request->result;
      if (result < 0) std::abort();
      uv_fs_req_cleanup(request);
      return result;
    }
    static one& of(uv_fs_t* request) { return *static_cast<one*>(request->data); }

    void begin() {
      if (self->next_ == self->paths_.size()) return;
      request.data = this;
      uv_fs_open(uv_default_loop(), &request, self->paths_[self->next_++].c_str(), O_RDONLY, 0,
                 [](uv_fs_t* r) {
                   one& o = of(r);
                   o.file = static_cast<uv_file>(end(r));
                   uv_fs_fstat(uv_default_loop(), r, o.file, &opened);
                 });
    }
    static void opened(uv_fs_t* r) {
      one& o = of(r);
      const std::size_t size = r->statbuf.st_size;
      end(r);
      if (o.memory.size() < size) o.memory.resize(size);
      uv_buf_t buffer = uv_buf_init(o.memory.data(), static_cast<unsigned>(size));
      uv_fs_read(uv_default_loop(), r, o.file, &buffer, 1, 0, [](uv_fs_t* q) {
        one& read = of(q);
        read.self->bytes_ += static_cast<std::size_t>(end(q));
        uv_fs_close(uv_default_loop(), q, read.file, [](uv_fs_t* closed) {
          end(closed);
          of(closed).begin();
        });
      });
    }
  };

  const std::vector<std::string>& paths_;
  std::size_t next_ = 0;
  std::size_t bytes_ = 0;
  one all_[64];
};

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "libuv", [&] {
    if (r.workload.starts_with("files/")) return files_reading(bench::files_at(r.file)).bytes();
    return file_reading(r.file).bytes();
  });
}
