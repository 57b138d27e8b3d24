// The options that describe a call by numbers, shared by explain and tune.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/fovea/shapes.h"

namespace fovea::cli {

// `group`: their heading in --help.
void add_shape_options(CLI::App& app, Shapes& shapes, const std::string& group);

}  // namespace fovea::cli
