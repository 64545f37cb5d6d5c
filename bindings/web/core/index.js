'use strict';
// What Node's and the browser's halves take from here.

const activities = require('./activities');
const explain = require('./explain');
const growth = require('./growth');
const kinds = require('./kinds');
const leaks = require('./leaks');
const lives = require('./lives');
const looks = require('./looks');
const modules = require('./modules');
const patches = require('./patches');
const {platform, setPlatform} = require('./platform');
const sourceMaps = require('./source_maps');
const story = require('./story');
const textStacks = require('./stack_text');
const unmapped = require('./unmapped');
const v8 = require('./v8');
const words = require('./words');

module.exports = {
  activities, explain, growth, kinds, leaks, lives, looks, modules, patches, platform,
  setPlatform, sourceMaps, story, textStacks, unmapped, v8, words,
};
