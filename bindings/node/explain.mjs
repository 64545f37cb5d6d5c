import api from './explain.js';

export const {DisposedError, explain, growth, leaks, mark, record, story} = api;
export default api;
