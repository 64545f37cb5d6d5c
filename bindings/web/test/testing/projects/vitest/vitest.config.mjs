export default {test: {include: ['*.spec.ts'], cache: false}};
