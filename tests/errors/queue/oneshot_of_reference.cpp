// expect: oneshot<T&>: send a pointer
#include "leat/sync/oneshot.hpp"

void use() { leat::oneshot<int&> ends; }
