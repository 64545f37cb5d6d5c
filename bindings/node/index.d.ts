// Importing this makes Tenure the backend of TensorFlow.js in this process (or worker thread).
import * as tenure from './lib/api';

export = tenure;
