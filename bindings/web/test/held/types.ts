import * as tf from '@tensorflow/tfjs';

import {held, heldBy, walk, watch} from '../../held/index.js';
import {held as heldInPage, type Held} from '../../index.js';

const bytes: number = held(tf).reduce((sum, row) => sum + row.live + (row.pieces?.live ?? 0), held().length);
const notes: string[] = heldBy(tf, tf.scalar(bytes)).map(piece => `${piece.note} ${piece.refs}`);
const {pieces, unclaimed, isWhole} = walk(tf, [tf.scalar(1)]);
const data: readonly object[] = pieces[0].data;
const stop: () => void = watch(tf);
const [row]: Held[] = heldInPage();
export const inPage: [number|undefined, string|undefined] = [row.pieces?.pooled, row.note];
export const told = [notes, data, unclaimed[0].count, isWhole, stop];

// @ts-expect-error: not a tensor
heldBy(tf, 3);
