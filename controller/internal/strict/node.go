package strict

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxNodes bounds what aliases can make of a file.
const maxNodes = 50_000

// Resolve goes through anchors and aliases.
func (r *Reader) Resolve(n ast.Node) (ast.Node, error) {
	for {
		if r.nodes++; r.nodes > maxNodes {
			return nil, r.Errorf(n, "aliases make more than %d values of this file", maxNodes)
		}
		switch a := n.(type) {
		case *ast.AnchorNode:
			if r.anchors == nil {
				r.anchors = map[string]ast.Node{}
			}
			r.anchors[a.Name.GetToken().Value] = a.Value
			n = a.Value
		case *ast.AliasNode:
			name := a.Value.GetToken().Value
			to, ok := r.anchors[name]
			if !ok {
				return nil, r.Errorf(n, "nothing above is called &%s", name)
			}
			n = to
		case *ast.TagNode:
			return nil, r.Errorf(n, "tag %s: none is needed here", a.GetToken().Value)
		default:
			return n, nil
		}
	}
}

// Exhausted reports whether aliases made too many values. All later values are errors then.
func (r *Reader) Exhausted() bool { return r.nodes > maxNodes }

// Pair is a key of a mapping and its value.
type Pair struct {
	Key   string
	At    ast.Node
	Value ast.Node
}

// Pairs returns a mapping's keys, each of which is there once.
func (r *Reader) Pairs(n ast.Node, what string) (all []Pair, err error) {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return nil, r.Errorf(n, "%s is %s: must be keys and values", what, Kind(n))
	}
	lines := map[string]int{}
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		switch {
		case v.Key.IsMergeKey():
			return nil, r.Errorf(v.Key, "<< merges nothing here: write the keys out")
		case !ok:
			return nil, r.Errorf(v.Key, "%s is not a key of %s", v.Key, what)
		case lines[key.Value] > 0:
			return nil, r.Errorf(key, "%s has %s twice: first in line %d", what, key.Value, lines[key.Value])
		}
		lines[key.Value] = Position(key).Line
		all = append(all, Pair{key.Value, key, v.Value})
	}
	return all, nil
}

// Text returns a scalar's text, and whether the file marks it as such by quotes or a block.
func Text(n ast.Node) (s string, quoted, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		t := n.GetToken().Type
		return n.Value, t == token.DoubleQuoteType || t == token.SingleQuoteType, true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, false, true
	}
	return "", false, false
}

// Kind says what a node is, to somebody who wrote something else than was wanted.
func Kind(n ast.Node) string {
	switch n.Type() {
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.BoolType:
		return "true or false"
	case ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number"
	case ast.NullType:
		return "nothing"
	}
	return "text"
}

// Position returns where a node begins: a mapping's own token is its first colon.
func Position(n ast.Node) *token.Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return Position(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return Position(m.Key)
	}
	return n.GetToken().Position
}
