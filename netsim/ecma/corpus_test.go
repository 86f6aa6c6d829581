package ecma_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// program is a file of the corpus.
type program struct {
	Path   string `json:"path"`
	Module bool   `json:"module"`
}

func (p program) goal() ecma.Goal {
	if p.Module {
		return ecma.Module
	}
	return ecma.Script
}

// realPrograms are bundles of libraries, with comments and minified.
var realPrograms = []program{
	{"testdata/node_modules/acorn/dist/acorn.js", false},
	{"testdata/node_modules/acorn/dist/acorn.mjs", true},
	{"testdata/node_modules/jquery/dist/jquery.js", false},
	{"testdata/node_modules/jquery/dist/jquery.min.js", false},
	{"testdata/node_modules/lodash/lodash.js", false},
	{"testdata/node_modules/lodash/lodash.min.js", false},
	{"../../deploy/server/webui/node_modules/typescript/lib/typescript.js", false},
}

// needed returns a file from npm or a program. Only a laptop may be without.
func needed(t testing.TB, path string, err error) {
	t.Helper()
	if err == nil {
		_, err = os.Stat(path)
	}
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%v: make webui", err)
	default:
		t.Skipf("%v: make webui", err)
	}
}

// parserTests returns the programs of test262-parser-tests that every parser must accept.
func parserTests(t testing.TB) (all []program) {
	const folder = "testdata/node_modules/test262-parser-tests/pass"
	needed(t, folder, nil)
	for _, dir := range []string{folder, folder + "-explicit"} {
		files, err := filepath.Glob(dir + "/*.js")
		if err != nil || len(files) < 1000 {
			t.Fatalf("%d tests in %s: %v", len(files), dir, err)
		}
		for _, f := range files {
			all = append(all, program{f, strings.HasSuffix(f, ".module.js")})
		}
	}
	return all
}

// estree has the names of all kinds that ESTree has too.
var estree = map[ecma.Kind]string{
	ecma.Program: "Program", ecma.EmptyStatement: "EmptyStatement",
	ecma.ExpressionStatement: "ExpressionStatement", ecma.BlockStatement: "BlockStatement",
	ecma.DebuggerStatement: "DebuggerStatement", ecma.WithStatement: "WithStatement",
	ecma.ReturnStatement: "ReturnStatement", ecma.LabeledStatement: "LabeledStatement",
	ecma.BreakStatement: "BreakStatement", ecma.ContinueStatement: "ContinueStatement",
	ecma.IfStatement: "IfStatement", ecma.SwitchStatement: "SwitchStatement", ecma.SwitchCase: "SwitchCase",
	ecma.ThrowStatement: "ThrowStatement", ecma.TryStatement: "TryStatement", ecma.CatchClause: "CatchClause",
	ecma.WhileStatement: "WhileStatement", ecma.DoWhileStatement: "DoWhileStatement",
	ecma.ForStatement: "ForStatement", ecma.ForInStatement: "ForInStatement",
	ecma.ForOfStatement: "ForOfStatement", ecma.FunctionDeclaration: "FunctionDeclaration",
	ecma.VariableDeclaration: "VariableDeclaration", ecma.VariableDeclarator: "VariableDeclarator",
	ecma.ClassDeclaration: "ClassDeclaration", ecma.ThisExpression: "ThisExpression", ecma.Super: "Super",
	ecma.ArrayExpression: "ArrayExpression", ecma.ObjectExpression: "ObjectExpression", ecma.Property: "Property",
	ecma.FunctionExpression: "FunctionExpression", ecma.ArrowFunctionExpression: "ArrowFunctionExpression",
	ecma.ClassExpression: "ClassExpression", ecma.ClassBody: "ClassBody",
	ecma.MethodDefinition: "MethodDefinition", ecma.PropertyDefinition: "PropertyDefinition",
	ecma.StaticBlock: "StaticBlock", ecma.UnaryExpression: "UnaryExpression",
	ecma.UpdateExpression: "UpdateExpression", ecma.BinaryExpression: "BinaryExpression",
	ecma.LogicalExpression: "LogicalExpression", ecma.AssignmentExpression: "AssignmentExpression",
	ecma.ConditionalExpression: "ConditionalExpression", ecma.CallExpression: "CallExpression",
	ecma.NewExpression: "NewExpression", ecma.MemberExpression: "MemberExpression",
	ecma.ChainExpression: "ChainExpression", ecma.SequenceExpression: "SequenceExpression",
	ecma.YieldExpression: "YieldExpression", ecma.AwaitExpression: "AwaitExpression",
	ecma.TemplateLiteral: "TemplateLiteral", ecma.TaggedTemplateExpression: "TaggedTemplateExpression",
	ecma.SpreadElement: "SpreadElement", ecma.MetaProperty: "MetaProperty",
	ecma.ImportExpression: "ImportExpression", ecma.ParenthesizedExpression: "ParenthesizedExpression",
	ecma.Identifier: "Identifier", ecma.PrivateIdentifier: "PrivateIdentifier", ecma.Literal: "Literal",
	ecma.ObjectPattern: "ObjectPattern", ecma.ArrayPattern: "ArrayPattern",
	ecma.AssignmentPattern: "AssignmentPattern", ecma.RestElement: "RestElement",
	ecma.ImportDeclaration: "ImportDeclaration", ecma.ImportSpecifier: "ImportSpecifier",
	ecma.ImportDefaultSpecifier:   "ImportDefaultSpecifier",
	ecma.ImportNamespaceSpecifier: "ImportNamespaceSpecifier", ecma.ImportAttribute: "ImportAttribute",
	ecma.ExportNamedDeclaration: "ExportNamedDeclaration", ecma.ExportSpecifier: "ExportSpecifier",
	ecma.ExportDefaultDeclaration: "ExportDefaultDeclaration", ecma.ExportAllDeclaration: "ExportAllDeclaration",
}

// span is a node as both parsers report it.
type span struct{ Kind, Start, End int32 }

// The kinds of functions have flags.
const (
	async     = 256
	generator = 512
)

func compareSpans(a, b span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Kind, b.Kind))
}

// spans returns the nodes that ESTree has too.
func spans(tree *ecma.Tree) (all []span) {
	for _, n := range tree.Nodes {
		if n.Kind != ecma.Params && n.Kind != ecma.Modifier && (n.Kind != ecma.EmptyStatement || n.Start < n.End) {
			kind := int32(n.Kind)
			if n.Kind.IsFunction() && n.Flags&ecma.Async != 0 {
				kind |= async
			}
			if n.Kind.IsFunction() && n.Flags&ecma.Generator != 0 {
				kind |= generator
			}
			all = append(all, span{kind, int32(n.Start), int32(n.End)})
		}
	}
	return distinct(all)
}

// distinct sorts spans. A name that is a key and a value at once counts once.
func distinct(all []span) []span {
	slices.SortFunc(all, compareSpans)
	return slices.Compact(all)
}

// acornSpans returns the nodes that acorn finds in each program, or nil if it rejects it.
func acornSpans(t *testing.T, programs []program) [][]span {
	node, err := exec.LookPath("node")
	needed(t, "testdata/node_modules/acorn", err)
	input, err := json.Marshal(map[string]any{"kinds": estree, "files": programs})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/acorn.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]span
	next := func() int32 {
		if len(out) < 4 {
			t.Fatalf("acorn's output ends in program %d", len(all))
		}
		n := int32(binary.LittleEndian.Uint32(out))
		out = out[4:]
		return n
	}
	for range programs {
		var found []span
		for range next() {
			found = append(found, span{next(), next(), next()})
		}
		all = append(all, distinct(found))
	}
	return all
}

// differences describes the first spans that only one parser has.
func differences(src string, ours, theirs []span) (all []string) {
	add := func(who string, s span) {
		kind := estree[ecma.Kind(s.Kind%async)]
		text := src[s.Start:s.End]
		all = append(all, fmt.Sprintf("only %s has %s|%d %d–%d %.60q", who, kind, s.Kind/async, s.Start, s.End, text))
	}
	for len(ours)+len(theirs) > 0 && len(all) < 6 {
		switch {
		case len(theirs) == 0 || len(ours) > 0 && compareSpans(ours[0], theirs[0]) < 0:
			add("ecma", ours[0])
			ours = ours[1:]
		case len(ours) == 0 || compareSpans(ours[0], theirs[0]) > 0:
			add("acorn", theirs[0])
			theirs = theirs[1:]
		default:
			ours, theirs = ours[1:], theirs[1:]
		}
	}
	return all
}

// TestSpansOfAcorn parses real programs and test262's, and compares kind and span of every node
// with acorn's.
func TestSpansOfAcorn(t *testing.T) {
	programs := append(slices.Clone(realPrograms), parserTests(t)...)
	rejected := map[string]bool{}
	for i, c := range snippets(t) {
		p := program{filepath.Join(t.TempDir(), fmt.Sprint(i, ".js")), c.goal == ecma.Module}
		if err := os.WriteFile(p.Path, []byte(c.src), 0o600); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
		if strings.HasPrefix(c.name, "acorn rejects") {
			rejected[p.Path] = true
		}
	}
	accepted, byAcorn, compared := 0, 0, 0
	for i, theirs := range acornSpans(t, programs) {
		p := programs[i]
		needed(t, p.Path, nil)
		src, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := ecma.Parse(string(src), p.goal())
		if err != nil {
			t.Errorf("%s: %v\n%.200q", p.Path, err, src)
			continue
		}
		accepted++
		checkTree(t, tree)
		if theirs == nil {
			if !rejected[p.Path] {
				t.Errorf("acorn rejects %s: %.100q", p.Path, src)
			}
			continue
		}
		ours := spans(tree)
		byAcorn++
		compared += len(ours)
		if d := differences(string(src), ours, theirs); d != nil {
			t.Errorf("%s:\n%s", p.Path, strings.Join(d, "\n"))
		}
	}
	t.Logf("%d programs: ecma accepts %d, acorn %d; %d spans compared", len(programs), accepted, byAcorn, compared)
	if compared < 1e6 {
		t.Errorf("only %d spans were compared", compared)
	}
}

// checkTree checks the shape of a tree: children are inside their parent, ordered and disjoint.
func checkTree(t testing.TB, tree *ecma.Tree) {
	for n, node := range tree.Nodes {
		if node.Start > node.End || int(node.First) > n {
			t.Fatalf("node %d is %+v", n, node)
		}
		next := node.End
		for c := range tree.Children(n) {
			child := tree.Nodes[c]
			// A pattern's default repeats the name that is also the key.
			if child.Start < node.Start || child.End > next {
				t.Fatalf("child %d %+v of node %d %+v ends after %d", c, child, n, node, next)
			}
			next = child.Start
		}
	}
	if root := tree.Nodes[len(tree.Nodes)-1]; root.Kind != ecma.Program || root.First != 0 {
		t.Fatalf("the root is %+v", root)
	}
}
