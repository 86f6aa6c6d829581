package policy

import (
	"slices"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// maxHinted limits the nodes of a function whose text is read for hints. Larger ones are not
// selected, so nested functions cost little.
const maxHinted = 2000

// Hints of a function whose result may depend on more than its arguments, or which does more than
// return one.
const (
	hintWrites = "writes outside"
	hintClock  = "clock"
	hintRandom = "random numbers"
	hintDOM    = "DOM"
	hintOutput = "input or output"
)

// hinted has names of globals and of properties. A property has a dot.
var hinted = map[string]string{
	"Date": hintClock, "performance": hintClock, "Temporal": hintClock,
	".random": hintRandom, "crypto": hintRandom,

	"document": hintDOM, "window": hintDOM, "self": hintDOM, "navigator": hintDOM, "location": hintDOM,
	"history": hintDOM, "screen": hintDOM, "getComputedStyle": hintDOM, "matchMedia": hintDOM, "innerWidth": hintDOM,
	"innerHeight": hintDOM, "scrollX": hintDOM, "scrollY": hintDOM, "devicePixelRatio": hintDOM,
	".getBoundingClientRect": hintDOM, ".getClientRects": hintDOM, ".querySelector": hintDOM,
	".querySelectorAll": hintDOM, ".getElementById": hintDOM, ".getAttribute": hintDOM, ".setAttribute": hintDOM,
	".appendChild": hintDOM, ".innerHTML": hintDOM, ".textContent": hintDOM, ".classList": hintDOM,
	".offsetWidth": hintDOM, ".offsetHeight": hintDOM, ".offsetTop": hintDOM, ".offsetLeft": hintDOM,
	".clientWidth": hintDOM, ".clientHeight": hintDOM, ".scrollTop": hintDOM, ".scrollLeft": hintDOM,

	"fetch": hintOutput, "XMLHttpRequest": hintOutput, "WebSocket": hintOutput, "localStorage": hintOutput,
	"sessionStorage": hintOutput, "indexedDB": hintOutput, "alert": hintOutput, "console": hintOutput,
	"postMessage": hintOutput, "setTimeout": hintOutput, "setInterval": hintOutput, "queueMicrotask": hintOutput,
	"requestAnimationFrame": hintOutput, ".addEventListener": hintOutput, ".dispatchEvent": hintOutput,
}

// hints lists why a cache in front of a function may change the page. The function and those inside
// it are read, but not those that it calls.
func hints(t *ecma.Tree, function int) string {
	first := int(t.Nodes[function].First)
	declared := declarations(t, function)
	var found []string
	add := func(hint string) {
		if hint != "" && !slices.Contains(found, hint) {
			found = append(found, hint)
		}
	}
	outer := func(name int) {
		if t.Nodes[name].Kind == ecma.Identifier && declared[t.Text(name)] == undeclared {
			add(hinted[t.Text(name)])
		}
	}
	written := func(target int) {
		field := false
		for ; ; target = t.FirstChild(target) {
			switch t.Nodes[target].Kind {
			case ecma.MemberExpression, ecma.ChainExpression, ecma.ParenthesizedExpression:
				field = field || t.Nodes[target].Kind == ecma.MemberExpression
				continue
			case ecma.Identifier:
				// A parameter's fields are the caller's.
				if kind := declared[t.Text(target)]; kind == undeclared || field && kind == parameter {
					add(hintWrites)
				}
			case ecma.ArrayPattern, ecma.ObjectPattern:
				for i := int(t.Nodes[target].First); i < target; i++ {
					if t.Nodes[i].Kind == ecma.Identifier && declared[t.Text(i)] == undeclared {
						add(hintWrites)
					}
				}
			default:
				add(hintWrites)
			}
			return
		}
	}
	for i := first; i < function; i++ {
		switch n := t.Nodes[i]; n.Kind {
		case ecma.AssignmentExpression, ecma.UpdateExpression, ecma.ForInStatement, ecma.ForOfStatement:
			if target := t.FirstChild(i); t.Nodes[target].Kind != ecma.VariableDeclaration {
				written(target)
			}
		case ecma.UnaryExpression:
			if strings.HasPrefix(t.Text(i), "delete") {
				written(i - 1)
			}
		case ecma.MemberExpression:
			if property := i - 1; t.Nodes[property].End == n.End { // not computed
				add(hinted["."+t.Text(property)])
			}
			outer(t.FirstChild(i))
		case ecma.CallExpression, ecma.NewExpression:
			outer(t.FirstChild(i))
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

// declaration is the kind of a name in a function.
type declaration uint8

const (
	undeclared declaration = iota
	variable
	parameter
)

// declarations returns the names that a function and those inside it declare. Names in the defaults
// of patterns are among them.
func declarations(t *ecma.Tree, function int) map[string]declaration {
	all := map[string]declaration{}
	declare := func(pattern int, kind declaration) {
		for i := int(t.Nodes[pattern].First); i <= pattern; i++ {
			if t.Nodes[i].Kind == ecma.Identifier {
				all[t.Text(i)] = max(all[t.Text(i)], kind)
			}
		}
	}
	for i := int(t.Nodes[function].First); i <= function; i++ {
		switch n := t.Nodes[i]; {
		case n.Kind == ecma.Params:
			declare(i, parameter)
		case n.Kind == ecma.VariableDeclarator:
			declare(t.FirstChild(i), variable)
		case n.Kind == ecma.CatchClause && i > 0:
			if p := t.FirstChild(i); t.Nodes[p].Kind != ecma.BlockStatement {
				declare(p, variable)
			}
		case n.Kind == ecma.FunctionDeclaration, n.Kind == ecma.FunctionExpression, n.Kind == ecma.ClassDeclaration:
			if name := t.FirstChild(i); t.Nodes[name].Kind == ecma.Identifier {
				all[t.Text(name)] = max(all[t.Text(name)], variable)
			}
		}
	}
	return all
}

// contains reports whether the own code of a function has a node. Arrow functions inside share its
// this and arguments, other functions do not.
func contains(t *ecma.Tree, function int, is func(node int) bool) bool {
	first := int(t.Nodes[function].First)
	for i := function - 1; i >= first; i-- {
		if k := t.Nodes[i].Kind; k == ecma.FunctionDeclaration || k == ecma.FunctionExpression {
			i = int(t.Nodes[i].First)
			continue
		}
		if is(i) {
			return true
		}
	}
	return false
}
