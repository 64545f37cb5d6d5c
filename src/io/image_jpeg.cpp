#include <csetjmp>
#include <cstdio>
// After what it uses and does not include.
#include <jerror.h>
#include <jpeglib.h>

#include <cstring>

#include "io/image_decode.h"

namespace tenure::io {
namespace {

// A block of 64 pixels takes a bit at least, unless the coding is arithmetic.
constexpr std::uint64_t kMostPixelsOfByte = 512;
// Each scan of a progressive file goes through the whole image.
constexpr int kMostScans = 500;

struct JpegState {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

JpegState* state_of(j_common_ptr cinfo) { return static_cast<JpegState*>(cinfo->client_data); }

[[noreturn]] void give_up(j_common_ptr cinfo) {
  cinfo->err->format_message(cinfo, state_of(cinfo)->message);
  std::longjmp(state_of(cinfo)->jump, 1);
}

// Of what libjpeg would go on after: when pixels are missing, we do not.
void on_jpeg_message(j_common_ptr cinfo, int level) {
  const int code = cinfo->err->msg_code;
  if (level < 0 && (code == JWRN_HIT_MARKER || code == JWRN_JPEG_EOF)) give_up(cinfo);
}
void on_jpeg_output(j_common_ptr) {}

void on_jpeg_progress(j_common_ptr cinfo) {
  const auto* const decompress = reinterpret_cast<j_decompress_ptr>(cinfo);
  if (decompress->input_scan_number <= kMostScans) return;
  std::strncpy(state_of(cinfo)->message, "more scans than any image needs", JMSG_LENGTH_MAX - 1);
  std::longjmp(state_of(cinfo)->jump, 1);
}

// Plain data alone in these: see image_decode.h.
bool read_jpeg_header(JpegState* state, const unsigned char* data, unsigned long size, bool gray) {
  state->cinfo.err = jpeg_std_error(&state->errors);
  state->errors.error_exit = give_up;
  state->errors.emit_message = on_jpeg_message;
  state->errors.output_message = on_jpeg_output;
  state->cinfo.client_data = state;
  if (setjmp(state->jump)) return false;
  jpeg_create_decompress(&state->cinfo);
  state->cinfo.client_data = state;
  state->progress.progress_monitor = on_jpeg_progress;
  state->cinfo.progress = &state->progress;
  jpeg_mem_src(&state->cinfo, data, size);
  jpeg_read_header(&state->cinfo, TRUE);
  const J_COLOR_SPACE space = state->cinfo.jpeg_color_space;
  if (space == JCS_GRAYSCALE || (gray && space == JCS_YCbCr)) {
    state->cinfo.out_color_space = JCS_GRAYSCALE;
  } else if (space == JCS_CMYK || space == JCS_YCCK) {
    state->cinfo.out_color_space = JCS_CMYK;
  } else {
    state->cinfo.out_color_space = JCS_RGB;
  }
  jpeg_calc_output_dimensions(&state->cinfo);
  return true;
}

bool begin_jpeg_rows(JpegState* state) {
  if (setjmp(state->jump)) return false;
  jpeg_start_decompress(&state->cinfo);
  return true;
}

bool read_jpeg_row(JpegState* state, unsigned char* row) {
  if (setjmp(state->jump)) return false;
  while (jpeg_read_scanlines(&state->cinfo, &row, 1) == 0) {
  }
  return true;
}

class JpegDecoder final : public ImageDecoder {
 public:
  JpegDecoder(const Origin& origin, std::span<const std::byte> bytes, std::int64_t most_pixels,
              bool gray)
      : state_(std::make_unique<JpegState>()) {
    try {
      if (!read_jpeg_header(state_.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                            bytes.size(), gray)) {
        fail(origin);
      }
      const jpeg_decompress_struct& cinfo = state_->cinfo;
      set_size(origin,
               {.height = cinfo.output_height,
                .width = cinfo.output_width,
                .channels = cinfo.out_color_space == JCS_GRAYSCALE ? 1 : 3},
               most_pixels);
      const auto pixels = static_cast<std::uint64_t>(size_.height * size_.width);
      if (cinfo.arith_code == FALSE && pixels > kMostPixelsOfByte * bytes.size()) {
        origin.fail("claims {} x {} pixels in {} bytes", size_.height, size_.width, bytes.size());
      }
    } catch (...) {
      jpeg_destroy_decompress(&state_->cinfo);
      throw;
    }
  }
  ~JpegDecoder() override { jpeg_destroy_decompress(&state_->cinfo); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  void decode(const Origin& origin, std::span<std::byte> to) override {
    if (!begin_jpeg_rows(state_.get())) fail(origin);
    const bool inks = state_->cinfo.out_color_space == JCS_CMYK;
    const auto row_bytes = static_cast<std::size_t>(size_.width * size_.channels);
    std::vector<unsigned char> cmyk(inks ? static_cast<std::size_t>(4 * size_.width) : 0);
    for (std::int64_t y = 0; y < size_.height; ++y) {
      auto* const row =
          reinterpret_cast<unsigned char*>(to.data()) + static_cast<std::size_t>(y) * row_bytes;
      if (!read_jpeg_row(state_.get(), inks ? cmyk.data() : row)) fail(origin);
      if (inks) to_rgb(cmyk, row);
    }
  }

 private:
  // Files that Adobe's programs mark hold what is left of the light; others, the ink.
  void to_rgb(const std::vector<unsigned char>& cmyk, unsigned char* rgb) const {
    const bool inverted = state_->cinfo.saw_Adobe_marker != FALSE;
    const auto light = [inverted](unsigned char ink) { return inverted ? ink : 255 - ink; };
    for (std::size_t i = 0; i < cmyk.size(); i += 4) {
      for (std::size_t c = 0; c < 3; ++c) {
        *rgb++ = static_cast<unsigned char>(light(cmyk[i + c]) * light(cmyk[i + 3]) / 255);
      }
    }
  }
  [[noreturn]] void fail(const Origin& origin) const {
    origin.fail("not a whole JPEG: {}", printable(state_->message));
  }

  std::unique_ptr<JpegState> state_;  // libjpeg keeps its address
};

}  // namespace

std::unique_ptr<ImageDecoder> open_jpeg(const Origin& origin, std::span<const std::byte> bytes,
                                        std::int64_t most_pixels, bool gray) {
  return std::make_unique<JpegDecoder>(origin, bytes, most_pixels, gray);
}

}  // namespace tenure::io
