// Jobs of libraries. Each has its libraries' files, in the order of their loading, and a function that returns the
// job's steps. A step returns text or a promise of it, always the same. It makes some 15,000 calls at most, so the
// runtime's ring has room for them.
'use strict';

module.exports = {
  d3: {
    files: {d3: 'd3/dist/d3.js'},
    steps({d3}) {
      const land = d3.geoGraticule().step([30, 30])(), path = d3.geoPath(d3.geoMercator());
      return [...Array(20).keys()].map(i => () => {
        const random = d3.randomLcg(i / 20), values = d3.range(20).map(d3.randomNormal.source(random)(50, 9));
        const nodes = values.slice(0, 10).map(r => ({r})), links = d3.range(9).map(k => ({source: k, target: k + 1}));
        const force = d3.forceSimulation(nodes).randomSource(random).stop().force('charge', d3.forceManyBody())
          .force('link', d3.forceLink(links)).force('collide', d3.forceCollide(n => n.r));
        force.tick(3);
        const tree = d3.pack().size([900, 600])(d3.hierarchy({children: nodes}).sum(n => n.r || 0).sort((a, b) => b.r - a.r));
        const x = d3.scaleLinear(d3.extent(values), [0, 900]).nice(), format = d3.format(',.2f');
        return JSON.stringify([nodes.map(n => [n.x, n.y]), tree.leaves().map(n => [n.x, n.y, n.r]), path(land).length,
          d3.line().curve(d3.curveCatmullRom)(values.map((v, k) => [k, x(v)])), x.ticks(20).map(format),
          [...d3.rollup(values, v => d3.deviation(v), v => v >> 3)], d3.Delaunay.from(values.map(v => [v, v * v % 7])).triangles,
          values.map(v => d3.interpolateRgb('red', '#07f')(v / 100) + d3.lab(d3.hsl(v, 1, 0.5)))]);
      });
    },
  },
  lodash: {
    files: {lodash: 'lodash/lodash.js'},
    steps({lodash: _}, text) {
      const chunks = [...Array(20).keys()].map(i => text.slice(1000 * i, 1000 * i + 1000));
      return chunks.map(chunk => () => {
        const words = _.words(chunk), list = _.template('<% for (const a of b) { %>-<%- a %><% } %>')({b: _.uniq(words)});
        const sums = _(words).map('length').filter(n => n > 2).chunk(3).map(_.sum).take(50).value();
        return JSON.stringify([_.sortBy(_.toPairs(_.countBy(words)), [1, 0]), list, sums, _.merge({}, _.mapValues(
          _.keyBy(words), _.camelCase)), _.isEqual(_.cloneDeep(words), words), _.orderBy(words, ['length'], ['desc'])]);
      });
    },
  },
  vue: {
    files: {
      '@vue/shared': '@vue/shared/dist/shared.cjs.prod.js', '@vue/reactivity': '@vue/reactivity/dist/reactivity.cjs.prod.js',
      '@vue/runtime-core': '@vue/runtime-core/dist/runtime-core.cjs.prod.js',
      '@vue/runtime-dom': '@vue/runtime-dom/dist/runtime-dom.cjs.prod.js',
      '@vue/server-renderer': '@vue/server-renderer/dist/server-renderer.cjs.prod.js',
    },
    steps({'@vue/runtime-dom': {createSSRApp, h, ref, computed}, '@vue/server-renderer': {renderToString}}) {
      const Row = {props: ['n'], setup(props) {
        const clicks = ref(props.n), twice = computed(() => 2 * clicks.value);
        clicks.value++;
        return () => h('li', {class: ['row', {odd: props.n % 2}], style: {top: props.n + 'px'}}, [h('b', twice.value), ' <&> ']);
      }};
      return [...Array(10).keys()].map(i => () => renderToString(createSSRApp({
        render: () => h('ul', {id: 'u' + i}, [...Array(60).keys()].map(n => h(Row, {n: n + i, key: n}))),
      })));
    },
  },
  react: {
    files: {
      react: 'react/cjs/react.production.js', 'react-dom': 'react-dom/cjs/react-dom.production.js',
      server: 'react-dom/cjs/react-dom-server-legacy.node.production.js',
    },
    steps({react: {createElement: h, useState, useMemo, memo}, server}) {
      const Row = memo(({n}) => {
        const [clicks] = useState(n), twice = useMemo(() => 2 * clicks, [clicks]);
        return h('li', {className: n % 2 ? 'odd' : 'even', style: {top: n, color: 'red'}}, h('b', null, twice), ' <&> ');
      });
      return [...Array(10).keys()].map(i => () => server.renderToString(h('ul', {id: 'u' + i},
        [...Array(150).keys()].map(n => h(Row, {n: n + i, key: n})))));
    },
  },
  acorn: {
    files: {acorn: 'acorn/dist/acorn.js'},
    steps({acorn}, text) {
      const functions = text.match(/^function \w+\([^]{500,2500}?^}$/gm).slice(0, 20);
      return functions.map(f => () => JSON.stringify(acorn.parse(f, {ecmaVersion: 'latest', locations: true})));
    },
  },
};
