// What Node.js sees of Tenure: a few functions over memory that both sides know (see call.h). Plain
// Node-API: an op costs one call without arguments. State belongs to an environment, so that every
// worker thread has its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "memory/text.h"
#include "napi.h"
#include "table.h"
#include "tenure/tenure.h"
#include "tokens.h"

namespace tenure::node {
namespace {

constexpr std::size_t kDoubles = 1024;
constexpr std::size_t kSmallBytes = 4096;
constexpr std::size_t kQueue = 1024;
constexpr std::size_t kSpare = 33;  // with their count
// How far what V8 knows of our memory may be from the truth before it is told.
constexpr std::int64_t kToldBytes = std::int64_t{1} << 20;
// How much may have come since V8 last freed something until it is made to collect. It begins to by
// itself after half of that, but beside the program, which may be faster.
constexpr std::int64_t kUncollectedBytes = std::int64_t{128} << 20;
// More than V8 takes from anyone without collecting at once: half of its heap's limit.
constexpr std::int64_t kPressure = std::int64_t{1} << 40;

struct Environment {
  Slots slots;
  Shared shared;
  Tokens tokens;
  napi_ref buffers[2] = {};  // keep the shared memory
  std::int64_t told = 0;
  std::int64_t least_told = 0;  // since V8 was last made to collect
};

// The error's class, without our namespace: what JavaScript sees as its code.
const char* code_of(const std::exception& error) {
  if (dynamic_cast<const DisposedError*>(&error) != nullptr) return "DisposedError";
  if (dynamic_cast<const ShapeError*>(&error) != nullptr) return "ShapeError";
  if (dynamic_cast<const DtypeError*>(&error) != nullptr) return "DtypeError";
  if (dynamic_cast<const ValueError*>(&error) != nullptr) return "ValueError";
  if (dynamic_cast<const OutOfMemoryError*>(&error) != nullptr) return "OutOfMemoryError";
  if (dynamic_cast<const UnsupportedError*>(&error) != nullptr) return "UnsupportedError";
  return "Error";
}

bool tell_v8(napi_env env, std::int64_t change) {
  std::int64_t total = 0;
  return napi_adjust_external_memory(env, change, &total) == napi_ok;
}

void tell_v8(napi_env env, Environment& state) {
  const std::int64_t change = state.slots.bytes() - state.told;
  if (std::abs(change) < kToldBytes) [[likely]]
    return;
  if (tell_v8(env, change)) state.told += change;
  state.least_told = std::min(state.least_told, state.told);
  // As much again as there is at least, so that what is only ever added to is not gone through
  // over and over.
  if (state.told - state.least_told > std::max(kUncollectedBytes, state.least_told)) {
    if (tell_v8(env, kPressure)) tell_v8(env, -kPressure);
    state.least_told = state.told;
  }
  // Being told, V8 may have collected; or it has meanwhile.
  if (change > 0 && state.tokens.any_collection(env)) state.shared.collected[0] = 1;
}

// Does what waits, in the order in which JavaScript asked for it.
void run_queue(Environment& state) {
  const std::span<std::int32_t> queue = state.shared.queue;
  const auto end = std::min(static_cast<std::size_t>(queue[0]), queue.size());
  std::exception_ptr wrong;  // a slot that cannot be freed
  queue[0] = 1;
  for (std::size_t at = 1; at < end;) {
    const auto length = static_cast<std::size_t>(queue[at]);
    if (length < 3 || length > end - at) throw ValueError("tfjs: the queue has a torn entry");
    const std::int32_t slot = queue[at + 1];
    const std::int32_t code = queue[at + 2];
    try {
      if (code < 0) {
        state.slots.drop(slot);
      } else {
        Call call(state.slots, state.shared, queue.subspan(at + 2, length - 2), slot);
        run(code, call);
      }
    } catch (...) {
      if (code < 0) {
        wrong = std::current_exception();
      } else {
        state.slots.put(slot, std::current_exception());
      }
    }
    at += length;
  }
  const std::span<std::int32_t> spare = state.shared.spare;
  for (auto count = static_cast<std::size_t>(spare[0]) + 1; count < spare.size(); ++count) {
    spare[count] = state.slots.spare();
    spare[0] = static_cast<std::int32_t>(count);
  }
  if (wrong != nullptr) [[unlikely]]
    std::rethrow_exception(wrong);
}

// What ran out of memory says who holds it. Ids and lines of the ledger are not JavaScript's, which
// has its own (lib/explain/kernel_errors.js) and finds them by the slots.
struct LargeTensor {
  int slot = -1;
  std::string size;
  std::string text;
};

std::vector<LargeTensor> largest_of(const OutOfMemoryError& error, const Slots& slots) {
  std::vector<LargeTensor> rows;
  for (const Story& story : error.largest()) {
    const auto elements = static_cast<std::size_t>(story.shape.numel());
    rows.push_back({slots.find(story.id), detail::bytes_text(elements * size_of(story.dtype)),
                    fmt::format("{} {}", story.dtype, story.shape)});
  }
  return rows;
}

// Throws an error as JavaScript's. Its lines name the places in this binding that called the op,
// which say nothing to a user of JavaScript, and the class is the code.
void throw_error(napi_env env, const Slots& slots, const Error& error) {
  const auto string_of = [env](std::string_view text) {
    napi_value value = nullptr;
    check(env, napi_create_string_utf8(env, text.data(), text.size(), &value));
    return value;
  };
  const auto list_of = [env](const auto& items, auto&& value_of) {
    napi_value list = nullptr;
    check(env, napi_create_array(env, &list));
    std::uint32_t at = 0;
    for (const auto& item : items) check(env, napi_set_element(env, list, at++, value_of(item)));
    return list;
  };
  std::string message = error.summary();
  std::vector<std::string> details = error.details();
  std::vector<LargeTensor> largest;
  if (const auto* memory = dynamic_cast<const OutOfMemoryError*>(&error)) {
    largest = largest_of(*memory, slots);
    if (!largest.empty()) {
      details.erase(details.begin());  // the same list, in the ledger's words
      message += "\n\n  the largest live tensors:";
    }
    for (const auto& [slot, size, text] : largest)
      message += fmt::format("\n  {:>12}  {}", size, text);
    for (const std::string& paragraph : details) message += "\n\n" + paragraph;
    message += fmt::format("\n\n  {}\n  explain() tells the lines that made them.", error.remedy());
  }
  napi_value thrown = nullptr;
  check(env, napi_create_error(env, string_of(code_of(error)), string_of(message), &thrown));
  const auto object_of = [&](const LargeTensor& row) {
    napi_value object = nullptr, slot = nullptr;
    check(env, napi_create_object(env, &object));
    check(env, napi_create_int32(env, row.slot, &slot));
    check(env, napi_set_named_property(env, object, "slot", slot));
    check(env, napi_set_named_property(env, object, "size", string_of(row.size)));
    check(env, napi_set_named_property(env, object, "text", string_of(row.text)));
    return object;
  };
  // Properties that do not show when the error is printed.
  napi_property_descriptor properties[5] = {};
  const auto set = [&](std::size_t i, const char* name, napi_value value) {
    properties[i].utf8name = name;
    properties[i].value = value;
  };
  set(0, "op", string_of(error.op()));
  set(1, "problem", string_of(error.problem()));
  set(2, "details", list_of(details, string_of));
  set(3, "remedy", string_of(error.remedy()));
  set(4, "largest", list_of(largest, object_of));
  check(env, napi_define_properties(env, thrown, std::size(properties), properties));
  check(env, napi_throw(env, thrown));
}

template <std::size_t n>
struct Arguments {
  napi_value values[n == 0 ? 1 : n];
};

// Runs a function of the environment and of the arguments; an exception becomes a JavaScript one.
template <std::size_t n, auto function>
napi_value entry(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  Arguments<n> arguments;
  std::size_t count = n;
  napi_get_cb_info(env, info, n == 0 ? nullptr : &count, n == 0 ? nullptr : arguments.values,
                   nullptr, &data);
  auto& state = *static_cast<Environment*>(data);
  try {
    try {
      return function(env, state, arguments.values);
    } catch (const Error& error) {
      throw_error(env, state.slots, error);
    }
  } catch (const std::exception& error) {
    napi_throw_error(env, code_of(error), error.what());
  }
  return nullptr;
}

napi_value call(napi_env env, Environment& state, napi_value*) {
  run_queue(state);
  Call call(state.slots, state.shared);
  run(state.shared.integers[0], call);
  tell_v8(env, state);
  return nullptr;
}

// Does what waits now, instead of with the next call.
napi_value flush(napi_env env, Environment& state, napi_value*) {
  run_queue(state);
  tell_v8(env, state);
  return nullptr;
}

struct Bytes {
  std::byte* data = nullptr;
  std::size_t size = 0;
};
// What is in a typed array of JavaScript's type for the dtype.
Bytes typed_array(napi_env env, napi_value value, DType dtype) {
  napi_typedarray_type type{};
  std::size_t length = 0;
  void* data = nullptr;
  check(env, napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr));
  const napi_typedarray_type wanted = dtype == DType::int32     ? napi_int32_array
                                      : dtype == DType::boolean ? napi_uint8_array
                                                                : napi_float32_array;
  if (type != wanted) throw DtypeError("tfjs: a typed array of another type");
  const std::size_t width = dtype == DType::boolean ? 1 : 4;
  return {static_cast<std::byte*>(data), length * width};
}

Tensor from_bytes(const std::byte* data, std::size_t size, DType dtype, const Shape& shape) {
  if (size % size_of(dtype) != 0) throw ValueError("tfjs: a complex number is two floats");
  const std::size_t count = size / size_of(dtype);
  if (dtype == DType::boolean) {  // in JavaScript every byte but 0 is true
    std::vector<std::uint8_t> truths(count);
    std::transform(data, data + count, truths.begin(),
                   [](std::byte byte) { return static_cast<std::uint8_t>(byte != std::byte{0}); });
    return detail::tensor_from(truths.data(), count, dtype, dtype, shape,
                               std::source_location::current());
  }
  return detail::tensor_from(data, count, dtype, dtype, shape, std::source_location::current());
}

// A tensor of a dtype and a shape, whose bytes are a typed array's.
napi_value write_tensor(napi_env env, Environment& state, napi_value* arguments) {
  run_queue(state);
  Call call(state.slots, state.shared);
  const DType dtype = call.dtype();
  const Shape shape = call.shape();
  const Bytes bytes = typed_array(env, arguments[0], dtype);
  call.give(from_bytes(bytes.data, bytes.size, dtype, shape));
  tell_v8(env, state);
  return nullptr;
}

// The same from the bytes in the shared memory, whose number is given.
void write_small(Call& call) {
  const DType dtype = call.dtype();
  const Shape shape = call.shape();
  const std::int32_t size = call.integer();
  const std::span<std::byte> bytes = call.shared().bytes;
  if (size < 0 || static_cast<std::size_t>(size) > bytes.size())
    throw ValueError("tfjs: more bytes than a small tensor has");
  call.give(from_bytes(bytes.data(), static_cast<std::size_t>(size), dtype, shape));
}

void copy_out(const Tensor& tensor, Bytes out) {
  if (out.size != tensor.nbytes()) throw ValueError("tfjs: a read of another size");
  const auto copy = [out](const auto& elements) {
    std::memcpy(out.data, elements.data(), elements.size() * sizeof(elements[0]));
  };
  switch (tensor.dtype()) {
    case DType::float32:
      return copy(tensor.view<float>());
    case DType::int32:
      return copy(tensor.view<std::int32_t>());
    case DType::boolean:
      return copy(tensor.view<bool>());
    default:
      return copy(tensor.view<std::complex<float>>());
  }
}

napi_value read_tensor(napi_env env, Environment& state, napi_value* arguments) {
  run_queue(state);
  const Tensor& tensor = state.slots.at(state.shared.integers[0]);
  copy_out(tensor, typed_array(env, arguments[0], tensor.dtype()));
  return nullptr;
}

// The same into the shared memory: as many bytes as JavaScript expects.
void read_small(Call& call) {
  const Tensor& tensor = call.slots().at(call.slot());
  const std::span<std::byte> bytes = call.shared().bytes;
  const std::int32_t size = call.integer();
  if (size < 0 || static_cast<std::size_t>(size) > bytes.size())
    throw ValueError("tfjs: more bytes than a small tensor has");
  copy_out(tensor, {bytes.data(), static_cast<std::size_t>(size)});
}

// Frees the tensors of slots whose numbers JavaScript may go on using by mistake.
void retire(Call& call) {
  for (std::int32_t count = call.integer(); count > 0; --count) call.slots().retire(call.slot());
}

constexpr Row kSmallRows[] = {
    {"write_small", write_small}, {"read_small", read_small}, {"retire", retire}};

// Takes two ArrayBuffers as the memory that both sides know: one for integers, which grows, and one
// for all else.
napi_value share(napi_env env, Environment& state, napi_value* arguments) {
  void* data[2] = {};
  std::size_t size[2] = {};
  for (int i = 0; i < 2; ++i) {
    check(env, napi_get_arraybuffer_info(env, arguments[i], &data[i], &size[i]));
  }
  if (size[1] !=
      kDoubles * sizeof(double) + kSmallBytes + (kQueue + kSpare + 1) * sizeof(std::int32_t))
    throw ValueError("tfjs: the shared memory is of another size");
  for (int i = 0; i < 2; ++i) {
    if (state.buffers[i] != nullptr) check(env, napi_delete_reference(env, state.buffers[i]));
    state.buffers[i] = nullptr;
    check(env, napi_create_reference(env, arguments[i], 1, &state.buffers[i]));
  }
  state.shared.integers = {static_cast<std::int32_t*>(data[0]), size[0] / sizeof(std::int32_t)};
  auto* bytes = static_cast<std::byte*>(data[1]);
  // Doubles first: they are the ones that want alignment.
  state.shared.doubles = {reinterpret_cast<double*>(bytes), kDoubles};
  bytes += kDoubles * sizeof(double);
  state.shared.bytes = {bytes, kSmallBytes};
  bytes += kSmallBytes;
  state.shared.queue = {reinterpret_cast<std::int32_t*>(bytes), kQueue};
  state.shared.spare = {state.shared.queue.data() + kQueue, kSpare};
  state.shared.collected = {state.shared.spare.data() + kSpare, 1};
  return nullptr;
}

napi_value table(napi_env env, Environment&, napi_value*) { return table_of_ops(env); }

napi_value names(napi_env env, Environment&, napi_value*) {
  napi_value list = nullptr;
  check(env, napi_create_array(env, &list));
  std::uint32_t index = 0;
  for (const Row& row : all_rows()) {
    napi_value name = nullptr;
    check(env, napi_create_string_utf8(env, row.name.data(), row.name.size(), &name));
    check(env, napi_set_element(env, list, index++, name));
  }
  return list;
}

// What the ledger of the process says, and of which of this environment's bytes V8 knows, as
// doubles in the shared memory.
napi_value memory_info(napi_env, Environment& state, napi_value*) {
  run_queue(state);
  const MemoryInfo info = memory();
  const std::size_t values[] = {info.tensors,       info.storages,     info.live_bytes,
                                info.peak_bytes,    info.pooled_bytes, info.slack_bytes,
                                info.reserved_bytes};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    state.shared.doubles[i] = static_cast<double>(values[i]);
  }
  state.shared.doubles[std::size(values)] = static_cast<double>(state.told);
  return nullptr;
}

// Watches a token under a number that is free.
napi_value watch(napi_env env, Environment& state, napi_value* arguments) {
  state.tokens.watch(env, integer_of(env, arguments[0]), arguments[1]);
  return nullptr;
}

// Writes into an array how many tokens are gone, and their numbers: as many as there is room for.
// The shared memory may hold the results of a call, which JavaScript is about to read.
napi_value lost(napi_env env, Environment& state, napi_value* arguments) {
  const Bytes bytes = typed_array(env, arguments[0], DType::int32);
  const std::span<std::int32_t> numbers(reinterpret_cast<std::int32_t*>(bytes.data),
                                        bytes.size / sizeof(std::int32_t));
  if (numbers.empty()) throw ValueError("tfjs: no room for the tokens that are gone");
  state.shared.collected[0] = 0;
  numbers[0] = static_cast<std::int32_t>(state.tokens.lost(env, numbers.subspan(1)));
  return nullptr;
}

napi_value set_threads(napi_env env, Environment&, napi_value* arguments) {
  set_num_threads(integer_of(env, arguments[0]));
  return nullptr;
}

napi_value library_version(napi_env env, Environment&, napi_value*) {
  const std::string_view text = version();
  napi_value value = nullptr;
  check(env, napi_create_string_utf8(env, text.data(), text.size(), &value));
  return value;
}

template <std::size_t n, auto function>
void add(napi_env env, napi_value exports, const char* name, Environment* state) {
  napi_value value = nullptr;
  check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, entry<n, function>, state, &value));
  check(env, napi_set_named_property(env, exports, name, value));
}

}  // namespace

std::span<const Row> small_rows() { return kSmallRows; }

}  // namespace tenure::node

NAPI_MODULE_INIT() {
  using namespace tenure::node;
  auto* const raw = new Environment;
  const auto finalize = [](napi_env, void* data, void*) {
    delete static_cast<Environment*>(data);  // and with it every tensor of this environment
  };
  if (napi_set_instance_data(env, raw, finalize, nullptr) != napi_ok) {
    delete raw;
    return nullptr;
  }
  try {
    add<0, call>(env, exports, "call", raw);
    add<0, flush>(env, exports, "flush", raw);
    add<1, write_tensor>(env, exports, "write", raw);
    add<1, read_tensor>(env, exports, "read", raw);
    add<2, share>(env, exports, "share", raw);
    add<2, watch>(env, exports, "watch", raw);
    add<1, lost>(env, exports, "lost", raw);
    add<0, names>(env, exports, "names", raw);
    add<0, table>(env, exports, "table", raw);
    add<0, memory_info>(env, exports, "memory", raw);
    add<1, set_threads>(env, exports, "setThreads", raw);
    add<0, library_version>(env, exports, "version", raw);
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return exports;
}
