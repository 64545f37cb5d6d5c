// What the generated translation units of tools/doc_snippets register their snippets with.
#pragma once

#include <functional>
#include <string>

namespace snippets {

bool add(const std::string& name, std::function<void()> run);

}  // namespace snippets
