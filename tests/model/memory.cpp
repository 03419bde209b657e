// Relacy counts memory in inline definitions of operators new and delete. Taking their addresses
// emits them, so that the standard library uses them as well. Its sized operators call them.

#include <cstddef>
#include <new>

#include "model/model.hpp"

namespace model {

extern void* (*const allocate)(std::size_t);
extern void (*const release)(void*) noexcept;
void* (*const allocate)(std::size_t) = &::operator new;
void (*const release)(void*) noexcept = &::operator delete;

}  // namespace model

void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }
void operator delete[](void* p, std::size_t) noexcept { ::operator delete[](p); }
