#pragma once

// The interface between leat and a file system: a real one, a simulated one, or your own.

#include "leat/files/file_backend.hpp"
