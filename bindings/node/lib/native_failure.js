// Why the native half could not be loaded, in words that say what to do.
'use strict';

const fs = require('fs');
const path = require('path');
const {LoadError} = require('./load_error');

const NEEDS =
  'glibc 2.34 and the C++ library of GCC 12 (Debian 12, Ubuntu 22.04, Fedora 36, or later)';
const STORIES = "Stories need no native half: require('tenure-tfjs/explain')";

// In the words of those who install them; whatever else is needed comes with the package.
const SYSTEM_PACKAGES = {
  'libstdc++.so.6': 'libstdc++6 (Debian, Ubuntu) or libstdc++ (Fedora)',
  'libgcc_s.so.1': 'libgcc-s1 (Debian, Ubuntu) or libgcc (Fedora)',
};

// glibc's version; undefined where the C library is another.
function glibcVersion() {
  return process.report.getReport().header.glibcVersionRuntime;
}

function ofPlatform(platform, arch, has) {
  switch (platform) {
    case 'linux':
      return (
        `there is no native half for Linux on ${arch} in this package, only for ${has}. ` +
        'A checkout of Tenure on such a machine makes the package that has it: make npm-package'
      );
    case 'darwin':
      return 'there is no native half for macOS, only for Linux: run it in a container, such as node:22-slim';
    case 'win32':
      return 'there is no native half for Windows, only for Linux: run it in WSL, or in a container';
    default:
      return `there is no native half for ${platform}, only for Linux`;
  }
}

function ofMissingFile(file, origin, {platform, arch}) {
  if (origin === 'TENURE_ADDON') {
    return new LoadError('files', `TENURE_ADDON names no file: ${file}`);
  }
  if (origin === 'checkout') {
    const build = 'npm run build, in bindings/node';
    return new LoadError('files', `its native half is not built (${build}): ${file}`);
  }
  const prebuilds = path.join(file, '..', '..');
  const has = fs.existsSync(prebuilds) ? fs.readdirSync(prebuilds) : [];
  if (has.length === 0 || has.includes(`${platform}-${arch}`)) {
    return new LoadError('files', `it is not whole, install it again: there is no ${file}`);
  }
  return new LoadError('platform', `${ofPlatform(platform, arch, has.join(', '))}. ${STORIES}`);
}

// What the system's loader said.
function ofLoader(file, glibc, error) {
  if (glibc === undefined) {
    return new LoadError(
      'system',
      'the C library of this system is not glibc (Alpine Linux has musl): ' +
        `use an image such as node:22-slim. The native half needs ${NEEDS}. ${STORIES}`,
      error,
    );
  }

  const version = /version `(GLIBC|GLIBCXX|CXXABI)_([\d.]+)' not found/.exec(error.message);
  if (version !== null) {
    const [, name, wanted] = version;
    const what =
      name === 'GLIBC'
        ? `glibc ${glibc} of this system is too old (it is asked for ${wanted})`
        : `libstdc++.so.6 of this system is too old (it is asked for ${name}_${wanted})`;
    return new LoadError('system', `${what}: the native half needs ${NEEDS}`, error);
  }

  const missing = /(\S+): cannot open shared object file: No such file/.exec(error.message);
  if (missing !== null) {
    const [, library] = missing;
    const named = SYSTEM_PACKAGES[library];
    return named === undefined
      ? new LoadError('files', `it is not whole, install it again: ${library} is missing beside ${file}`, error)
      : new LoadError('system', `${library} is missing on this system: install ${named}. The native half needs ${NEEDS}`, error);
  }

  return new LoadError('files', `its native half cannot be loaded: ${error.message}`, error);
}

// `origin` is who named the file: 'TENURE_ADDON', 'checkout' or 'package'.
function whyNot(error, file, origin, system = process) {
  if (!fs.existsSync(file)) return ofMissingFile(file, origin, system);
  return ofLoader(file, 'glibc' in system ? system.glibc : glibcVersion(), error);
}

module.exports = {NEEDS, whyNot};
