// Counts the buffers and textures that WebGPU is asked for, in the page before anything else.

(() => {
  if (globalThis.GPUDevice === undefined) return;
  const buffers = new Map(), textures = new Map();
  const sum = map => [...map.values()].reduce((total, bytes) => total + bytes, 0);
  globalThis.gpuCount = {
    buffers: () => buffers.size, bufferBytes: () => sum(buffers),
    textures: () => textures.size, textureBytes: () => sum(textures),
  };
  const {createBuffer, createTexture} = GPUDevice.prototype;
  GPUDevice.prototype.createBuffer = function(descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    buffers.set(buffer, descriptor.size);
    return buffer;
  };
  GPUDevice.prototype.createTexture = function(descriptor) {
    const texture = createTexture.call(this, descriptor);
    textures.set(texture, texture.width * texture.height * 4);
    return texture;
  };
  for (const [prototype, map] of [[GPUBuffer.prototype, buffers], [GPUTexture.prototype, textures]]) {
    const {destroy} = prototype;
    prototype.destroy = function() {
      map.delete(this);
      return destroy.call(this);
    };
  }
})();
