// Relacy counts memory through operators new and delete that it defines inline. Here they become
// functions that the standard library finds as well, whose sized ones call them.

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
