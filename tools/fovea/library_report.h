// Prints what fovea_explain() and fovea_doctor() write: their text as it is, their JSON as one document.
#pragma once

#include <cstddef>
#include <functional>

#include "fovea/fovea.h"
#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

using LibraryReport = std::function<fovea_status(fovea_format, char*, std::size_t*, fovea_error*)>;

Result<ExitCode> print_library_report(const Console& console, const LibraryReport& report);

}  // namespace fovea::cli
