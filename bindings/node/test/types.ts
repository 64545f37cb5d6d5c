// What a TypeScript program says to the package; types_test.js compiles it.
import * as tf from '@tensorflow/tfjs';
import * as tenure from 'tenure-tfjs';

const name: 'tenure' = tenure.backend;
const version: string = tenure.version;
const {tensors, storages, liveBytes, peakBytes}: tenure.MemoryInfo = tenure.memory();
const {pooledBytes, slackBytes, reservedBytes, toldToV8Bytes} = tenure.memory();
const counts: number[] = [tensors, storages, liveBytes, peakBytes, pooledBytes, slackBytes,
                          reservedBytes, toldToV8Bytes];
tenure.setThreads(2);
const native: boolean = tenure.nativeLayers();
tenure.nativeLayers(false);

tenure.explain();
tenure.explain({summary: false});
tenure.explain(false);

const before: tenure.Mark = tenure.mark();
const x = tf.tensor1d([1, 2, 3]);
const life: string = tenure.story(x);
const found: tenure.Leaks = tenure.leaks(before);
for (const {site, op, layer, owner, what, count, bytes, ids} of found) {
  const line: string = [site, op, layer, owner, what].join(' ');
  const sizes: number[] = [count, bytes, ...ids];
  console.log(line, sizes);
}
const run = tenure.record('run.json');
run.close();
console.log(name, version, counts, native, life, found.tensors, found.bytes, `${found}`, run.path);

try {
  x.dispose();
  x.dataSync();
} catch (error) {
  if (error instanceof tenure.DisposedError && error.site !== null) {
    const {file, line}: {file: string, line: number} = error.site;
    console.log(error.message, error.story, file, line, error.site.function);
  }
}

const why = (error: tenure.LoadError): string => `${error.reason} ${error.code} ${error.cause}`;
console.log(why);

// @ts-expect-error: a number of threads
tenure.setThreads('2');
// @ts-expect-error: a tensor, not its id
tenure.story(x.id);
// @ts-expect-error: `record` needs a path
tenure.record();
// @ts-expect-error: no such option
tenure.explain({sumary: false});
