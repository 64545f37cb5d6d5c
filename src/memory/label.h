// A name that outlives what it names: a scope's, an owner's, a tensor's. Records point at labels;
// whoever may read one after its subject is gone holds a count on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::detail {

struct Label {
  Label(std::string_view label_kind, std::string_view label_text, std::source_location where)
      : kind(label_kind), text(label_text), site(where) {}

  std::atomic<std::uint32_t> refs{1};
  std::string_view kind;  // "tidy", "session", "tape", ...: a literal
  std::string text;
  std::source_location site;

  void retain() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

// An owning pointer to a label, or to none.
class LabelRef {
 public:
  LabelRef() = default;
  explicit LabelRef(Label* owned) : label_(owned) {}
  LabelRef(const LabelRef& other) : label_(other.label_) {
    if (label_ != nullptr) label_->retain();
  }
  LabelRef(LabelRef&& other) noexcept : label_(std::exchange(other.label_, nullptr)) {}
  LabelRef& operator=(LabelRef other) noexcept {
    std::swap(label_, other.label_);
    return *this;
  }
  ~LabelRef() {
    if (label_ != nullptr) label_->release();
  }
  static LabelRef make(std::string_view kind, std::string_view text, std::source_location site) {
    return LabelRef(new Label(kind, text, site));
  }
  Label* get() const { return label_; }
  Label* operator->() const { return label_; }
  explicit operator bool() const { return label_ != nullptr; }

 private:
  Label* label_ = nullptr;
};

// Another owner of a label that is known to live; none for null.
inline LabelRef share(Label* label) {
  if (label != nullptr) label->retain();
  return LabelRef(label);
}

}  // namespace tenure::detail
