package instrument

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/netsim/ecma"
)

const (
	maxPrograms  = 20_000
	maxCached    = 512 << 20 // bytes of originals and rewritten texts
	maxAddresses = 20_000
	oneCached    = 1 << 10 // bytes of a rewritten program beside its texts
)

// Program is one script, module or document that was served.
type Program struct {
	URL  string // without query; the document's for an inline script
	Hash string // SHA-256 of the original, in hexadecimal digits
	Goal string // script, module, document, eval or function
	// Bytes counts the original, and Added the inserted bytes.
	Bytes, Added int
	// First is the number of Functions[0]. Equal texts have equal numbers. Other programs have others.
	First     uint32
	Functions []FunctionInfo
	// FirstPoint is the number of Points[0].
	FirstPoint uint32
	Points     []PointInfo
	Reason     string // why it was served plain; empty: it was not
	Count      int    // of responses with it
}

// FunctionInfo names a function and its place in the original resource.
type FunctionInfo struct {
	Name         string // "(anonymous)" without one
	Line, Column int    // from 1; columns count UTF-16 code units
	Start, End   uint32 // bytes of the program
	// NameLine and NameColumn are the place of an identifier that is the name; 0: there is none.
	NameLine, NameColumn int
	Generator            bool
	Outside              bool // it is the program's code outside functions
	// Caller is the number of the slow function in which a call has a number; 0: it is a function.
	Caller uint32
}

// PointInfo is a node that a policy wants.
type PointInfo struct {
	Policy, Name string // Name is a short text of the node
	Line, Column int
	Start, End   uint32
	Off          bool // without insertions
	Note         string
}

// Programs returns the programs that were served, in the order of their first responses.
func (in *Instrument) Programs() []Program {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := make([]Program, len(in.programs))
	for i, p := range in.programs {
		all[i] = *p
	}
	return all
}

// programKey tells programs apart. A document may contain the same script twice.
type programKey struct {
	url, hash, reason string
	position
	first uint32 // a page may run the text of a script as another kind of program, with other numbers
}

// serves counts a rewritten program at a position of a response.
func (in *Instrument) serves(url string, at position, src string, c *code) {
	if c.reason != "" {
		in.servesPlain(url, c.goal, c.hash, len(src), c.reason)
		return
	}
	in.count(programKey{url, c.hash, "", at, c.first}, func() *Program {
		return &Program{URL: url, Hash: c.hash, Goal: c.goal, Bytes: len(src), Added: len(c.result.Text) - len(src),
			First: c.first, Functions: describe(src, c.result.Functions, c.names, at), FirstPoint: c.firstPoint,
			Points: describePoints(src, c.result.Points, at)}
	})
}

// count counts a program, and lists it at its first response.
func (in *Instrument) count(k programKey, make func() *Program) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := in.known[k]
	if p == nil {
		if len(in.programs) >= maxPrograms {
			return
		}
		p = make()
		in.known[k] = p
		in.programs = append(in.programs, p)
	}
	p.Count++
}

// servesPlain counts a program or document that is served unchanged.
func (in *Instrument) servesPlain(url, goal, hash string, bytes int, reason string) {
	in.count(programKey{url: url, hash: hash, reason: reason}, func() *Program {
		return &Program{URL: url, Hash: hash, Goal: goal, Bytes: bytes, Reason: reason}
	})
}

func hashOf[T string | []byte](src T) string {
	sum := sha256.Sum256([]byte(src))
	return hex.EncodeToString(sum[:])
}

// code is a rewritten program, independent of its place.
type code struct {
	once  sync.Once
	hash  string
	goal  string
	first uint32
	// firstPoint is the number of the first point.
	firstPoint uint32
	result     Result
	names      []naming
	reason     string
	packed     map[string][]byte // by content codings
}

// codeKey is all that a rewritten program depends on.
type codeKey struct {
	hash string
	goal goal
	head string
}

// goal is the grammar of a program.
type goal string

// The goals. Scripts and modules may be the other, if a text cannot be parsed otherwise.
const (
	scriptGoal goal = "script"
	moduleGoal goal = "module"
	evalGoal   goal = "eval"
	// commonJSGoal is that of Node. The module is a function.
	commonJSGoal goal = "commonjs"
)

// bodies are the goals of function bodies, with the begins of their functions.
var bodies = map[goal]string{
	commonJSGoal: "function module(exports,require,module,__filename,__dirname){",
	"function":   "function anonymous(){", "generator": "function* anonymous(){",
	"async": "async function anonymous(){", "asyncgenerator": "async function* anonymous(){",
}

// begin returns the begin of the function whose body the program is, or nothing. The name of an
// event handler's attribute is a goal.
func (g goal) begin() string {
	if slices.Contains(handlers, string(g)) {
		return "function " + string(g) + "(){"
	}
	return bodies[g]
}

// handlers are the attributes of HTML whose values are function bodies.
var handlers = strings.Fields("" +
	"onabort onafterprint onanimationcancel onanimationend onanimationiteration onanimationstart onauxclick " +
	"onbeforecopy onbeforecut onbeforeinput onbeforematch onbeforepaste onbeforeprint onbeforetoggle " +
	"onbeforeunload onbegin onblur oncancel oncanplay oncanplaythrough onchange onclick onclose oncontextmenu " +
	"oncopy oncuechange oncut ondblclick ondrag ondragend ondragenter ondragleave ondragover ondragstart " +
	"ondrop ondurationchange onemptied onend onended onerror onfocus onfocusin onfocusout onformdata " +
	"onfullscreenchange onfullscreenerror ongotpointercapture onhashchange oninput oninvalid onkeydown " +
	"onkeypress onkeyup onlanguagechange onload onloadeddata onloadedmetadata onloadstart onlostpointercapture " +
	"onmessage onmessageerror onmousedown onmouseenter onmouseleave onmousemove onmouseout onmouseover " +
	"onmouseup onmousewheel onoffline ononline onpagehide onpageshow onpaste onpause onplay onplaying " +
	"onpointercancel onpointerdown onpointerenter onpointerleave onpointermove onpointerout onpointerover " +
	"onpointerrawupdate onpointerup onpopstate onprogress onratechange onrejectionhandled onrepeat onreset " +
	"onresize onscroll onscrollend onsearch onsecuritypolicyviolation onseeked onseeking onselect " +
	"onselectionchange onselectstart onslotchange onstalled onstorage onsubmit onsuspend ontimeupdate ontoggle " +
	"ontouchcancel ontouchend ontouchmove ontouchstart ontransitioncancel ontransitionend ontransitionrun " +
	"ontransitionstart onunhandledrejection onunload onvolumechange onwaiting onwebkitanimationend " +
	"onwebkitanimationiteration onwebkitanimationstart onwebkittransitionend onwheel")

// numbers are those of the functions and points of a text.
type numbers struct {
	first, firstPoint uint32
	count, points     int
}

// rewrite returns a program with insertions. Concurrent calls for one text share the work.
func (in *Instrument) rewrite(src string, goal goal, head string) *code {
	k := codeKey{hashOf(src), goal, head}
	in.mu.Lock()
	c := in.cache[k]
	if c == nil {
		c = &code{hash: k.hash}
		if in.cached += 2*(len(src)+len(head)) + oneCached; in.cached <= maxCached {
			in.cache[k] = c
		}
	}
	in.mu.Unlock()
	c.once.Do(func() {
		c.goal, c.reason = string(goal), "the rewriter failed"
		if goal.begin() != "" && goal != commonJSGoal {
			c.goal = "function"
		}
		c.result.Text = src
		defer func() {
			if failed := recover(); failed != nil {
				c.reason, c.result = fmt.Sprintf("the rewriter failed: %.200v", failed), Result{Text: src}
			}
		}()
		err := in.fill(c, src, goal, head)
		if c.reason = ""; err != nil {
			c.reason, c.result = err.Error(), Result{Text: src}
		}
	})
	return c
}

// fill rewrites a program. The goal that the parser gets further with was meant.
func (in *Instrument) fill(c *code, src string, goal goal, head string) error {
	if err := checkNonce(src, in.o.Nonce); err != nil {
		return err
	}
	begin := goal.begin()
	whole, body, key := src, begin != "", c.hash
	if body {
		whole, key = begin+src+bodyEnd, begin+key
	}
	tree, err := parse(whole, goal)
	var here, other *ecma.Error
	if errors.As(err, &here) && (goal == scriptGoal || goal == moduleGoal) {
		otherGoal := scriptGoal
		if goal == scriptGoal {
			otherGoal = moduleGoal
		}
		again, otherErr := parse(src, otherGoal)
		if otherErr == nil || errors.As(otherErr, &other) && other.Offset > here.Offset {
			tree, err, c.goal = again, otherErr, string(otherGoal)
		}
	}
	if err != nil {
		return err
	}
	if root := len(tree.Nodes) - 1; body && (int(tree.Nodes[root-1].First) != 0 || int(tree.Nodes[root-1].End) !=
		len(whole)) {
		return errors.New("it is not the body of one function")
	}
	plan := Plan{Shape: only, Nonce: in.o.Nonce, Head: head, Page: true, body: body}
	var points []Point
	if in.times {
		plan.Policies = in.o.Policies
		if in.timesCalls {
			plan.Shape, c.names, plan.Gate = Time, names(tree), in.gate(c.hash, uint32(len(begin)))
			switch {
			case goal == commonJSGoal:
				c.names[len(c.names)-1] = naming{moduleName, -1}
			case !body && goal != evalGoal && hasCode(tree):
				plan.Outside = OfScript
				if c.goal == string(moduleGoal) {
					plan.Outside = OfModule
				}
				c.names = append(c.names, naming{"(" + c.goal + ")", -1})
			}
		}
		plan.Active = func(policy string, start uint32) bool {
			return in.active(policy, c.hash, start-min(start, uint32(len(begin))))
		}
		in.mu.Lock()
		places := in.places[c.hash]
		in.mu.Unlock()
		points = pointsOf(tree, plan.Policies, places)
		n, err := in.numbersOf(key, len(c.names)+countNatives(tree, plan.Gate), len(points))
		if err != nil {
			return err
		}
		plan.First, plan.FirstPoint = n.first, n.firstPoint
		if len(c.names)+len(points) == 0 && head == in.guard() {
			plan.Head = "" // the program may be JSON, which scripts read
		}
		c.first, c.firstPoint = n.first, n.firstPoint
	}
	c.result, err = rewriteTree(tree, plan, points)
	if !in.timesCalls {
		c.result.Functions = nil // they have no insertions
	}
	if err == nil && body {
		for i := range c.names {
			c.names[i].at = max(-1, c.names[i].at-len(begin))
		}
		err = c.result.cut(len(begin), src)
	}
	if !in.timesCalls {
		c.result.Functions = nil // they have no insertions
	}
	return err
}

// hasCode reports whether a program has statements that can be measured. A text of one value may be
// JSON, which scripts read. Statements such as while(1); keep others from running it.
func hasCode(t *ecma.Tree) bool {
	root := len(t.Nodes) - 1
	first := t.FirstChild(root)
	if last := root - 1; first > 0 && int(t.Nodes[last].First) == first+1 &&
		(t.Nodes[first].Kind == ecma.ThrowStatement || t.Nodes[first-1].Kind == ecma.EmptyStatement) {
		first = last
	}
	switch {
	case first < 0:
		return false
	case first != root-1:
		return true
	case t.Nodes[first].Kind == ecma.BlockStatement:
		return int(t.Nodes[first].First) < first
	case t.Nodes[first].Kind != ecma.ExpressionStatement:
		return true
	}
	value := first - 1
	if t.Nodes[value].Kind == ecma.UnaryExpression {
		value--
	}
	k := t.Nodes[value].Kind
	return k != ecma.Literal && k != ecma.ArrayExpression && k != ecma.ObjectExpression
}

// gate returns the gates of a program's functions, behind the head of a function whose body it is;
// nil: all calls are recorded.
func (in *Instrument) gate(hash string, head uint32) func(start uint32) Gate {
	if in.o.Active == nil && in.o.Gate == nil {
		return nil
	}
	return func(start uint32) Gate {
		start -= min(start, head)
		switch {
		case in.o.Active != nil && !in.active("calls", hash, start):
			return Unmeasured
		case in.o.Gate != nil:
			return in.o.Gate(hash, start)
		}
		return Measured
	}
}

// maxPlaces limits the places of one text.
const maxPlaces = 100

// place notes where a text is served, before it is rewritten for the first time.
func (in *Instrument) place(src, url string, at position) {
	if !in.placed {
		return
	}
	hash := hashOf(src)
	in.mu.Lock()
	defer in.mu.Unlock()
	if all := in.places[hash]; len(all) < maxPlaces && len(in.places) < maxPrograms {
		in.places[hash] = append(all, place{url, at})
	}
}

// active reports whether a point gets insertions in this run.
func (in *Instrument) active(name, hash string, start uint32) bool {
	if in.o.Active != nil {
		return in.o.Active(name, hash, start)
	}
	for _, p := range in.o.Policies {
		if p.Name == name && p.Share > 0 {
			h := fnv.New64a()
			fmt.Fprintf(h, "%s %s %s %d", in.o.Nonce, name, hash, start)
			return float64(h.Sum64())/math.MaxUint64 < p.Share
		}
	}
	return true
}

// bodyEnd ends a function whose body may end with a comment.
const bodyEnd = "\n}"

// cut removes the head and the end of the function whose body is a program.
func (r *Result) cut(head int, src string) error {
	r.Text = r.Text[head : len(r.Text)-len(bodyEnd)]
	for i := range r.Insertions {
		r.Insertions[i].At -= uint32(head)
	}
	inside := func(start, end uint32) (uint32, uint32) {
		return start - min(start, uint32(head)), min(end-uint32(head), uint32(len(src)))
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		f.Start, f.End = inside(f.Start, f.End)
	}
	for i := range r.Points {
		p := &r.Points[i]
		p.Start, p.End = inside(p.Start, p.End)
	}
	return r.laws(src)
}

func parse(src string, goal goal) (*ecma.Tree, error) {
	if goal == moduleGoal {
		return ecma.Parse(src, ecma.Module)
	}
	return ecma.Parse(src, ecma.Script)
}

// numbersOf returns the numbers of a text's first function and point. A text keeps its numbers.
func (in *Instrument) numbersOf(hash string, count, points int) (numbers, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n, ok := in.numbers[hash]; ok && n.count == count && n.points == points {
		return n, nil
	}
	if count > math.MaxUint32-int(in.next) || points > math.MaxUint32-int(in.nextPoint) {
		return numbers{}, errors.New("the run has too many functions")
	}
	n := numbers{in.next, in.nextPoint, count, points}
	in.numbers[hash] = n
	in.next += uint32(count)
	in.nextPoint += uint32(points)
	return n, nil
}

// span is a place in a served text at which it has more bytes than the original. Replaced parts may
// have fewer.
type span struct{ at, length, more int }

// served is the last text of an address, with its changes.
type served struct {
	text  string
	spans []span // in order
	// source is the address of the source map of a script; empty: it has none.
	source string
	made   bool // by a page, which claims its address

	once  sync.Once
	marks []mark
	more  []int // bytes of the spans before each one
}

// mark is the position of an offset.
type mark struct {
	offset int
	position
}

// markEvery is the largest distance of marks, in bytes.
const markEvery = 1 << 10

// index makes the marks: one per line, and more in long lines. A page may claim thousands of
// positions.
func (s *served) index() {
	w := newWalker(s.text, position{1, 1})
	s.marks = append(s.marks, mark{w.at, w.position})
	for w.at < len(s.text) {
		before := s.marks[len(s.marks)-1]
		if p := w.to(w.at + 1); p.line != before.line || w.at-before.offset >= markEvery {
			s.marks = append(s.marks, mark{w.at, p})
		}
	}
	sum := 0
	for _, n := range s.spans {
		s.more = append(s.more, sum)
		sum += n.more
	}
}

// find returns the offsets of a position and of its line. Positions behind the end of a line become
// that end.
func (s *served) find(wanted position) (line, offset int) {
	behind := func(p position) func(int) bool {
		return func(i int) bool {
			m := s.marks[i]
			return m.line > p.line || m.line == p.line && m.column > p.column
		}
	}
	first := sort.Search(len(s.marks), behind(position{wanted.line, 0}))
	if first == len(s.marks) {
		return len(s.text), len(s.text)
	}
	m := s.marks[sort.Search(len(s.marks), behind(wanted))-1]
	w := &walker{text: s.text, at: m.offset, position: m.position}
	for w.at < len(s.text) && w.column < wanted.column {
		if at := w.at; w.to(at+1).line != m.line {
			return s.marks[first].offset, at
		}
	}
	return s.marks[first].offset, w.at
}

// remember keeps a text for Original, if there is room. A page may have made it. Then it cannot
// replace a text of the site.
func (in *Instrument) remember(url, text string, spans []span, made bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	before, known := in.texts[url]
	kept := in.kept + len(text)
	if known {
		kept -= len(before.text)
	}
	if kept > maxCached || !known && len(in.texts) >= maxAddresses || made && known && !before.made {
		return false
	}
	in.kept, in.texts[url] = kept, &served{text: text, spans: spans, made: made}
	return true
}

func spansOf(insertions []Insertion) []span {
	all := make([]span, len(insertions))
	for i, n := range insertions {
		all[i] = span{int(n.At), int(n.Length), int(n.Length)}
	}
	return all
}

// Original converts a position in a served resource to the one in the original. Lines do not
// change. Positions of unknown resources do not change either.
func (in *Instrument) Original(url string, line, column int) (originalLine, originalColumn int) {
	in.mu.Lock()
	s, ok := in.texts[url]
	in.mu.Unlock()
	if !ok || line < 1 || column < 1 {
		return line, column
	}
	s.once.Do(s.index)
	begin, offset := s.find(position{line, column})
	from := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].at >= begin })
	to := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].at >= offset })
	if from >= to {
		return line, column
	}
	// A place in an insertion becomes the place before it.
	last := s.spans[to-1]
	more := s.more[to-1] - s.more[from] + min(last.more, offset-last.at)
	return line, max(1, column-more)
}
