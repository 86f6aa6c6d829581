package instrument

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// shape is the form of one insertion.
type shape uint8

const (
	enter shape = iota // at the head of a function's block
	head               // at the head of the program
	leave              // at its end
	arrow              // before the expression of an arrow function
	arrowEnd
	arrowBlock // the same, as a block
	arrowBlockEnd
	give // before the argument of return
	giveEnd
	giveList // the same for a list with commas
	giveListEnd
	giveNothing // behind a return without argument
	caught
	finally
	finallyEnd
	resume  // before await or yield
	suspend // before its argument
	suspendEnd
	suspendNothing // behind a yield without argument
	terminate      // at the end of a statement
	shapes
)

// hasID reports whether the number of the function is a part of the insertion.
func (s shape) hasID() bool { return s == enter || s == arrow || s == arrowBlock }

// opens reports whether the insertion is before its node. Others are behind their node.
func (s shape) opens() bool {
	switch s {
	case enter, head, arrow, arrowBlock, give, giveList, caught, finally, suspend, resume:
		return true
	}
	return false
}

// timing has the insertions of Time. A number sign is the function's number.
var timing = [shapes]string{
	enter: "let d=E(#);", leave: ";R(d)", arrow: "R(E(#),", arrowEnd: ")",
	arrowBlock: "{let d=E(#);return R(d,", arrowBlockEnd: ")}",
	give: "R(d,", giveEnd: ")", giveList: "R(d,(", giveListEnd: "))", giveNothing: " R(d)",
	terminate: ";", caught: "K(d);", finally: "let x=F(d);", finallyEnd: ";C(x)",
	resume: "r(d,", suspend: "s(d,", suspendEnd: "))", suspendNothing: " s(d))",
}

// counting has the insertions of Count.
var counting = [shapes]string{
	enter: "E(#);", arrow: "(E(#),", arrowEnd: ")", arrowBlock: "{E(#);return ", arrowBlockEnd: "}",
}

// texts returns the insertions of a plan. The nonce is appended to each name, a single letter.
func texts(plan Plan) (all [shapes]string) {
	var templates [shapes]string
	switch plan.Shape {
	case Count:
		templates = counting
	case Time:
		templates = timing
	}
	for s, template := range templates {
		var b strings.Builder
		for i := range len(template) {
			b.WriteByte(template[i])
			alone := (i == 0 || !identifier(template[i-1])) && (i+1 == len(template) || !identifier(template[i+1]))
			if alone && identifier(template[i]) {
				b.WriteString(plan.Nonce)
			}
		}
		all[s] = b.String()
	}
	all[head] = plan.Head
	return all
}

// identifier reports whether a byte may be part of an identifier.
func identifier(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// edit is an insertion at a place of the original.
type edit struct {
	at   uint32
	node uint32 // the index of its node
	id   uint32 // the number of the function, if the shape has one
	shape
	semicolon bool // one precedes an insertion that opens, or follows one that ends
}

// compareEdits orders edits at one place. An outer node opens before an inner one and closes after
// it. A node closes before the next one opens. A node without width opens first.
func compareEdits(a, b edit) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	switch aOpens, bOpens := a.opens(), b.opens(); {
	case aOpens && bOpens:
		return cmp.Compare(b.node, a.node)
	case !aOpens && !bOpens:
		return cmp.Compare(a.node, b.node)
	case aOpens == (a.node <= b.node):
		return -1
	default:
		return 1
	}
}

// result writes the program with its edits.
func (e *editor) result() Result {
	slices.SortFunc(e.edits, compareEdits)
	r := Result{Insertions: make([]Insertion, 0, len(e.edits)), Functions: e.functions}
	src := e.tree.Source
	var out strings.Builder
	out.Grow(len(src) + e.size)
	done := uint32(0)
	for _, ed := range e.edits {
		out.WriteString(src[done:ed.at])
		done = ed.at
		begin := out.Len()
		e.write(&out, ed)
		r.Insertions = append(r.Insertions, Insertion{uint32(begin), uint32(out.Len() - begin)})
	}
	out.WriteString(src[done:])
	r.Text = out.String()
	return r
}

func (e *editor) write(out *strings.Builder, ed edit) {
	text := e.texts[ed.shape]
	if ed.semicolon && ed.opens() {
		out.WriteByte(';')
	} else if ed.at > 0 && identifier(e.tree.Source[ed.at-1]) && identifier(text[0]) && ed.opens() {
		out.WriteByte(' ')
	}
	if ed.hasID() {
		before, after, _ := strings.Cut(text, "#")
		out.WriteString(before)
		out.Write(strconv.AppendUint(make([]byte, 0, 10), uint64(ed.id), 10))
		text = after
	}
	out.WriteString(text)
	if ed.semicolon && !ed.opens() {
		out.WriteByte(';')
	}
}
