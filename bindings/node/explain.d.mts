import * as stories from './lib/explain/index.js';

export * from './lib/explain/index.js';
export default stories;
