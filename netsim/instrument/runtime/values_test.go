package runtime_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

// sums returns the sums of a point's fields.
func sums(r result, point uint32) map[int]float64 {
	all := map[int]float64{}
	for _, one := range r.records(record.Value) {
		if one.ID == point && one.Argument != 65535 {
			all[int(one.Argument)] += one.At
		}
	}
	return all
}

// hostile is a page that replaces what the runtime may use, and counts calls of its own code.
const hostile = `
	let ran = 0;
	const count = () => { ran++; throw new Error('the page'); };
	for (const type of [Map, Set, WeakMap, WeakSet, Function, Array])
		for (const key of Object.getOwnPropertyNames(type.prototype))
			if (typeof Object.getOwnPropertyDescriptor(type.prototype, key).value === 'function' &&
				key !== 'constructor' && key !== 'call')
				type.prototype[key] = count;
	for (const key of Object.getOwnPropertyNames(Reflect)) Reflect[key] = count;
	for (const key of ['keys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'defineProperty']) Object[key] = count;
	Object.prototype.hasOwnProperty = count;
	Object.prototype.value = 7;
	Math.imul = count;
	String.prototype.charCodeAt = count;
	globalThis.WeakRef = globalThis.FinalizationRegistry = globalThis.Map = globalThis.Proxy = undefined;
`

// inspected has objects that notice when they are read.
const inspected = `
	const watch = new Proxy({}, {get: () => () => { touched++; }}), touch = () => { touched++; };
	let touched = 0;
	const traps = {__proto__: null};
	for (const key of ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'isExtensible'])
		traps[key] = touch;
	const proxy = new Proxy({}, traps), revoked = Proxy.revocable([], traps);
	const getter = {plain: 1, get x() { touched++; return {}; }, __proto__: proxy};
	const frozen = Object.freeze({list: Object.freeze([1, proxy, getter])});
`

func TestCacheable(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "cacheable"), Code: `
		const call = (id, f, ...args) => {
			const d = cached$test(id, args);
			rig.pass(2);
			return cached1$test(d, f(...args));
		};
		let n = 0;
		for (let i = 0; i < 10; i++) call(1, x => 2 * x, i % 3);
		for (let i = 0; i < 10; i++) call(2, x => n++, 1);
		const o = {a: 1};
		for (let i = 0; i < 6; i++) { o.a = i >> 1; call(3, x => x.a, o); }
		const primitives = [NaN, NaN, 0, -0, 'a', 'a', 1n, 1n, null, null, Symbol.iterator, 'x'.repeat(2000)];
		for (const v of primitives) call(4, x => x, v);
		for (let i = 0; i < 3; i++) call(5, x => ({}), 1);
		for (let i = 0; i < 300; i++) call(6, x => x, i);
		` + inspected + `
		const read = [proxy, revoked.proxy, getter, frozen, [getter]];
		for (const v of read) for (let i = 0; i < 2; i++) call(7, x => 1, v);
		` + hostile + `
		const list = [1, 2];
		const again = (id, value) => cached1$test(cached$test(id, list), value);
		again(8, 3); again(8, 3); again(9, 3); again(9, 4); again(9, 3);
		let depth = 0;
		const deep = () => { depth++; const d = cached$test(10, list); return cached1$test(d, deep()); };
		try { deep(); } catch (e) {}
		await rig.timers(1000);
		return [touched, ran, depth > 100, cached1$test(undefined, 7)];`})
	if string(r.Value) != "[0,0,true,7]" {
		t.Errorf("code of the page ran: %s", r.Value)
	}
	// The fields are calls, hits, mismatches, time, saved, skipped, keys.
	for point, want := range map[uint32]map[int]float64{
		1: {0: 10, 1: 7, 3: 20, 4: 14, 6: 3},
		2: {0: 2, 2: 1, 3: 4, 6: 1},
		3: {0: 6, 1: 3, 3: 12, 4: 6, 6: 3},
		4: {0: 12, 1: 4, 3: 20, 4: 8, 5: 2, 6: 6},
		5: {0: 2, 2: 1, 3: 4, 6: 1},
		6: {0: 300, 3: 600, 6: 256},
		7: {0: 10, 1: 5, 3: 20, 4: 10, 6: 5},
		8: {0: 2, 1: 1, 3: 0, 4: 0, 6: 1},
		9: {0: 2, 2: 1, 3: 0, 6: 1},
	} {
		if got := sums(r, point); !reflect.DeepEqual(got, want) {
			t.Errorf("point %d: %v, want %v", point, got, want)
		}
	}
}

// fakeDOM has nodes with a parent.
const fakeDOM = `{
	const parents = new WeakMap(), lookUp = WeakMap.prototype.get.call.bind(WeakMap.prototype.get);
	self.Node = class Node {
		#brand = 1;
		get nodeType() { return this.#brand; }
		get isConnected() { return this.getRootNode() === document; }
		getRootNode() { let n = this; while (lookUp(parents, n)) n = lookUp(parents, n); return n; }
	};
	self.NodeList = class NodeList {
		#all;
		constructor(all) { this.#all = all; }
		get length() { return this.#all.length; }
		item(i) { return this.#all[i]; }
	};
	self.MutationRecord = class MutationRecord {
		#list;
		constructor(list) { this.#list = list; }
		get removedNodes() { return this.#list; }
	};
	let observer = () => {};
	const {MutationRecord, NodeList} = self, remove = WeakMap.prototype.delete.call.bind(WeakMap.prototype.delete);
	self.MutationObserver = class MutationObserver { constructor(f) { observer = f; } observe() {} };
	self.attach = n => { parents.set(n, document); return n; };
	self.detach = n => { remove(parents, n); observer([new MutationRecord(new NodeList([n]))]); };
}`

// TestLeaks: memory is really filled until the engine collects.
func TestLeaks(t *testing.T) {
	r := ran(t, realm{Prelude: fakeDOM + prelude(t, "leaks"), Code: `
		const put = (id, object, key, value) => { store1$test(id, object)[key] = store$test(id, value); };
		const app = {}, nodes = [];
		const make = () => attach(new Node());
		const add = (id, object, key, wrap = x => x) => {
			const node = make();
			nodes.push(new WeakRef(node));
			put(id, object, key, wrap(node));
		};
		await rig.turn();
		add(1, app, 'kept'); await rig.turn();
		add(2, app, 'gone'); await rig.turn();
		add(3, app, 'deep', node => ({list: [{node}]})); await rig.turn();
		add(4, app, 'stays'); await rig.turn();
		put(5, app, 'data', {a: [1, 2]}); await rig.turn();
		const cyclic = make();
		put(6, cyclic, 'owner', {view: {of: cyclic}}); await rig.turn();
		const plain = {};
		put(7, plain, 'self', {plain}); await rig.turn();
		try { store1$test(8, app).x = (() => { throw 1; })(); } catch (e) {}
		put(9, Object.freeze({}), 'x', make()); await rig.turn();
		` + inspected + `
		put(10, app, 'frozen', frozen); put(10, proxy, 'x', app); put(10, app, 'getter', getter); await rig.turn();
		for (let i = 0; i < 300; i++) put(11, app, 'many', {});
		await rig.turn();
		const before = touched;
		for (const i of [0, 1, 2]) detach(nodes[i].deref());
		delete app.gone;
		` + hostile + `
		for (let i = 0; i < 20; i++) await rig.timers(500);
		return [before, touched, ran, !!app.kept];`})
	// The store of the page in the proxy reads a descriptor.
	if string(r.Value) != "[1,1,0,true]" {
		t.Errorf("code of the page ran: %s", r.Value)
	}
	// The fields are stores, nodes, cycles, detached, collected, kept, unchecked.
	for point, want := range map[uint32]map[int]float64{
		1: {0: 1, 1: 1, 3: 1, 5: 1}, 2: {0: 1, 1: 1, 3: 1, 4: 1}, 3: {0: 1, 1: 1, 3: 1, 5: 1}, 4: {0: 1, 1: 1},
		5: {0: 1}, 6: {0: 1, 2: 1}, 7: {0: 1}, 8: {}, 9: {0: 1}, 10: {0: 3}, 11: {0: 200, 6: 100},
	} {
		if got := sums(r, point); !reflect.DeepEqual(got, want) {
			t.Errorf("point %d: %v, want %v", point, got, want)
		}
	}
}

// TestAB: both versions count calls, exceptions and the times of outermost calls in the same way.
func TestAB(t *testing.T) {
	for share, first := range map[float64]int{0: 0, 1: 4} {
		p, err := policy.AB{Share: share, Load: -1,
			Replacements: []policy.Replacement{{Function: "f", Text: "() => 1"}}}.Policy()
		if err != nil {
			t.Fatal(err)
		}
		text := runtime.Prelude(runtime.Options{Nonce: nonce, Integrity: true,
			Collector: "http://rig.test/.eideticker/x/",
			Policies:  []runtime.Policy{{Name: p.Name, Text: p.Runtime, Calls: p.Calls(), Objects: p.Objects}}})
		r := ran(t, realm{Prelude: text, Code: `
			const call = (id, f, ...args) => {
				const d = ab$test(id);
				rig.pass(2);
				if (ab2$test(d)) return ab1$test(d, ab3$test(d, f, {x: 1}, args));
				return ab1$test(d, f.apply({x: 1}, args));
			};
			const seen = call(1, function (a) { return [this.x, a].join(); }, 7);
			let depth = 0;
			call(2, function nested() { return depth++ < 3 ? call(2, nested) : 0; });
			let thrown = 0;
			for (let i = 0; i < 3; i++) {
				try { call(3, () => { throw 1; }); } catch (e) { thrown++; }
				await rig.turn();
			}
			call(3, () => 1);
			const apply = Reflect.apply;
			Reflect.apply = Function.prototype.apply = () => { throw 1; };
			const last = ab1$test(undefined, ab3$test(ab$test(4), () => 5, null, []));
			await rig.timers(1000);
			return [seen, thrown, last, ab2$test(1)];`})
		want := map[bool]string{false: `["1,7",3,5,false]`, true: `["1,7",3,5,true]`}[share == 1]
		if string(r.Value) != want {
			t.Errorf("share %g: %s", share, r.Value)
		}
		for point, want := range map[uint32]map[int]float64{
			1: {first: 1, first + 1: 1, first + 2: 1, first + 3: 2},
			2: {first: 4, first + 1: 4, first + 2: 1, first + 3: 8},
			3: {first: 4, first + 1: 1, first + 2: 1, first + 3: 2}, 4: {first: 1},
		} {
			if got := sums(r, point); !reflect.DeepEqual(got, want) {
				t.Errorf("share %g, point %d: %v, want %v", share, point, got, want)
			}
		}
	}
}

// TestLoadsOfAB: loads have both versions, and a load has the same one again.
func TestLoadsOfAB(t *testing.T) {
	versions := ""
	for _, load := range []int{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2} {
		p, err := policy.AB{Share: 0.5, Seed: 7, Load: load,
			Replacements: []policy.Replacement{{Function: "f", Text: "() => 1"}}}.Policy()
		if err != nil {
			t.Fatal(err)
		}
		r := ran(t, realm{Prelude: runtime.Prelude(runtime.Options{Nonce: nonce, Integrity: true,
			Collector: "http://rig.test/.eideticker/x/",
			Policies:  []runtime.Policy{{Name: p.Name, Text: p.Runtime, Calls: p.Calls(), Objects: p.Objects}}}),
			Code: "return +ab2$test(0);"})
		versions += string(r.Value)
	}
	if n := strings.Count(versions[:8], "1"); n < 2 || n > 6 || versions[8:] != versions[:3] {
		t.Errorf("versions of loads: %s", versions)
	}
}
