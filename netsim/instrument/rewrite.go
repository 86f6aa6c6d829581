package instrument

import (
	"errors"
	"fmt"
	"hash/fnv"
	"sort"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// Shape selects the insertions.
type Shape uint8

const (
	// Count calls E at each entry of a function.
	Count Shape = iota
	// Time also marks each exit and each suspension.
	Time
	// only inserts the plan's head.
	only
)

// Plan describes the insertions of one program.
type Plan struct {
	Shape Shape
	// Nonce is a part of every inserted name. It may have ASCII letters, digits, $ and _.
	Nonce string
	// First is the number of the program's first function.
	First uint32
	// Gate returns how Time measures the function at an offset; nil: all its calls.
	Gate func(start uint32) Gate
	// Outside has Time measure the code outside functions, too.
	Outside Outside
	// Head is inserted before the first statement, behind directives. It consists of statements.
	Head string
	// Page is set for programs of pages. The text of eval passes the runtime's function v. Marks
	// enclose each insertion, so that the runtime can remove it from texts.
	Page bool

	// Policies have points with insertions. The first one has the number FirstPoint.
	Policies   []policy.Policy
	FirstPoint uint32
	// Active reports whether a point gets insertions, by its policy and its first byte; nil: all.
	Active func(policy string, start uint32) bool

	body bool // the program is one function; only its body is kept
}

// marks are spaces of JavaScript that programs hardly contain. An insertion contains none.
var marks = []string{"\v", "\f"}

// markFor returns a mark that a text does not contain.
func markFor(src string) (string, error) {
	for _, mark := range marks {
		if !strings.Contains(src, mark) {
			return mark, nil
		}
	}
	return "", errors.New("the program contains vertical tabs and form feeds")
}

// Insertion is a part of the rewritten program that the original lacks.
type Insertion struct {
	At, Length uint32 // bytes of the rewritten program
}

// Function is the span of a function in the original, in bytes. End is exclusive.
type Function struct {
	Start, End uint32
	Generator  bool
	Outside    bool // it is the code outside functions
	// Caller is the number of the slow function in which a call has a number; 0: it is a function.
	Caller uint32
	Name   string // of such a call
}

// Result is a rewritten program.
type Result struct {
	Text       string
	Insertions []Insertion // in order
	// Functions has the function with the number Plan.First + index, in the order of their ends.
	// Functions of asm.js are listed and have no insertions. Code outside functions
	// follows them, and then calls in slow functions.
	Functions []Function
	// Points has the point with the number Plan.FirstPoint + index, in the order of their ends.
	Points []Point
}

// Point is the span of a node that a policy wants.
type Point struct {
	Start, End uint32
	Policy     string
	Off        bool // without insertions: they are impossible here, or not active
	node       uint32
	entry      uint8 // counts the Points of all policies
	edit       policy.Edit
	Name, Note string // Name is that of a function; empty: the text of the node is its name
}

// maxGrowth limits the text of all insertions, relative to the program.
const (
	maxGrowth = 8
	minGrowth = 1 << 20
)

// Rewrite inserts the code of a plan. With an error, the result has the unchanged program only.
func Rewrite(src string, goal ecma.Goal, plan Plan) (Result, error) {
	unchanged := Result{Text: src}
	if err := checkNonce(src, plan.Nonce); err != nil {
		return unchanged, err
	}
	tree, err := ecma.Parse(src, goal)
	if err != nil {
		return unchanged, err
	}
	return rewriteTree(tree, plan, pointsOf(tree, plan.Policies, []place{{"", position{1, 1}}}))
}

// rewriteTree is Rewrite for a parsed program without the nonce, and its points.
func rewriteTree(tree *ecma.Tree, plan Plan, points []Point) (Result, error) {
	src := tree.Source
	unchanged := Result{Text: src}
	e := editor{tree: tree, plan: plan, points: points, ended: map[uint32]bool{}}
	e.forms, e.gates, e.outside = forms(plan)
	if plan.Page {
		var err error
		if e.mark, err = markFor(src); err != nil {
			return unchanged, err
		}
	}
	for i := range points {
		points[i].Off = plan.Active != nil && !plan.Active(points[i].Policy, points[i].Start)
	}
	if e.visit(); e.size > maxGrowth*len(src)+minGrowth {
		return unchanged, fmt.Errorf("insertions of %d bytes exceed %d times the program", e.size, maxGrowth)
	}
	r := e.result()
	if err := r.laws(src); err != nil {
		return unchanged, err
	}
	return r, nil
}

// Nonce returns a nonce that the program does not contain. Equal programs have equal nonces.
func Nonce(src string) string {
	h := fnv.New64a()
	h.Write([]byte(src)) // a hash never fails
	for seed, tries := h.Sum64(), 0; ; seed, tries = seed*31+7, tries+1 {
		// Short names keep programs small. Longer ones are for programs that contain many.
		n := "$" + strconv.FormatUint(seed%(36*36<<min(tries, 32)), 36)
		if !strings.Contains(src, n) {
			return n
		}
	}
}

func checkNonce(src, nonce string) error {
	if len(nonce) < 2 || len(nonce) > 32 {
		return fmt.Errorf("nonce %q: must have 2 to 32 characters", nonce)
	}
	for i := range len(nonce) {
		if !identifier(nonce[i]) || nonce[i] >= 0x80 {
			return fmt.Errorf("nonce %q: must consist of ASCII letters, digits, $ and _", nonce)
		}
	}
	if strings.Contains(src, nonce) {
		return fmt.Errorf("nonce %q: the program contains it", nonce)
	}
	return nil
}

// laws checks that the insertions have no line breaks and that their removal gives the original.
func (r *Result) laws(src string) error {
	rest, at := src, uint32(0)
	for _, in := range r.Insertions {
		if in.At < at || uint64(in.At)+uint64(in.Length) > uint64(len(r.Text)) {
			return errors.New("insertions are out of order")
		}
		kept, inserted := r.Text[at:in.At], r.Text[in.At:in.At+in.Length]
		if strings.ContainsAny(inserted, "\n\r\u2028\u2029") {
			return fmt.Errorf("insertion %q contains a line break", inserted)
		}
		if !strings.HasPrefix(rest, kept) {
			return fmt.Errorf("the text before offset %d is not the original", in.At)
		}
		rest, at = rest[len(kept):], in.At+in.Length
	}
	if rest != r.Text[at:] {
		return errors.New("the text after the last insertion is not the original")
	}
	return nil
}

// Verify parses both programs. The rewritten one must have the nodes of the original at the same
// places. All other nodes must begin with an insertion.
func (r *Result) Verify(src string, goal ecma.Goal) error {
	if err := r.laws(src); err != nil {
		return err
	}
	before, err := ecma.Parse(src, goal)
	if err != nil {
		return err
	}
	after, err := ecma.Parse(r.Text, goal)
	if err != nil {
		return fmt.Errorf("parse the rewritten program: %w", err)
	}
	place, kept := r.places(), before.Nodes
	for _, n := range after.Nodes {
		start, inserted := place(n.Start)
		if len(kept) > 0 && n.Kind == kept[0].Kind && start == kept[0].Start {
			end, _ := place(n.End)
			// An inserted semicolon may end a statement, behind its original end.
			_, ends := place(n.End - min(n.End, 1))
			if end == kept[0].End || end > kept[0].End && ends {
				kept = kept[1:]
				continue
			}
		}
		if !inserted {
			return fmt.Errorf("the code at offset %d changed its structure", start)
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("the code at offset %d has lost its structure", kept[0].Start)
	}
	return nil
}

// places returns a function that converts an offset in the rewritten program to one in the
// original. It reports whether the byte at the offset is inserted.
func (r *Result) places() func(at uint32) (original uint32, inserted bool) {
	sum := make([]uint32, len(r.Insertions)+1) // bytes of the insertions before
	for i, in := range r.Insertions {
		sum[i+1] = sum[i] + in.Length
	}
	return func(at uint32) (uint32, bool) {
		after := sort.Search(len(r.Insertions), func(i int) bool { return r.Insertions[i].At > at })
		if after > 0 {
			if in := r.Insertions[after-1]; at < in.At+in.Length {
				return in.At - sum[after-1], true
			}
		}
		return at - sum[after], false
	}
}
