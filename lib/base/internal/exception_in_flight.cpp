#include "base/internal/exception_in_flight.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <typeinfo>

#include <unwind.h>

#include "base/internal/standard_error.hpp"

namespace LEAT::detail {

namespace {

// std::current_exception() knows an exception only from its catch block on. Before that, during the
// unwinding, the only reference is the one that the cleanup code of the unwound function keeps on
// the stack for _Unwind_Resume(). So the stack is searched for a pointer to an exception object of
// the C++ runtime. Only a process that is about to abort does this, and it reads memory through a
// system call that fails for a wrong address.

// The header that libstdc++ stores before the exception object, after the reference count. The
// Itanium C++ ABI defines the members from `type` on.
struct exception_header {
  const std::type_info* type;
  void (*destructor)(void*);
  void (*unexpected_handler)();
  void (*terminate_handler)();
  void* next_caught;
  int handler_count;
  int handler_switch_value;
  const unsigned char* action_record;
  const unsigned char* language_specific_data;
  std::uintptr_t catch_temp;
  void* adjusted;
  _Unwind_Exception unwind;
};

constexpr std::uint64_t cxx_class = 0x474e5543432b2b00;   // "GNUCC++\0": of a primary exception
constexpr std::uint64_t dependent_class = cxx_class + 1;  // of a dependent one
constexpr std::size_t reference_count_size = 16;
constexpr std::size_t searched_words = 4096;  // 32 KiB of stack

bool read(std::uintptr_t from, void* to, std::size_t size) noexcept {
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(from), size};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

// std::rethrow_exception(), and so a co_await, throws a dependent exception. Its header holds the
// address of the primary exception's object where a primary one holds its type, and has no
// reference count.
std::uintptr_t find_primary(const exception_header& dependent) noexcept {
  const auto object = reinterpret_cast<std::uintptr_t>(dependent.type);
  exception_header header;
  if (dependent.handler_count != 0 || object < sizeof(header)) return 0;
  if (!read(object - sizeof(header), &header, sizeof(header))) return 0;
  return header.unwind.exception_class == cxx_class && header.type ? object : 0;
}

// The address of the exception object if `word` points to the unwind header of an exception that is
// in flight; 0 otherwise.
std::uintptr_t find_object(std::uintptr_t word) noexcept {
  if (word == 0 || word % alignof(_Unwind_Exception) != 0) return 0;
  std::uint64_t exception_class = 0;
  if (!read(word, &exception_class, sizeof(exception_class))) return 0;
  if (exception_class != cxx_class && exception_class != dependent_class) return 0;
  const std::uintptr_t begin = word - offsetof(exception_header, unwind);
  exception_header header;
  int references = 0;
  if (!read(begin, &header, sizeof(header))) return 0;
  if (exception_class == dependent_class) return find_primary(header);
  if (!read(begin - reference_count_size, &references, sizeof(references))) return 0;
  // A stale pointer leads to an exception that was freed, and one in a catch block has a handler.
  if (references < 1 || header.handler_count != 0 || !header.type) return 0;
  return begin + sizeof(exception_header);
}

void print(std::uintptr_t object) noexcept {
  const auto& header =
      *reinterpret_cast<const exception_header*>(object - sizeof(exception_header));
  write_stderr("leat: this exception was propagating: ");
  void* base = reinterpret_cast<void*>(object);
  if (typeid(std::exception).__do_catch(header.type, &base, 1)) {
    print_stderr("%s\n", static_cast<const std::exception*>(base)->what());
    return;
  }
  print_stderr("object of type %s, which is not a std::exception\n", header.type->name());
}

}  // namespace

void print_exception_in_flight() noexcept {
  if (std::uncaught_exceptions() == 0) return;
#if defined(__GLIBCXX__) && defined(__GNUC__) && __SIZEOF_POINTER__ == 8
  __builtin_unwind_init();  // stores the registers of the callers in this frame
  auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) & ~std::uintptr_t{7};
  at -= 16 * sizeof(void*);  // where they are stored
  for (std::size_t i = 0; i < searched_words; ++i, at += sizeof(void*)) {
    std::uintptr_t word = 0;
    if (!read(at, &word, sizeof(word))) break;
    if (const std::uintptr_t object = find_object(word)) return print(object);
  }
#endif
  write_stderr("leat: an exception was propagating\n");
}

}  // namespace LEAT::detail
