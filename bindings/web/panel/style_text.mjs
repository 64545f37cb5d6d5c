// For esbuild: a style sheet that TypeScript imports is its text, minified, its own imports in it.
export const style_text = {
  name: "style_text",
  setup(build) {
    const { nodePaths, target } = build.initialOptions;
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { outputFiles, errors, warnings } = await build.esbuild.build({
        entryPoints: [path],
        bundle: true,
        minify: true,
        write: false,
        legalComments: "none",
        nodePaths,
        target,
      });
      return { contents: outputFiles[0].text, loader: "text", errors, warnings };
    });
  },
};
