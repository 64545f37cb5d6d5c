// Folders of pictures: which files there are and what they show, and their pixels when a batch is
// made. A few are decoded at once, so that what lies in memory at its full size does not grow with
// the batch.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <numeric>
#include <span>
#include <utility>

#include "backend/cpu/parallel.h"
#include "core/raise.h"
#include "io/image.h"
#include "memory/context.h"
#include "nn/dataset_stream.h"
#include "tenure/create.h"
#include "tenure/image.h"
#include "tenure/math.h"
#include "tenure/nn/image_files.h"
#include "tenure/views.h"

namespace tenure::nn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImageOp = "image_dataset_from_directory";

// A file, and the number of its class.
struct Picture {
  std::string path;
  std::int64_t label = 0;
};

std::string listed(const std::vector<std::string>& names) {
  return io::printable(fmt::format("{}", fmt::join(names, ", ")));
}

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// The files below a folder, by path.
class Finder {
 public:
  explicit Finder(const ImageDirectoryOptions& options) : follow_links_(options.follow_links) {}

  std::vector<std::string> pictures(const fs::path& folder) const {
    std::vector<std::string> paths;
    find(folder, paths, 0);
    std::ranges::sort(paths);
    return paths;
  }
  static std::vector<std::string> folders(const std::string& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : entries(folder)) {
      if (entry.is_directory() && !is_hidden(entry.path())) {
        names.push_back(entry.path().filename().string());
      }
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  static constexpr int kDeepest = 64;  // links may lead round in a circle

  static std::vector<fs::directory_entry> entries(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator begin(folder, error);
    const io::Origin origin{kImageOp, folder.string()};
    if (error) origin.fail("cannot be read: {}", error.message());
    std::vector<fs::directory_entry> all;
    for (auto each = begin; each != fs::directory_iterator(); each.increment(error)) {
      all.push_back(*each);
      if (error) origin.fail("cannot be read: {}", error.message());
    }
    return all;
  }

  void find(const fs::path& folder, std::vector<std::string>& paths, int depth) const {
    if (depth > kDeepest) {
      io::Origin{kImageOp, folder.string()}.fail("folders within folders, {} deep", kDeepest);
    }
    for (const fs::directory_entry& entry : entries(folder)) {
      std::error_code unknown;
      if (is_hidden(entry.path())) continue;
      if (entry.is_directory(unknown)) {
        if (follow_links_ || !entry.is_symlink(unknown)) find(entry.path(), paths, depth + 1);
        continue;
      }
      const std::string extension = lower_extension(entry.path());
      if (extension == ".bmp" || extension == ".gif") {
        raise<UnsupportedError>("{}: {}: PNG and JPEG are read, not {}", kImageOp,
                                entry.path().string(), extension);
      }
      if (extension == ".png" || extension == ".jpg" || extension == ".jpeg") {
        paths.push_back(entry.path().string());
      }
    }
  }

  bool follow_links_;
};

std::vector<std::string> classes_of(const std::string& directory,
                                    const ImageDirectoryOptions& options) {
  std::vector<std::string> names = Finder::folders(directory);
  if (options.class_names.empty()) return names;
  std::vector<std::string> given = options.class_names;
  std::ranges::sort(given);
  if (given != names) {
    raise<ValueError>("{}: class_names are {}, and the folders of {} are {}", kImageOp,
                      listed(options.class_names), directory, listed(names));
  }
  return options.class_names;
}

void check_image_options(const ImageDirectoryOptions& options) {
  const auto one_of = [](const char* what, const std::string& value,
                         std::initializer_list<const char*> names) {
    if (std::ranges::find(names, value) != names.end()) return;
    raise<ValueError>("{}: {} is one of {}, not \"{}\"", kImageOp, what,
                      listed(std::vector<std::string>(names.begin(), names.end())), value);
  };
  one_of("label_mode", options.label_mode, {"int", "categorical", "binary", "none"});
  one_of("interpolation", options.interpolation, {"bilinear", "nearest"});
  one_of("subset", options.subset, {"", "training", "validation"});
  const Shape& size = options.image_size;
  if (size.rank() != 2 || size[0] < 1 || size[1] < 1) {
    raise<ValueError>("{}: image_size is {{height, width}}, not {}", kImageOp, size);
  }
  if (!(options.validation_split >= 0 && options.validation_split < 1)) {
    raise<ValueError>("{}: validation_split must be at least 0 and below 1: {}", kImageOp,
                      options.validation_split);
  }
  if ((options.validation_split > 0) != !options.subset.empty()) {
    raise<ValueError>("{}: subset and validation_split go together", kImageOp);
  }
  if (options.validation_split > 0 && options.shuffle && !options.seed) {
    raise<ValueError>(
        "{}: a split of shuffled files needs a seed, which is the same for both subsets, or "
        ".shuffle = false",
        kImageOp);
  }
  if (options.crop_to_aspect_ratio && options.pad_to_aspect_ratio) {
    raise<ValueError>("{}: crop_to_aspect_ratio or pad_to_aspect_ratio, not both", kImageOp);
  }
}

void shuffle_pictures(std::vector<Picture>& pictures, std::uint64_t seed) {
  dataset::Random random(seed, 0);
  for (std::size_t i = pictures.size(); i > 1; --i) {
    std::swap(pictures[i - 1], pictures[random.below(i)]);
  }
}

// As Keras splits: the validation's part is the end, rounded down.
void take_subset(std::vector<Picture>& pictures, const ImageDirectoryOptions& options) {
  if (options.subset.empty()) return;
  const auto all = static_cast<double>(pictures.size());
  const auto validation = static_cast<std::ptrdiff_t>(options.validation_split * all);
  const auto cut = pictures.end() - validation;
  if (options.subset == "training") {
    pictures.erase(cut, pictures.end());
  } else {
    pictures.erase(pictures.begin(), cut);
  }
}

class ImageSource final : public ExampleSource {
 public:
  ImageSource(std::vector<Picture> pictures, std::int64_t classes,
              const ImageDirectoryOptions& options)
      : pictures_(std::move(pictures)),
        classes_(classes),
        options_(options),
        channels_(io::channels_of(kImageOp, options.color_mode)) {}

  std::int64_t size() const override { return std::ssize(pictures_); }
  Batch read(std::span<const std::int64_t> examples) const override {
    const std::source_location site = tenure::detail::context().call.site;
    std::vector<Tensor> images;
    const auto at_once = static_cast<std::size_t>(std::max(1, cpu::num_threads()));
    for (std::size_t first = 0; first < examples.size(); first += at_once) {
      read_some(examples.subspan(first, std::min(at_once, examples.size() - first)), images, site);
    }
    Batch batch;
    batch.x.push_back(stack(std::move(images)));
    if (options_.label_mode != "none") batch.y.push_back(labels(examples));
    return batch;
  }

 private:
  void read_some(std::span<const std::int64_t> examples, std::vector<Tensor>& images,
                 std::source_location site) const {
    std::vector<io::ImageRead> reads;
    reads.reserve(examples.size());
    for (const std::int64_t example : examples) {
      reads.emplace_back("image", pictures_[static_cast<std::size_t>(example)].path, channels_,
                         options_.max_pixels);
    }
    std::vector<std::exception_ptr> errors(reads.size());
    cpu::parallel_each(std::ssize(reads), [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      try {
        reads[place].run();
      } catch (...) {
        errors[place] = std::current_exception();
      }
    });
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
    for (io::ImageRead& read : reads)
      images.push_back(fitted(std::move(read).finish("next", site)));
  }

  Tensor fitted(const Tensor& pixels) const {
    Tensor image = cast(pixels, DType::float32);
    if (options_.crop_to_aspect_ratio) image = cropped(image);
    if (options_.pad_to_aspect_ratio) image = padded_to_ratio(image);
    const Shape& size = options_.image_size;
    if (image.dim(0) == size[0] && image.dim(1) == size[1]) return image;
    const image::ResizeOptions centers{.half_pixel_centers = true};
    return options_.interpolation == "nearest" ? image::resize_nearest(image, size, centers)
                                               : image::resize_bilinear(image, size, centers);
  }
  // The size that has image_size's ratio and one side of the image's.
  std::int64_t height_for(std::int64_t width) const {
    return static_cast<std::int64_t>(static_cast<double>(width * options_.image_size[0]) /
                                     static_cast<double>(options_.image_size[1]));
  }
  std::int64_t width_for(std::int64_t height) const {
    return static_cast<std::int64_t>(static_cast<double>(height * options_.image_size[1]) /
                                     static_cast<double>(options_.image_size[0]));
  }
  Tensor cropped(const Tensor& image) const {
    const std::int64_t height = image.dim(0), width = image.dim(1);
    const std::int64_t h = std::max<std::int64_t>(1, std::min(height, height_for(width)));
    const std::int64_t w = std::max<std::int64_t>(1, std::min(width, width_for(height)));
    return slice(image, {(height - h) / 2, (width - w) / 2, 0}, {h, w, -1});
  }
  Tensor padded_to_ratio(const Tensor& image) const {
    const std::int64_t height = image.dim(0), width = image.dim(1);
    const std::int64_t h = std::max(height, height_for(width));
    const std::int64_t w = std::max(width, width_for(height));
    if (h > options_.max_pixels / w) {
      raise<ValueError>("{}: {} x {} pixels, filled up, are more than max_pixels, {}", kImageOp, h,
                        w, options_.max_pixels);
    }
    const std::int64_t top = (h - height) / 2, left = (w - width) / 2;
    return pad(image, {{top, h - height - top}, {left, w - width - left}, {0, 0}});
  }

  Tensor labels(std::span<const std::int64_t> examples) const {
    const std::int64_t count = std::ssize(examples);
    const auto label = [&](std::size_t i) {
      return pictures_[static_cast<std::size_t>(examples[i])].label;
    };
    if (options_.label_mode == "int") {
      std::vector<std::int32_t> numbers;
      for (std::size_t i = 0; i < examples.size(); ++i) {
        numbers.push_back(static_cast<std::int32_t>(label(i)));
      }
      return tensor(numbers);
    }
    const bool binary = options_.label_mode == "binary";
    const std::int64_t width = binary ? 1 : classes_;
    std::vector<float> values(static_cast<std::size_t>(count * width));
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (binary) {
        values[i] = static_cast<float>(label(i));
      } else {
        values[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(label(i))] = 1;
      }
    }
    return tensor(values, {count, width});
  }

  std::vector<Picture> pictures_;
  std::int64_t classes_;
  ImageDirectoryOptions options_;
  std::int64_t channels_;
};

// All files by path, with the labels of their folders or those given.
std::vector<Picture> pictures_of(const std::string& directory,
                                 const std::vector<std::string>& class_names,
                                 const ImageDirectoryOptions& options) {
  const Finder finder(options);
  std::vector<Picture> pictures;
  if (!options.labels.empty() || options.label_mode == "none") {
    for (std::string& path : finder.pictures(directory)) pictures.push_back({std::move(path)});
    if (options.labels.empty()) return pictures;
    if (options.labels.size() != pictures.size()) {
      raise<ValueError>("{}: {} labels for the {} pictures in {}", kImageOp, options.labels.size(),
                        pictures.size(), directory);
    }
    for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i].label = options.labels[i];
    return pictures;
  }
  for (std::size_t label = 0; label < class_names.size(); ++label) {
    for (std::string& path : finder.pictures(fs::path(directory) / class_names[label])) {
      pictures.push_back({std::move(path), static_cast<std::int64_t>(label)});
    }
  }
  return pictures;
}

std::vector<std::string> class_names_of(const std::string& directory,
                                        const ImageDirectoryOptions& options) {
  if (options.label_mode == "none") return {};
  if (options.labels.empty()) return classes_of(directory, options);
  const auto [least, most] = std::ranges::minmax(options.labels);
  if (least < 0 || most >= std::int64_t{1} << 20) {
    raise<ValueError>("{}: labels are numbers of classes from 0, not {} to {}", kImageOp, least,
                      most);
  }
  std::vector<std::string> names;
  for (std::int64_t i = 0; i <= most; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

ImageDirectory image_dataset_from_directory(const std::string& directory,
                                            const ImageDirectoryOptions& options,
                                            std::source_location site) {
  const tenure::detail::UserLine line(site);
  check_image_options(options);
  std::vector<std::string> class_names = class_names_of(directory, options);
  if (options.label_mode == "binary" && class_names.size() != 2) {
    raise<ValueError>("{}: label_mode \"binary\" is of two classes, and {} has {}: {}", kImageOp,
                      directory, class_names.size(), listed(class_names));
  }
  std::vector<Picture> pictures = pictures_of(directory, class_names, options);
  if (pictures.empty()) {
    raise<ValueError>(
        "{}: there are no .png, .jpg or .jpeg files in {}", kImageOp,
        options.label_mode == "none" || !options.labels.empty()
            ? directory
            : fmt::format("the {} class folders of {}", class_names.size(), directory));
  }
  if (options.shuffle) {
    shuffle_pictures(pictures, options.seed ? *options.seed : dataset::draw_seed());
  }
  take_subset(pictures, options);
  if (pictures.empty()) {
    raise<ValueError>("{}: validation_split {} leaves none for {}", kImageOp,
                      options.validation_split, options.subset);
  }
  std::vector<std::string> paths;
  for (const Picture& picture : pictures) paths.push_back(picture.path);
  const std::int64_t classes = std::ssize(class_names);
  return {
      Dataset::from_source(std::make_shared<ImageSource>(std::move(pictures), classes, options)),
      std::move(class_names), std::move(paths)};
}

}  // namespace tenure::nn
