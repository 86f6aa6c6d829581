package instrument

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

const (
	maxPrograms  = 20_000
	maxCached    = 512 << 20 // bytes of originals and rewritten texts
	maxAddresses = 20_000
)

// Program is one script, module or document that was served.
type Program struct {
	URL  string // without query; the document's for an inline script
	Hash string // SHA-256 of the original, in hexadecimal digits
	Goal string // script, module or document
	// Bytes counts the original, and Added the inserted bytes.
	Bytes, Added int
	// First is the number of Functions[0]. Equal texts have equal numbers. Other programs have others.
	First     uint32
	Functions []FunctionInfo
	Reason    string // why it was served plain; empty: it was not
	Count     int    // of responses with it
}

// FunctionInfo names a function and its place in the original resource.
type FunctionInfo struct {
	Name         string // "(anonymous)" without one
	Line, Column int    // from 1; columns count UTF-16 code units
	Start, End   uint32 // bytes of the program
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
}

// serves counts a rewritten program at a position of a response.
func (in *Instrument) serves(url string, at position, src string, c *code) {
	if c.reason != "" {
		in.servesPlain(url, c.goal, c.hash, len(src), c.reason)
		return
	}
	in.count(programKey{url, c.hash, "", at}, func() *Program {
		return &Program{URL: url, Hash: c.hash, Goal: c.goal, Bytes: len(src), Added: len(c.result.Text) - len(src),
			First: c.first, Functions: describe(src, c.result.Functions, c.names, at)}
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
	in.count(programKey{url, hash, reason, position{}}, func() *Program {
		return &Program{URL: url, Hash: hash, Goal: goal, Bytes: bytes, Reason: reason}
	})
}

func hashOf[T string | []byte](src T) string {
	sum := sha256.Sum256([]byte(src))
	return hex.EncodeToString(sum[:])
}

// code is a rewritten program, independent of its place.
type code struct {
	once   sync.Once
	hash   string
	goal   string
	first  uint32
	result Result
	names  []string
	reason string
	packed map[string][]byte // by content codings
}

// codeKey is all that a rewritten program depends on.
type codeKey struct {
	hash   string
	module bool
	head   string
}

// numbers are the function numbers of a text.
type numbers struct {
	first uint32
	count int
}

// rewrite returns a program with insertions. Concurrent calls for one text share the work.
func (in *Instrument) rewrite(src string, module bool, head string) *code {
	k := codeKey{hashOf(src), module, head}
	in.mu.Lock()
	c := in.cache[k]
	if c == nil {
		c = &code{hash: k.hash}
		if in.cached += 2 * len(src); in.cached <= maxCached {
			in.cache[k] = c
		}
	}
	in.mu.Unlock()
	c.once.Do(func() {
		c.goal, c.reason = goalName(module), "the rewriter failed"
		c.result.Text = src
		defer func() {
			if failed := recover(); failed != nil {
				c.reason, c.result = fmt.Sprintf("the rewriter failed: %.200v", failed), Result{Text: src}
			}
		}()
		err := in.fill(c, src, module, head)
		if c.reason = ""; err != nil {
			c.reason, c.result = err.Error(), Result{Text: src}
		}
	})
	return c
}

func goalName(module bool) string {
	if module {
		return "module"
	}
	return "script"
}

// fill rewrites a program. The goal that the parser gets further with was meant.
func (in *Instrument) fill(c *code, src string, module bool, head string) error {
	if err := checkNonce(src, in.o.Nonce); err != nil {
		return err
	}
	tree, err := parse(src, module)
	var here, other *ecma.Error
	if errors.As(err, &here) {
		again, otherErr := parse(src, !module)
		if otherErr == nil || errors.As(otherErr, &other) && other.Offset > here.Offset {
			tree, err, c.goal = again, otherErr, goalName(!module)
		}
	}
	if err != nil {
		return err
	}
	plan := Plan{Shape: only, Nonce: in.o.Nonce, Head: head}
	if in.times {
		plan.Shape, c.names = Time, names(tree)
		if plan.First, err = in.numbersOf(c.hash, len(c.names)); err != nil {
			return err
		}
		if len(c.names) == 0 && head == runtime.Guard(in.o.Nonce) {
			plan.Head = "" // the program may be JSON, which scripts read
		}
	}
	c.first = plan.First
	c.result, err = rewriteTree(tree, plan)
	return err
}

func parse(src string, module bool) (*ecma.Tree, error) {
	goal := ecma.Script
	if module {
		goal = ecma.Module
	}
	return ecma.Parse(src, goal)
}

// numbersOf returns the number of a text's first function. A text keeps its numbers.
func (in *Instrument) numbersOf(hash string, count int) (uint32, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n, ok := in.numbers[hash]; ok && n.count == count {
		return n.first, nil
	}
	if count > math.MaxUint32-int(in.next) {
		return 0, errors.New("the run has too many functions")
	}
	n := numbers{in.next, count}
	in.numbers[hash] = n
	in.next += uint32(count)
	return n.first, nil
}

// span is a place in a served text at which it has more bytes than the original. Replaced parts may
// have fewer.
type span struct{ at, length, more int }

// served is the last text of an address, with its changes.
type served struct {
	text  string
	spans []span // in order

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

// remember keeps a text for Original.
func (in *Instrument) remember(url, text string, spans []span) {
	in.mu.Lock()
	defer in.mu.Unlock()
	before, known := in.texts[url]
	kept := in.kept + len(text)
	if known {
		kept -= len(before.text)
	}
	if kept > maxCached || !known && len(in.texts) >= maxAddresses {
		return
	}
	in.kept, in.texts[url] = kept, &served{text: text, spans: spans}
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
