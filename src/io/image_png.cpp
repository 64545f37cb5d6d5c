#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <string_view>

#include "io/image_decode.h"

namespace tenure::io {
namespace {

// zlib makes of a byte at most so many.
constexpr std::uint64_t kMostInflation = 1032;

struct PngState {
  png_structp png;
  png_infop info;
  const unsigned char* data;
  std::size_t size;
  std::size_t offset;
  char message[160];
};

void keep_message(char (&to)[160], const char* message) {
  std::strncpy(to, message, sizeof to - 1);
  to[sizeof to - 1] = '\0';
}

[[noreturn]] void on_png_error(png_structp png, png_const_charp message) {
  keep_message(static_cast<PngState*>(png_get_error_ptr(png))->message, message);
  png_longjmp(png, 1);
}
void on_png_warning(png_structp, png_const_charp) {}

void read_png_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* const state = static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state->size - state->offset) png_error(png, "the file is cut short");
  std::memcpy(to, state->data + state->offset, count);
  state->offset += count;
}

// Plain data alone in these: see image_decode.h.
bool read_png_header(PngState* state) {
  if (setjmp(png_jmpbuf(state->png))) return false;
  png_set_read_fn(state->png, state, read_png_bytes);
  png_set_user_limits(state->png, 0x7fffffff, 0x7fffffff);  // set_size holds them against ours
  png_set_chunk_cache_max(state->png, 256);
  png_set_chunk_malloc_max(state->png, 8u << 20);
  png_read_info(state->png, state->info);
  return true;
}

// Takes memory for rows. Pixels are to come as 8 bits per channel.
bool begin_png_rows(PngState* state) {
  if (setjmp(png_jmpbuf(state->png))) return false;
  png_set_expand(state->png);
  png_set_strip_16(state->png);
  png_set_interlace_handling(state->png);
  png_read_update_info(state->png, state->info);
  return true;
}

bool read_png_rows(PngState* state, unsigned char* to, int passes, std::size_t height,
                   std::size_t row_bytes) {
  if (setjmp(png_jmpbuf(state->png))) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t row = 0; row < height; ++row) {
      png_read_row(state->png, to + row * row_bytes, nullptr);
    }
  }
  png_read_end(state->png, nullptr);
  return true;
}

class PngDecoder final : public ImageDecoder {
 public:
  PngDecoder(const Origin& origin, std::span<const std::byte> bytes, std::int64_t most_pixels) {
    state_.data = reinterpret_cast<const unsigned char*>(bytes.data());
    state_.size = bytes.size();
    state_.png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &state_, on_png_error, on_png_warning);
    if (state_.png != nullptr) state_.info = png_create_info_struct(state_.png);
    try {
      if (state_.info == nullptr) origin.fail("there is no memory to read it");
      if (!read_png_header(&state_)) fail(origin);
      set_size(origin,
               {.height = png_get_image_height(state_.png, state_.info),
                .width = png_get_image_width(state_.png, state_.info)},
               most_pixels);
      check_claim(origin);
      if (!begin_png_rows(&state_)) fail(origin);
      size_.channels = png_get_channels(state_.png, state_.info);
    } catch (...) {
      close();
      throw;
    }
  }
  ~PngDecoder() override { close(); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  void decode(const Origin& origin, std::span<std::byte> to) override {
    const bool interlaced = png_get_interlace_type(state_.png, state_.info) != PNG_INTERLACE_NONE;
    constexpr int kPasses = 7;
    if (!read_png_rows(&state_, reinterpret_cast<unsigned char*>(to.data()),
                       interlaced ? kPasses : 1, static_cast<std::size_t>(size_.height),
                       static_cast<std::size_t>(size_.width * size_.channels))) {
      fail(origin);
    }
  }

 private:
  // A pixel takes a bit at least, before they are compressed.
  void check_claim(const Origin& origin) const {
    const auto pixels = static_cast<std::uint64_t>(size_.height * size_.width);
    if (pixels / 8 > kMostInflation * state_.size) {
      origin.fail("claims {} x {} pixels in {} bytes", size_.height, size_.width, state_.size);
    }
  }
  [[noreturn]] void fail(const Origin& origin) const {
    origin.fail("not a whole PNG: {}", printable(state_.message));
  }
  void close() noexcept { png_destroy_read_struct(&state_.png, &state_.info, nullptr); }

  PngState state_{};
};

}  // namespace

std::unique_ptr<ImageDecoder> open_png(const Origin& origin, std::span<const std::byte> bytes,
                                       std::int64_t most_pixels) {
  return std::make_unique<PngDecoder>(origin, bytes, most_pixels);
}

}  // namespace tenure::io
