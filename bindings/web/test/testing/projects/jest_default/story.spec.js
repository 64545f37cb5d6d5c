// Compiled by Jest as it does by default: what runs has fewer lines than this file.
const tf = require('@tensorflow/tfjs');
const {explain, leaks, mark, story} = require('../../../../node');
const {expectNoLeaks} = require('../../../../testing');

class Maker {

  #rows = 3;

  make() {
    return tf.ones([this.#rows]);
  }
}

explain(tf, {summary: false});

test('a story', () => {
  const before = mark();
  const made = new Maker().make();
  expect(String(leaks(before))).toMatch(/story\.spec\.js:11 +ones$/);
  expect(story(made)).toMatch(/born +story\.spec\.js:11 +ones/);
  made.dispose();
  expect(() => made.dataSync()).toThrow(/died +story\.spec\.js:22 +disposed\n +used +story\.spec\.js:23 /);
});

test('what is left', () => {
  expect(() => expectNoLeaks(() => { new Maker().make(); }, {tf})).toThrow(/1 at story\.spec\.js:11 +12 bytes +ones/);
});
