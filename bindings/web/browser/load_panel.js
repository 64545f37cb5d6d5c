// The panel, a module of its own beside this one, loaded when it is asked for.
export const loadPanel = () => import('./panel.mjs');
