const all = {__proto__: null};
module.exports = name => { all[name] = (all[name] || 0) + 1; };
module.exports.all = all;
