// PNGs are written here byte by byte; JPEGs by libjpeg, of colors whose values are known.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
// After what it uses and does not include.
#include <jpeglib.h>

#include "io/files.h"
#include "tenure/nn/image_files.h"

namespace tenure::nn {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;
using Bytes = std::vector<std::uint8_t>;
using Strings = std::vector<std::string>;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}
std::string chunk(const std::string& name, const std::string& data) {
  const std::string body = name + data;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(static_cast<std::uint32_t>(sum));
}
std::string header(std::uint32_t width, std::uint32_t height, int depth, int color) {
  return chunk("IHDR", big_endian(width) + big_endian(height) + static_cast<char>(depth) +
                           static_cast<char>(color) + std::string(3, '\0'));
}
std::string zipped(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string to(size, '\0');
  compress(reinterpret_cast<Bytef*>(to.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
           bytes.size());
  to.resize(size);
  return to;
}
const std::string kSignature = "\x89PNG\r\n\x1a\n";

// `color` as in the format: 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGBA.
std::string png(std::uint32_t width, std::uint32_t height, int depth, int color,
                const Bytes& pixels, const std::string& before = "") {
  const std::size_t row = pixels.size() / height;
  std::string raw;
  for (std::size_t y = 0; y < height; ++y) {
    raw += '\0';  // no filter
    raw.append(pixels.begin() + static_cast<std::ptrdiff_t>(y * row),
               pixels.begin() + static_cast<std::ptrdiff_t>((y + 1) * row));
  }
  return kSignature + header(width, height, depth, color) + before + chunk("IDAT", zipped(raw)) +
         chunk("IEND", "");
}

// One color all over: a block of it has no other frequency than zero, and comes back as it was.
std::string jpeg(int width, int height, J_COLOR_SPACE space, const Bytes& pixel,
                 bool progressive = false) {
  jpeg_compress_struct cinfo{};
  jpeg_error_mgr errors{};
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* to = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &to, &size);
  cinfo.image_width = static_cast<JDIMENSION>(width);
  cinfo.image_height = static_cast<JDIMENSION>(height);
  cinfo.input_components = static_cast<int>(pixel.size());
  cinfo.in_color_space = space;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, 100, TRUE);
  if (progressive) jpeg_simple_progression(&cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  Bytes row;
  for (int x = 0; x < width; ++x) row.insert(row.end(), pixel.begin(), pixel.end());
  for (int y = 0; y < height; ++y) {
    unsigned char* line = row.data();
    jpeg_write_scanlines(&cinfo, &line, 1);
  }
  jpeg_finish_compress(&cinfo);
  std::string bytes(reinterpret_cast<const char*>(to), size);
  jpeg_destroy_compress(&cinfo);
  std::free(to);
  return bytes;
}

class Images : public testing::Folder {
 protected:
  Tensor read(const std::string& bytes, const std::string& mode = "rgb") const {
    return io::read_image(file(bytes), {.color_mode = mode});
  }
  Bytes values(const std::string& bytes, const std::string& mode = "rgb") const {
    return read(bytes, mode).to_vector<std::uint8_t>();
  }
  std::string refused(const std::string& bytes) const {
    return message_of<IoError>([&] { read(bytes); });
  }
};

TEST_F(Images, png_of_every_kind) {
  const Bytes rgb{255, 0, 0, 0, 255, 0, 10, 20, 30, 40, 50, 60};
  const std::string colored = png(2, 2, 8, 2, rgb);
  const Tensor image = read(colored);
  EXPECT_EQ(image.dtype(), DType::uint8);
  EXPECT_EQ(image.shape(), Shape({2, 2, 3}));
  EXPECT_EQ(values(colored), rgb);
  // 0.299 r + 0.587 g + 0.114 b
  EXPECT_EQ(values(colored, "grayscale"), (Bytes{76, 150, 18, 48}));
  EXPECT_EQ(values(colored, "rgba"),
            (Bytes{255, 0, 0, 255, 0, 255, 0, 255, 10, 20, 30, 255, 40, 50, 60, 255}));
  EXPECT_EQ(values(png(2, 1, 8, 0, {7, 250})), (Bytes{7, 7, 7, 250, 250, 250}));
  EXPECT_EQ(values(png(1, 1, 8, 4, {9, 100})), (Bytes{9, 9, 9}));
  EXPECT_EQ(values(png(1, 1, 8, 4, {9, 100}), "rgba"), (Bytes{9, 9, 9, 100}));
  EXPECT_EQ(values(png(1, 1, 8, 6, {1, 2, 3, 4})), (Bytes{1, 2, 3}));
  EXPECT_EQ(values(png(1, 1, 8, 6, {1, 2, 3, 4}), "rgba"), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(values(png(1, 1, 16, 0, {0x12, 0x34}), "grayscale"), Bytes{0x12});
  EXPECT_EQ(values(png(8, 1, 1, 0, {0xa5}), "grayscale"), (Bytes{255, 0, 255, 0, 0, 255, 0, 255}));
  const std::string palette = chunk("PLTE", std::string("\x01\x02\x03\x04\x05\x06"));
  EXPECT_EQ(values(png(2, 1, 8, 3, {1, 0}, palette)), (Bytes{4, 5, 6, 1, 2, 3}));
}

TEST_F(Images, interlaced_png) {
  const std::string interlaced =
      kSignature + chunk("IHDR", big_endian(2) + big_endian(2) + std::string("\x08\0\0\0\1", 5)) +
      // Of a 2 x 2 image: a pass of the first pixel, one of its neighbour, one of the second row.
      chunk("IDAT", zipped(std::string("\0\x0a\0\x14\0\x1e\x28", 7))) + chunk("IEND", "");
  EXPECT_EQ(values(interlaced, "grayscale"), (Bytes{10, 20, 30, 40}));
}

TEST_F(Images, jpeg_of_every_kind) {
  for (const bool progressive : {false, true}) {
    const Tensor gray = read(jpeg(9, 7, JCS_GRAYSCALE, {200}, progressive), "grayscale");
    EXPECT_EQ(gray.shape(), Shape({7, 9, 1}));
    for (const std::uint8_t value : gray.to_vector<std::uint8_t>()) EXPECT_EQ(value, 200);
    const Tensor rgb = read(jpeg(20, 17, JCS_RGB, {200, 100, 50}, progressive));
    EXPECT_EQ(rgb.shape(), Shape({17, 20, 3}));
    const Bytes pixels = rgb.to_vector<std::uint8_t>();
    for (std::size_t i = 0; i < pixels.size(); i += 3) {
      EXPECT_NEAR(pixels[i], 200, 2);
      EXPECT_NEAR(pixels[i + 1], 100, 2);
      EXPECT_NEAR(pixels[i + 2], 50, 2);
    }
  }
  const Bytes luma = values(jpeg(1, 1, JCS_RGB, {200, 100, 50}), "grayscale");
  EXPECT_NEAR(luma[0], 0.299 * 200 + 0.587 * 100 + 0.114 * 50, 1.5);
  EXPECT_EQ(values(jpeg(1, 1, JCS_GRAYSCALE, {31}), "rgba"), (Bytes{31, 31, 31, 255}));
  // libjpeg marks CMYK as Adobe does: 255 is no ink.
  const Bytes inks = values(jpeg(1, 1, JCS_CMYK, {255, 128, 0, 128}));
  EXPECT_NEAR(inks[0], 128, 2);
  EXPECT_NEAR(inks[1], 64, 2);
  EXPECT_NEAR(inks[2], 0, 2);
}

TEST_F(Images, cut_anywhere_are_an_error) {
  Bytes noise;
  for (int i = 0; i < 3 * 24 * 24; ++i) noise.push_back(static_cast<std::uint8_t>(i * i % 251));
  const std::string whole_png = png(24, 24, 8, 2, noise);
  const std::string whole_jpeg = jpeg(40, 40, JCS_RGB, {1, 2, 3});
  EXPECT_EQ(values(whole_png), noise);
  for (std::size_t size = 0; size < whole_png.size() - 20; size += 11) {
    EXPECT_HAS(refused(whole_png.substr(0, size)), "read_image");
  }
  for (std::size_t size = 0; size < whole_jpeg.size() - 2; size += 11) {
    EXPECT_HAS(refused(whole_jpeg.substr(0, size)), "read_image");
  }
}

TEST_F(Images, hostile_claims_are_refused_before_they_cost) {
  const std::size_t peak = memory().peak_bytes;
  const std::string huge = kSignature + header(2'000'000'000, 2'000'000'000, 8, 2) +
                           chunk("IDAT", zipped("x")) + chunk("IEND", "");
  EXPECT_HAS(refused(huge), "max_pixels is 100000000");
  const std::string large =
      kSignature + header(9000, 9000, 8, 6) + chunk("IDAT", zipped("x")) + chunk("IEND", "");
  EXPECT_HAS(refused(large), "claims 9000 x 9000 pixels in");
  std::string grown = jpeg(8, 8, JCS_GRAYSCALE, {1});
  const std::size_t frame = grown.find("\xff\xc0");
  ASSERT_NE(frame, grown.npos);
  grown.replace(frame + 5, 4, "\x23\x28\x23\x28");  // 9000 x 9000
  EXPECT_HAS(refused(grown), "claims 9000 x 9000 pixels in");
  EXPECT_HAS(refused("GIF89a"), "is neither a PNG nor a JPEG");
  EXPECT_HAS(refused(""), "is neither a PNG nor a JPEG");
  std::string flipped = png(4, 4, 8, 0, Bytes(16, 3));
  flipped[flipped.size() - 20] ^= 1;
  EXPECT_HAS(refused(flipped), "not a whole PNG");
  EXPECT_EQ(memory().peak_bytes, peak);
  EXPECT_THROW(io::read_image(file(huge), {.color_mode = "bgr"}), ValueError);
  EXPECT_THROW(io::read_image(file(huge), {.max_pixels = 0}), ValueError);
  EXPECT_THROW(io::read_image(at("none.png")), IoError);
}

class ImageFolder : public Images {
 protected:
  // Gray pictures of one pixel: class "b" has 10, 11, ..., class "a" 20, 21, ...
  std::string pets(int each) const {
    const std::filesystem::path folder = at("pets");
    for (const auto& [name, first] : {std::pair{"b", 10}, std::pair{"a", 20}}) {
      std::filesystem::create_directories(folder / name / "more");
      for (int i = 0; i < each; ++i) {
        const auto value = static_cast<std::uint8_t>(first + i);
        const std::string below = i % 2 == 0 ? "" : "more/";
        testing::write_bytes((folder / name / (below + std::to_string(value) + ".PNG")).string(),
                             png(1, 1, 8, 0, {value}));
      }
    }
    testing::write_bytes((folder / "a" / "notes.txt").string(), "no picture");
    testing::write_bytes((folder / "a" / ".hidden.png").string(), "no picture");
    std::filesystem::create_directories(folder / ".cache");
    return folder.string();
  }
  static ImageDirectoryOptions gray() {
    return {.color_mode = "grayscale", .image_size = {1, 1}, .shuffle = false};
  }
  static Floats pixels(const Dataset& data) {
    Floats all;
    for (const Batch& element : data) all.push_back(floats(element.x[0])[0]);
    return all;
  }
};

TEST_F(ImageFolder, has_a_class_for_each_folder) {
  const ImageDirectory images = image_dataset_from_directory(pets(2), gray());
  EXPECT_EQ(images.class_names, (Strings{"a", "b"}));
  EXPECT_EQ(images.data.size(), 4);
  EXPECT_EQ(pixels(images.data), (Floats{20, 21, 10, 11}));
  EXPECT_EQ(images.file_paths[1], at("pets/a/more/21.PNG"));
  const Batch batch = *images.data.batch(3).iterate().next();
  EXPECT_EQ(batch.x[0].dtype(), DType::float32);
  EXPECT_EQ(batch.x[0].shape(), Shape({3, 1, 1, 1}));
  EXPECT_EQ(batch.y[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 0, 1}));
}

TEST_F(ImageFolder, labels_as_asked_for) {
  const std::string folder = pets(1);
  const auto targets = [&](const char* mode) {
    ImageDirectoryOptions options = gray();
    options.label_mode = mode;
    return image_dataset_from_directory(folder, options).data.batch(2).iterate().next()->y;
  };
  EXPECT_EQ(floats(targets("categorical")[0]), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(targets("categorical")[0].shape(), Shape({2, 2}));
  EXPECT_EQ(floats(targets("binary")[0]), (Floats{0, 1}));
  EXPECT_EQ(targets("binary")[0].shape(), Shape({2, 1}));
  EXPECT_TRUE(targets("none").empty());
  ImageDirectoryOptions options = gray();
  options.class_names = {"b", "a"};
  EXPECT_EQ(pixels(image_dataset_from_directory(folder, options).data), (Floats{10, 20}));
  options.class_names = {"b", "c"};
  EXPECT_HAS(message_of<ValueError>([&] { image_dataset_from_directory(folder, options); }),
             "class_names are b, c, and the folders");
  options = gray();
  options.labels = {4, 2};
  const ImageDirectory given = image_dataset_from_directory(folder, options);
  EXPECT_EQ(given.data.batch(2).iterate().next()->y[0].to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{4, 2}));
  EXPECT_EQ(given.class_names.size(), 5u);
}

TEST_F(ImageFolder, splits_without_overlap) {
  const std::string folder = pets(5);
  for (const bool shuffle : {false, true}) {
    ImageDirectoryOptions options = gray();
    options.shuffle = shuffle;
    options.seed = 3;
    options.validation_split = 0.25;
    options.subset = "training";
    const Floats training = pixels(image_dataset_from_directory(folder, options).data);
    options.subset = "validation";
    const Floats validation = pixels(image_dataset_from_directory(folder, options).data);
    EXPECT_EQ(training.size(), 8u);
    EXPECT_EQ(validation.size(), 2u);
    std::set<float> all(training.begin(), training.end());
    all.insert(validation.begin(), validation.end());
    EXPECT_EQ(all.size(), 10u);
    EXPECT_EQ(validation == (Floats{11, 13}), !shuffle);
  }
}

TEST_F(ImageFolder, resizes_crops_and_pads) {
  const std::filesystem::path folder = at("wide");
  std::filesystem::create_directories(folder / "x");
  testing::write_bytes((folder / "x" / "1.png").string(),
                       png(4, 2, 8, 0, {0, 10, 20, 30, 40, 50, 60, 70}));
  const auto fitted = [&](ImageDirectoryOptions options) {
    options.color_mode = "grayscale";
    return floats(
        image_dataset_from_directory(folder.string(), options).data.iterate().next()->x[0]);
  };
  // A pixel of the result is the mean of the four around its middle.
  EXPECT_EQ(fitted({.image_size = {1, 2}}), (Floats{25, 45}));
  EXPECT_EQ(fitted({.image_size = {1, 2}, .interpolation = "nearest"}), (Floats{50, 70}));
  EXPECT_EQ(fitted({.image_size = {2, 2}, .crop_to_aspect_ratio = true}), (Floats{10, 20, 50, 60}));
  EXPECT_EQ(fitted({.image_size = {4, 4}, .pad_to_aspect_ratio = true}),
            (Floats{0, 0, 0, 0, 0, 10, 20, 30, 40, 50, 60, 70, 0, 0, 0, 0}));
}

TEST_F(ImageFolder, tells_which_file_is_broken) {
  const std::string folder = pets(20);
  testing::write_bytes(folder + "/b/15.PNG", "broken");
  const ImageDirectory images = image_dataset_from_directory(folder, gray());
  const std::string text = message_of<IoError>([&] {
    for (const Batch& batch : images.data.batch(40).prefetch(1)) floats(batch.x[0]);
  });
  EXPECT_HAS(text, "b/15.PNG: is neither a PNG nor a JPEG");
}

TEST_F(ImageFolder, refuses_what_is_no_folder_of_images) {
  const std::string folder = pets(1);
  const auto refused = [&](ImageDirectoryOptions options) {
    return message_of<ValueError>([&] { image_dataset_from_directory(folder, options); });
  };
  EXPECT_HAS(refused({.label_mode = "one_hot"}), "label_mode is one of int, categorical");
  EXPECT_HAS(refused({.image_size = {3}}), "image_size is {height, width}, not [3]");
  EXPECT_HAS(refused({.validation_split = 0.2}), "subset and validation_split go together");
  EXPECT_HAS(refused({.validation_split = 0.5, .subset = "training"}), "needs a seed");
  EXPECT_HAS(refused({.seed = 1, .validation_split = 0.1, .subset = "validation"}),
             "leaves none for validation");
  EXPECT_HAS(refused({.labels = {1}}), "1 labels for the 2 pictures");
  EXPECT_HAS(refused({.interpolation = "cubic"}), "interpolation");
  EXPECT_HAS(refused({.color_mode = "bgr"}), "color_mode");
  EXPECT_THROW(image_dataset_from_directory(at("none")), IoError);
  std::filesystem::create_directories(at("empty/x"));
  EXPECT_HAS(message_of<ValueError>([&] { image_dataset_from_directory(at("empty")); }),
             "there are no .png, .jpg or .jpeg files in the 1 class folders");
  testing::write_bytes(at("empty/x/y.gif"), "GIF89a");
  EXPECT_THROW(image_dataset_from_directory(at("empty")), UnsupportedError);
}

}  // namespace
}  // namespace tenure::nn
