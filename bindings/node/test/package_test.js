'use strict';
// The npm package as its users have it: installed into empty projects, away from the checkout.

const {describe} = require('node:test');
const {Project, pack} = require('./package/projects');
const {programs} = require('./package/programs');

const OLDEST = '4.4.0';
const NEWEST = '4.22.0';

const tarball = pack();
const union = new Project('a project').install(`@tensorflow/tfjs@${NEWEST}`, tarball);
const oldest = new Project('oldest').install(`@tensorflow/tfjs@${OLDEST}`, tarball);
const core_alone = new Project('core').install(`@tensorflow/tfjs-core@${NEWEST}`, tarball);
for (const project of [union, oldest]) project.writeAll(programs('@tensorflow/tfjs'));
core_alone.writeAll(programs('@tensorflow/tfjs-core'));
const projects = {core_alone, oldest, oldest_version: OLDEST, tarball, union};

const parts =
  ['content', 'guide', 'loading', 'copies', 'systems', 'failures', 'bundles', 'types', 'explain_alone'];
for (const part of parts) {
  describe(part, {concurrency: 2}, () => require(`./package/${part}`)(projects));
}
