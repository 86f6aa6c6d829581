import count from './count.js';
export const twice = n => { count('twice'); return 2 * n; };
await null;
