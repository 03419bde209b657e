#include "base/internal/standard_error.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <ostream>
#include <string>

#ifdef __GLIBCXX__
#include <ext/stdio_sync_filebuf.h>
#endif

#include "leat/base/write_all.hpp"

namespace LEAT::detail {

void write_stderr(std::string_view text) noexcept {
  ::flockfile(stderr);  // messages of several threads follow each other
  std::fflush(stderr);  // the program may have given it a buffer
  const int descriptor = ::fileno(stderr);
  if (descriptor >= 0) {
    static_cast<void>(write_all(descriptor, text));
  } else {  // the program has replaced it by a stream in memory
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  ::funlockfile(stderr);
}

void print_stderr(const char* format, ...) noexcept {
  std::array<char, 1024> text;
  std::va_list values;
  va_start(values, format);
  std::va_list again;
  va_copy(again, values);
  const int length = std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  const auto size = static_cast<std::size_t>(length < 0 ? 0 : length);
  if (size < text.size()) {
    write_stderr({text.data(), size});
  } else {
    try {
      std::string longer(size + 1, '\0');
      std::vsnprintf(longer.data(), longer.size(), format, again);
      write_stderr({longer.data(), size});
    } catch (const std::bad_alloc&) {
      text[text.size() - 2] = '\n';
      write_stderr({text.data(), text.size() - 1});
    }
  }
  va_end(again);
}

bool is_stderr([[maybe_unused]] std::ostream& out) noexcept {
#ifdef __GLIBCXX__
  auto* const buffer = dynamic_cast<__gnu_cxx::stdio_sync_filebuf<char>*>(out.rdbuf());
  return buffer && buffer->file() == stderr;
#else
  return false;
#endif
}

}  // namespace LEAT::detail
