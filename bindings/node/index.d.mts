import * as tenure from './lib/api.js';

export * from './lib/api.js';
export default tenure;
