package instrument

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/eideticker/eideticker/netsim/ecma"
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
}

// remember keeps a text for Original.
func (in *Instrument) remember(url, text string, spans []span) {
	in.mu.Lock()
	defer in.mu.Unlock()
	before, known := in.texts[url]
	kept := in.kept - len(before.text) + len(text)
	if kept > maxCached || !known && len(in.texts) >= maxAddresses {
		return
	}
	in.kept, in.texts[url] = kept, served{text, spans}
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
	begin := lineStart(s.text, line)
	offset, units := begin, 1
	for offset < len(s.text) && units < column {
		r, size := utf8.DecodeRuneInString(s.text[offset:])
		if r == '\n' || r == '\r' {
			break
		}
		if offset += size; r > 0xFFFF {
			units++
		}
		units++
	}
	more := 0
	for i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].at >= begin }); i < len(s.spans); i++ {
		n := s.spans[i]
		if n.at >= offset {
			break
		}
		// A place in an insertion becomes the place before it.
		more += min(n.more, offset-n.at)
	}
	return line, max(1, column-more)
}

// lineStart returns the offset of a line, or the length of the text.
func lineStart(text string, line int) (at int) {
	for ; line > 1; line-- {
		next := strings.IndexAny(text[at:], "\n\r\u2028\u2029")
		if next < 0 {
			return len(text)
		}
		at += next
		if strings.HasPrefix(text[at:], "\r\n") {
			at++
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
