// Bundled as minified text: see style_text.mjs.
declare module "*.css" {
  const text: string;
  export default text;
}
