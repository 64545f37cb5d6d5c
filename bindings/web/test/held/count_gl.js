// Counts what WebGL is asked for, beside held() and without it: every texture with its bytes, every
// buffer. Runs in the page before anything else.

(() => {
  const textures = new Map(), buffers = new Map();
  const bound = new Map();
  globalThis.glCount = {
    textures: () => textures.size,
    textureBytes: () => [...textures.values()].reduce((sum, bytes) => sum + bytes, 0),
    buffers: () => buffers.size,
    calls: 0, // that make or delete something
  };
  const kBytes = {
    R32F: 4, RGBA32F: 16, R16F: 2, RGBA16F: 8, RGBA8: 4,
  };
  const bytesOf = (gl, format, type) => {
    const name = Object.keys(kBytes).find(key => gl[key] === format);
    if (name !== undefined) return kBytes[name];
    if (format !== gl.RGBA) throw new Error(`count_gl: format ${format}`);
    return type === gl.UNSIGNED_BYTE ? 4 : type === gl.FLOAT ? 16 : 8;
  };
  const wrap = (prototype, name, after) => {
    const original = prototype[name];
    if (original === undefined) return;
    prototype[name] = function(...args) {
      const result = original.apply(this, args);
      after(this, result, args);
      return result;
    };
  };
  for (const {prototype} of [WebGLRenderingContext, WebGL2RenderingContext]) {
    wrap(prototype, 'createTexture', (_, texture) => {
      glCount.calls++;
      textures.set(texture, 0);
    });
    wrap(prototype, 'deleteTexture', (_, __, [texture]) => {
      glCount.calls++;
      textures.delete(texture);
    });
    wrap(prototype, 'bindTexture', (gl, _, [, texture]) => bound.set(gl, texture));
    wrap(prototype, 'texStorage2D', (gl, _, [, levels, format, width, height]) => {
      textures.set(bound.get(gl), width * height * bytesOf(gl, format));
    });
    wrap(prototype, 'texImage2D', (gl, _, args) => {
      if (args.length === 9) textures.set(bound.get(gl), args[3] * args[4] * bytesOf(gl, args[2], args[7]));
    });
    wrap(prototype, 'createBuffer', (_, buffer) => {
      glCount.calls++;
      buffers.set(buffer, 0);
    });
    wrap(prototype, 'deleteBuffer', (_, __, [buffer]) => {
      glCount.calls++;
      buffers.delete(buffer);
    });
  }
})();
