#include "engine/jinja/template.h"

#include <utility>

#include "engine/jinja/ast.h"
#include "engine/jinja/interpreter.h"
#include "engine/jinja/parser.h"

namespace sluice::jinja {

Result<Template> Template::compile(std::string_view source, const Limits& limits) {
  SLUICE_ASSIGN_OR_RETURN(Ast ast, parse(source, limits));
  return Template(std::make_shared<const Ast>(std::move(ast)), limits);
}

Result<Text> Template::render(const Dict& variables, std::chrono::system_clock::time_point now) const {
  return Interpreter(*ast_, variables, limits_, now).run();
}

}  // namespace sluice::jinja
