package instrument

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/netsim/ecma"
)

const (
	anonymous = "(anonymous)"
	maxName   = 80 // bytes
)

// naming is the name of a function, and the offset of its identifier; -1 without one.
type naming struct {
	text string
	at   int
}

// names returns the names of a program's functions, in the order of [Result.Functions]. A function
// without a name has that of the variable, property or member to which it is assigned.
func names(tree *ecma.Tree) (all []naming) {
	given := map[int]naming{}
	for i, n := range tree.Nodes {
		switch n.Kind {
		case ecma.VariableDeclarator, ecma.AssignmentExpression, ecma.AssignmentPattern, ecma.Property,
			ecma.MethodDefinition, ecma.PropertyDefinition:
			if int(n.First) == i || i == 0 {
				continue
			}
			value := i - 1
			for tree.Nodes[value].Kind == ecma.ParenthesizedExpression {
				value--
			}
			if target := int(tree.Nodes[i-1].First) - 1; tree.Nodes[value].Kind.IsFunction() && target >= int(n.First) {
				n := naming{cmp.Or(targetName(tree, target), anonymous), -1}
				if t := tree.Nodes[target]; t.Kind == ecma.Identifier || t.Kind == ecma.PrivateIdentifier {
					n.at = int(t.Start)
				}
				given[value] = n
			}
		case ecma.ExportDefaultDeclaration:
			if tree.Nodes[i-1].Kind.IsFunction() {
				given[i-1] = naming{"default", -1}
			}
		}
	}
	for i, n := range tree.Nodes {
		if n.Kind.IsFunction() {
			all = append(all, cmp.Or(ownName(tree, i), given[i], naming{anonymous, -1}))
		}
	}
	return all
}

// ownName returns the name in a function's head.
func ownName(tree *ecma.Tree, i int) naming {
	first := -1
	for child := range tree.Children(i) {
		first = child
	}
	if tree.Nodes[i].Kind == ecma.ArrowFunctionExpression || first < 0 || tree.Nodes[first].Kind != ecma.Identifier {
		return naming{}
	}
	return naming{short(tree.Text(first)), int(tree.Nodes[first].Start)}
}

// targetName returns the name of a variable, key or member.
func targetName(tree *ecma.Tree, i int) string {
	text := tree.Text(i)
	switch tree.Nodes[i].Kind {
	case ecma.Identifier, ecma.PrivateIdentifier:
		return short(text)
	case ecma.Literal:
		if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') {
			text = text[1 : len(text)-1]
		}
		return short(text)
	case ecma.MemberExpression:
		if len(text) > maxName || strings.ContainsAny(text, " \t\r\n(") {
			// The property alone is short.
			return targetName(tree, i-1)
		}
		return short(text)
	}
	return ""
}

// short cuts a name and removes control characters.
func short(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
}

// position is a place in a text, from 1. Columns count UTF-16 code units.
type position struct{ line, column int }

// walker finds the positions of ascending offsets.
type walker struct {
	text string
	at   int
	position
}

// newWalker begins a text at a position of its resource.
func newWalker(text string, begin position) *walker {
	w := &walker{text: text, position: begin}
	if begin == (position{1, 1}) && strings.HasPrefix(text, "\uFEFF") {
		w.at = len("\uFEFF")
	}
	return w
}

// to returns the position of an offset that is not before the one of the last call.
func (w *walker) to(offset int) position {
	for offset = min(offset, len(w.text)); w.at < offset; {
		r, size := utf8.DecodeRuneInString(w.text[w.at:])
		w.at += size
		switch {
		case r == '\r' && strings.HasPrefix(w.text[w.at:], "\n"): // the \n counts
		case r == '\n', r == '\r', r == '\u2028', r == '\u2029':
			w.line, w.column = w.line+1, 1
		case r > 0xFFFF:
			w.column += 2
		default:
			w.column++
		}
	}
	return w.position
}

// maxPointName limits the name of a point, in bytes.
const maxPointName = 60

// describePoints returns names and places of the points of a program that begins at a position.
func describePoints(text string, points []Point, begin position) []PointInfo {
	spans := make([]Function, len(points))
	for i, p := range points {
		spans[i] = Function{Start: p.Start, End: p.End}
	}
	all := make([]PointInfo, len(points))
	for i, f := range describe(text, spans, nil, begin) {
		name := cmp.Or(points[i].Name, text[f.Start:min(f.End, f.Start+4*maxPointName)])
		name = strings.Join(strings.Fields(strings.ToValidUTF8(name, "")), " ")
		if len(name) > maxPointName {
			name = strings.ToValidUTF8(name[:maxPointName], "") + "…"
		}
		all[i] = PointInfo{Policy: points[i].Policy, Name: short(name), Line: f.Line, Column: f.Column, Start: f.Start,
			End: f.End, Off: points[i].Off, Note: points[i].Note}
	}
	return all
}

// describe returns names and places of the functions of a program that begins at a position.
func describe(text string, functions []Function, named []naming, begin position) []FunctionInfo {
	all := make([]FunctionInfo, len(functions))
	type wanted struct {
		offset       uint32
		line, column *int
	}
	places := make([]wanted, 0, 2*len(functions))
	for i, f := range functions {
		all[i] = FunctionInfo{Start: f.Start, End: f.End, Generator: f.Generator, Outside: f.Outside, Caller: f.Caller,
			Name: f.Name}
		of := &all[i]
		places = append(places, wanted{f.Start, &of.Line, &of.Column})
		if i >= len(named) {
			continue
		}
		if of.Name = named[i].text; named[i].at >= 0 {
			places = append(places, wanted{uint32(named[i].at), &of.NameLine, &of.NameColumn})
		}
	}
	slices.SortFunc(places, func(a, b wanted) int { return cmp.Compare(a.offset, b.offset) })
	w := newWalker(text, begin)
	for _, at := range places {
		p := w.to(int(at.offset))
		*at.line, *at.column = p.line, p.column
	}
	return all
}
