package instrument

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// shape is the form of one insertion.
type shape uint16

const (
	enter     shape = iota // at the head of a function's block
	head                   // at the head of the program
	leave                  // at its end
	leaveKept              // leave of a function with enterKept, behind its blocks
	enterKept              // enter of a function with blocks that may run after its return
	arrow                  // before the expression of an arrow function
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
	given          // before the text of eval
	givenEnd
	// The following ones are for policies.
	giveAlso  // behind another giveNothing
	loopHead  // at the head of a loop's block
	loopBlock // before the body of a loop that is a single statement
	loopBlockEnd
	loop // before a loop
	loopEnd
	around // before an expression
	aroundEnd
	aroundList // the same for a list with commas
	aroundListEnd
	inner // before an operand
	innerEnd
	shapes
)

// opens reports whether the insertion is before its node. Others are behind their node.
func (s shape) opens() bool {
	switch s {
	case enter, enterKept, head, arrow, arrowBlock, give, giveList, caught, finally, resume, suspend, loopHead,
		loopBlock, loop, around, aroundList, inner, given:
		return true
	}
	return false
}

// timing has the insertions of Time. A number sign is the function's number.
var timing = [shapes]string{
	enter: "let d=E(#);", enterKept: "let d=E(#,0,1);", leave: ";R(d)", leaveKept: ";R(d,0,1)",
	arrow: "R(E(#),", arrowEnd: ")", arrowBlock: "{let d=E(#);return R(d,", arrowBlockEnd: ")}",
	give: "R(d,", giveEnd: ")", giveList: "R(d,(", giveListEnd: "))", giveNothing: " R(d)", giveAlso: ",R(d)",
	terminate: ";", caught: "K(d);", finally: "let x=F(d);", finallyEnd: ";C(x)",
	resume: "r(d,", suspend: "s(d,", suspendEnd: "))", suspendNothing: " s(d))",
}

// Outside is the kind of a program whose code outside functions is measured.
type Outside uint8

const (
	// Functions measures functions only.
	Functions Outside = iota
	// OfScript measures a script. Its variables would be the page's, so the runtime keeps its call.
	OfScript
	// OfModule measures a module. Its call is a variable of the module.
	OfModule
)

// outsides have the insertions of code outside functions. A script cannot return, and has no await.
// A page may evaluate a script, and a declaration in a block keeps its value.
var outsides = [...][shapes]string{
	OfScript: {enter: "B(#);", leave: ";{let x=Q(#)}", caught: "k(#);", finally: "k(#);"},
	OfModule: withEnter(timing, "let d=E(#,3);"),
}

func withEnter(templates [shapes]string, text string) [shapes]string {
	templates[enter] = text
	return templates
}

// Gate is how a function is measured.
type Gate uint8

const (
	// Measured functions have all calls recorded.
	Measured Gate = iota
	// Slow functions do, until the page finds them fast.
	Slow
	// Undecided functions have calls recorded that begin a task or are calls by slow functions.
	Undecided
	// Fast functions have no calls recorded. The page knows them as callers of others.
	Fast
	// Unmeasured functions have no insertions.
	Unmeasured
	undecidedPassing // as Undecided, with values passed to R
	fastPassing
	gates
	passing = undecidedPassing - Undecided
)

// closes reports whether calls may pass unrecorded.
func (g Gate) closes() bool { return g == Undecided || g == Fast }

// enters are the calls of E. G has the gates of the page's functions, and of its stack.
var enters = [gates]string{Slow: "E(#,1)", Undecided: "G[#]<G[0]&&E(#)", Fast: "G[#]<G[0]&&E(#,2)",
	undecidedPassing: "G[#]<G[0]&&E(#)", fastPassing: "G[#]<G[0]&&E(#,2)"}

// gated has the insertions of functions whose gate may be closed. It makes no calls then.
var gated = [shapes]string{
	enter: "let d=E(#),y;", leave: ";d&&R(d)", arrow: "R(E(#),", arrowEnd: ")",
	arrowBlock: "{let d=E(#),y=", arrowBlockEnd: ";d&&R(d);return y}",
	give: "y=", giveEnd: ",d&&R(d),y", giveList: "y=(", giveListEnd: "),d&&R(d),y", giveNothing: " void(d&&R(d))",
	giveAlso: ",void(d&&R(d))", terminate: ";", caught: "d&&K(d);", finally: "let x=d&&F(d);", finallyEnd: ";x&&C(x)",
	resume: "r(d,", suspend: "s(d,", suspendEnd: "))", suspendNothing: " s(d))",
}

// counting has the insertions of Count.
var counting = [shapes]string{
	enter: "E(#);", arrow: "(E(#),", arrowEnd: ")", arrowBlock: "{E(#);return ", arrowBlockEnd: "}",
}

// ofPolicies has the insertions of policies. Capital letters are the functions. A letter d is a
// variable. The sign @ is the list of the parameters. The sign % is the text of a replacement. A
// sign @ behind it is its this and its arguments.
var ofPolicies = map[policy.Edit][shapes]string{
	policy.Head: {enter: "E(#);", arrow: "(E(#),", arrowEnd: ")", arrowBlock: "{E(#);return ", arrowBlockEnd: "}",
		loopHead: "let d=E(#);", loopBlock: "{let d=E(#);", loopBlockEnd: "}"},
	policy.Loop: {loopHead: "let d=E(#);", loopBlock: "{let d=E(#);", loopBlockEnd: "}", loop: "{let d=R(#);",
		loopEnd: "}"},
	policy.Around: {around: "E(#,", aroundEnd: ")", aroundList: "E(#,(", aroundListEnd: "))"},
	policy.Right:  {around: "E(#,", aroundEnd: ")", inner: "R(#,", innerEnd: ")"},
	policy.Store:  {around: "E(#,", aroundEnd: ")", inner: "R(#,", innerEnd: ")"},
	policy.Frame: {enter: "let d=E(#@);", leave: ";R(d)", arrow: "R(E(#@),", arrowEnd: ")",
		arrowBlock: "{let d=E(#@);return R(d,", arrowBlockEnd: ")}", give: "R(d,", giveEnd: ")", giveList: "R(d,(",
		giveListEnd: "))", giveNothing: " R(d)", giveAlso: ",R(d)"},
	policy.Replace: {enter: "let d=E(#);if(I(d))return R(d,A(d,%@));", leave: ";R(d)",
		arrowBlock: "{let d=E(#);if(I(d))return R(d,A(d,%@));return R(d,", arrowBlockEnd: ")}", give: "R(d,",
		giveEnd: ")", giveList: "R(d,(", giveListEnd: "))", giveNothing: " R(d)", giveAlso: ",R(d)"},
}

// form is the text of an insertion: before the number, behind it, and behind the parameters. The
// number may be there again.
type form struct {
	before, after, again, end string
	id, twice, parameters     bool
	of                        policy.Points
}

func (f *form) size() int { return len(f.before) + len(f.after) + len(f.again) + len(f.end) }

// forms returns the insertions of a plan: those of its shape, and of each Points. Those of gates
// begin at atGates, and those of code outside functions at atOutside. The names that stand for
// letters get the nonce.
func forms(plan Plan) (all []form, atGates, atOutside shape) {
	add := func(templates [shapes]string, names map[byte]string, of policy.Points) {
		for _, template := range templates {
			var b strings.Builder
			for i := range len(template) {
				c := template[i]
				alone := (i == 0 || !identifier(template[i-1])) && (i+1 == len(template) || !identifier(template[i+1]))
				switch name := names[c]; {
				case !alone || !identifier(c) || c <= '9':
					b.WriteByte(c)
				case name != "":
					b.WriteString(name + plan.Nonce)
				default:
					b.WriteString(string(c) + plan.Nonce)
				}
			}
			var f form
			f.before, f.after, f.id = strings.Cut(b.String(), "#")
			f.after, f.end, f.parameters = strings.Cut(f.after, "@")
			f.after, f.again, f.twice = strings.Cut(f.after, "#")
			f.after, f.of = strings.ReplaceAll(f.after, "%", of.Text), of
			all = append(all, f)
		}
	}
	templates := [shapes]string{terminate: ";"}
	switch plan.Shape {
	case Count:
		templates = counting
	case Time:
		templates = timing
	}
	if plan.Page {
		templates[given], templates[givenEnd] = "v(eval,", ")"
	}
	add(templates, nil, policy.Points{})
	all[head].before, all[terminate].before = plan.Head, ";"
	for _, p := range plan.Policies {
		for _, at := range p.Points {
			add(ofPolicies[at.Edit], map[byte]string{'E': at.Call, 'R': at.Call + "1", 'I': at.Call + "2",
				'A': at.Call + "3", 'd': at.Call + "_"}, at)
		}
	}
	if plan.Outside != Functions && plan.Shape == Time {
		atOutside = shape(len(all))
		add(outsides[plan.Outside], nil, policy.Points{})
	}
	if plan.Gate == nil || plan.Shape != Time {
		return all, 0, atOutside
	}
	atGates = shape(len(all))
	for g := Slow; g < gates; g++ {
		templates := timing
		if g.closes() {
			templates = gated
		}
		if g == Slow {
			templates[around], templates[aroundEnd] = "R(E(#,4),", ")"
		}
		for s := range templates {
			templates[s] = strings.Replace(templates[s], "E(#)", enters[g], 1)
		}
		templates[enterKept] = "" // gates keep all calls
		add(templates, nil, policy.Points{})
	}
	return all, atGates, atOutside
}

// identifier reports whether a byte may be part of an identifier.
func identifier(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// edit is an insertion at a place of the original.
type edit struct {
	at   uint32
	node uint32 // the index of its node
	id   uint32 // the number of the function or point, if the form has one
	form uint16 // index in the editor's forms
	// order is that of insertions of one node: from the outermost on.
	order     uint8
	semicolon bool // one precedes an insertion that opens, or follows one that ends
}

func (e *edit) shape() shape { return shape(e.form % uint16(shapes)) }

func (e *edit) opens() bool { return e.shape().opens() }

// rank is 0 for ends inside of their node. These precede ends behind it.
func (e *edit) rank() int {
	if s := e.shape(); s == arrowEnd || s == arrowBlockEnd {
		return 0
	}
	return 1
}

// compareEdits orders edits at one place. An outer node opens before an inner one and closes after
// it. A node closes before the next one opens. A node without width opens first.
func compareEdits(a, b edit) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	switch aOpens, bOpens := a.opens(), b.opens(); {
	case aOpens && bOpens:
		return cmp.Or(cmp.Compare(b.node, a.node), cmp.Compare(a.order, b.order))
	case !aOpens && !bOpens:
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.order, a.order))
	case a.node < b.node, aOpens && a.node == b.node:
		return -1
	default:
		return 1
	}
}

// result writes the program with its edits.
func (e *editor) result() Result {
	slices.SortFunc(e.edits, compareEdits)
	r := Result{Insertions: make([]Insertion, 0, len(e.edits)), Functions: e.functions, Points: e.points}
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
	f := &e.forms[ed.form]
	out.WriteString(e.mark)
	if ed.semicolon && ed.opens() {
		out.WriteByte(';')
	} else if ed.at > 0 && identifier(e.tree.Source[ed.at-1]) && identifier(f.before[0]) && ed.opens() {
		out.WriteByte(' ')
	}
	out.WriteString(f.before)
	if f.id {
		out.Write(strconv.AppendUint(make([]byte, 0, 10), uint64(ed.id), 10))
	}
	out.WriteString(f.after)
	if f.twice {
		out.Write(strconv.AppendUint(make([]byte, 0, 10), uint64(ed.id), 10))
		out.WriteString(f.again)
	}
	if f.parameters {
		e.parameters(out, int(ed.node), f.of)
	}
	out.WriteString(f.end)
	if ed.semicolon && !ed.opens() {
		out.WriteByte(';')
	}
	out.WriteString(e.mark)
}

// parameters writes those of a function if all are names. Arrow functions have no this.
func (e *editor) parameters(out *strings.Builder, function int, of policy.Points) {
	isArrow := e.tree.Nodes[function].Kind == ecma.ArrowFunctionExpression
	if of.Edit == policy.Replace {
		if !isArrow {
			out.WriteString(",this,arguments")
			return
		}
		out.WriteString(",void 0")
	}
	list := int(e.tree.Nodes[function-1].First) - 1
	var names []string
	for child := range e.tree.Children(list) {
		if e.tree.Nodes[child].Kind != ecma.Identifier {
			return
		}
		names = append(names, e.tree.Text(child))
	}
	if of.This && !isArrow {
		names = append(names, "this")
	}
	slices.Reverse(names)
	out.WriteString(",[" + strings.Join(names, ",") + "]")
}
