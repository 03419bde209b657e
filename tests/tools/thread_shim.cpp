// Loaded before a program (LD_PRELOAD): the start of its n-th thread fails, where n is
// LEAT_REFUSED_THREAD.

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <pthread.h>

#include "faults/process/real_function.hpp"

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  static constinit real_function<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>
      create("pthread_create");
  static std::atomic<int> started{0};
  const char* const refused = std::getenv("LEAT_REFUSED_THREAD");
  if (refused && ++started == std::atoi(refused)) return EAGAIN;
  return create(thread, attributes, run, argument);
}
