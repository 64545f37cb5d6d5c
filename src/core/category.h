#pragma once

#include <array>
#include <string_view>

#include "tenure/category.h"

namespace tenure {

inline constexpr std::size_t kCategories = 7;

constexpr std::string_view name(Category category) {
  constexpr std::array<std::string_view, kCategories> kNames{
      "parameter", "gradient", "optimizer_state", "layer_state", "saved_for_backward",
      "workspace", "other"};
  const auto index = static_cast<std::size_t>(category);
  return index < kNames.size() ? kNames[index] : "other";
}

// A storage that several hold counts under the first of these that one of them wants it for.
inline constexpr std::array kByStrength{Category::parameter,          Category::optimizer_state,
                                        Category::layer_state,        Category::gradient,
                                        Category::saved_for_backward, Category::other};

constexpr Category stronger(Category a, Category b) {
  for (const Category category : kByStrength) {
    if (a == category || b == category) return category;
  }
  return Category::other;
}

}  // namespace tenure
