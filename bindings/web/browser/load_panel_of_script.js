// The same where a script tag loaded this: the panel is beside that script.
const script = document.currentScript === null ? location.href : document.currentScript.src;

export const loadPanel = () => import(new URL('panel.mjs', script).href);
