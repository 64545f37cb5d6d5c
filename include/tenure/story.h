// The life of a tensor as plain data: where it was born, what ended it, who holds it.
//
//   std::cout << x.story();
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/device.h"
#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/shape.h"

namespace tenure {

enum class Cause : std::uint8_t { last_handle, disposed, scope_exit, owner_disposed, donated };
TENURE_API std::string_view name(Cause cause);  // "scope_exit"

struct Birth {
  std::string op;  // "tanh", or "gradient of tanh"
  std::source_location site;
  std::string scope;  // name of the innermost tidy, "" for one without a name
  bool in_scope = false;
  std::source_location scope_site;  // where that tidy was opened
  std::uint32_t thread = 0;         // small numbers, in order of appearance
};

struct Death {
  Cause cause = Cause::last_handle;
  std::source_location site;
  std::string by;  // "tidy \"step\" ended"
};

// Where a call came from: addresses, put into words only when somebody reads them.
class TENURE_API CallStack {
 public:
  CallStack() = default;
  explicit CallStack(std::shared_ptr<const std::vector<void*>> frames)
      : frames_(std::move(frames)) {}
  bool empty() const { return frames_ == nullptr; }
  // Innermost first, without the library's own: "train.cpp:41    step(Model&)".
  std::vector<std::string> lines() const;

 private:
  std::shared_ptr<const std::vector<void*>> frames_;
};

// Whether tensors keep the call stacks of their birth and death from now on: a few microseconds
// each. Also TENURE_STACKS=1 in the environment.
TENURE_API void set_call_stacks(bool on);
TENURE_API bool call_stacks();

// Records and text only: a Story holds no tensor and no memory of one.
struct Story {
  std::uint64_t id = 0;
  Shape shape;
  DType dtype = DType::float32;
  Device device;
  std::string name;
  Birth birth;
  std::optional<Death> death;
  std::string traced_in;           // of a symbolic tensor: the function, as text
  std::source_location traced_at;  // where that function was made
  std::uint32_t handles = 0;
  bool storage_freed = false;
  std::vector<std::string> other_holders;  // of the same storage
  CallStack birth_stack;                   // empty unless set_call_stacks asked for it
  CallStack death_stack;

  TENURE_API std::string title() const;  // float32 [4] "h" (#12)
  TENURE_API std::string text() const;   // title and life, as in every lifetime error
};

TENURE_API std::ostream& operator<<(std::ostream& out, const Story& story);

}  // namespace tenure
