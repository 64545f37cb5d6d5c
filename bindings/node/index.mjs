import tenure from './index.js';

export const {
  DisposedError,
  backend,
  explain,
  growth,
  leaks,
  mark,
  memory,
  nativeLayers,
  op,
  record,
  setThreads,
  story,
  version,
} = tenure;
export default tenure;
