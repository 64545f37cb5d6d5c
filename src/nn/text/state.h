// What the handles of tenure/nn/text.h hold.
#pragma once

#include "nn/text/vocabulary.h"

namespace tenure::nn {

struct StringLookup::State {
  explicit State(StringLookupOptions given);
  StringLookupOptions options;
  text::Lookup lookup;
};

struct TextVectorization::State {
  explicit State(TextVectorizationOptions given);
  std::vector<std::string> tokens(std::string_view text) const;
  Tensor encode(const text::Vocabulary& vocabulary, const Text& text,
                std::source_location site) const;
  TextVectorizationOptions options;
  text::Lookup lookup;
};

}  // namespace tenure::nn
