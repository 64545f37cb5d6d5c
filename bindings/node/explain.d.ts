// Importing this switches stories on, as explain() does.
import * as stories from './lib/explain';

export = stories;
