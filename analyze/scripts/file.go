package scripts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Names in a run folder.
const (
	InfoFile = "script.json"
	LogFile  = "script.log"
)

// Schema and Version are those of script.json.
const (
	Schema  = "eideticker.script"
	Version = 1
)

// Info is the content of script.json.
type Info struct {
	Schema    string `json:"schema"`
	Version   int    `json:"version"`
	Recording string `json:"recording_id"`
	// StartNS is the time of the recording from which script.log counts.
	StartNS  int64     `json:"start_ns"`
	Policies []string  `json:"policies"`
	Programs []Program `json:"programs"`
	// Moved are positions that errors named, where the insertions moved them.
	Moved    []Moved  `json:"moved"`
	Received Received `json:"received"`
	Warnings []string `json:"warnings"`
}

// Program is a script, a module or a document that was served.
type Program struct {
	URL       string     `json:"url"`    // without its query
	Hash      string     `json:"sha256"` // of the original
	Goal      string     `json:"goal"`   // script, module, document, eval or function
	Bytes     int64      `json:"bytes"`  // of the original
	Added     int64      `json:"added_bytes"`
	First     uint32     `json:"first"` // number of the first function
	Functions []Function `json:"functions"`
	// FirstPoint is the number of the first point.
	FirstPoint uint32  `json:"first_point,omitempty"`
	Points     []Point `json:"points,omitempty"`
	Plain      string  `json:"plain,omitempty"` // why it was served without instrumentation
	Count      int     `json:"count"`           // of responses with it
}

// Function is a function of a program. Its number is that of the program's first one and its index.
type Function struct {
	Name   string `json:"name"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // from 1
	// NameLine and NameColumn are the place of the name in the program, while a run reads its maps.
	NameLine   int    `json:"-"`
	NameColumn int    `json:"-"`
	Start      uint32 `json:"start"` // byte of the program
	End        uint32 `json:"end"`
	// Generator functions are suspended by yield.
	Generator bool `json:"generator,omitempty"`
	// Outside is set for the program's code outside functions.
	Outside bool `json:"outside,omitempty"`
	// Caller is the number of the slow function in which a call has a number; 0: it is a function.
	Caller uint32 `json:"caller,omitempty"`
	Source
}

// counts reports whether it is a function, and not code outside functions or a call in a function.
func (f *Function) counts() bool { return !f.Outside && f.Caller == 0 }

// CountFunctions returns the number of functions, without the code outside of them.
func (p *Program) CountFunctions() (n int) {
	for i := range p.Functions {
		if p.Functions[i].counts() {
			n++
		}
	}
	return n
}

// Point is a node that a policy wants. Its number is that of the program's first one and its index.
type Point struct {
	Policy string `json:"policy"`
	Name   string `json:"name"` // a short text of the node
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Start  uint32 `json:"start"` // byte of the program
	End    uint32 `json:"end"`
	Off    bool   `json:"off,omitempty"` // without insertions in this run
	Note   string `json:"note,omitempty"`
}

// Source is a place in the source of a program, by its source map.
type Source struct {
	File       string `json:"source,omitempty"`
	SourceLine int    `json:"source_line,omitempty"` // from 1
}

// Moved is a position in a served program, and the one in the original and in its source.
type Moved struct {
	URL    string `json:"url"`
	Line   int    `json:"line"`
	Served int    `json:"served_column"`
	Column int    `json:"column"`
	Source
}

// Received counts what arrived from the pages.
type Received struct {
	Batches int64            `json:"batches"`
	Records int64            `json:"records"`
	Bytes   int64            `json:"bytes"`
	Dropped int64            `json:"dropped"` // invalid records and details
	Missing int64            `json:"missing"` // batches that never arrived
	Refused map[string]int64 `json:"refused"` // batches, by reason
	// IP packets that passed beside the link; 0 without a link
	BytesUp   uint64 `json:"bytes_up"`
	BytesDown uint64 `json:"bytes_down"`
}

// Limits of the files of a run folder.
const (
	maxInfo = 64 << 20
	// MaxLog is that of script.log.
	MaxLog = 1 << 30

	// Limits of the content, within those of results.
	maxStart    = 1 << 60 // ns
	maxSize     = 1 << 40 // bytes of a program, or its responses
	maxPosition = 1 << 31 // line or column
	maxText     = 8000    // bytes
	maxPolicies = 20
	maxPolicy   = 300 // bytes
)

// Write writes script.json.
func (i *Info) Write(w io.Writer) error {
	i.Schema, i.Version = Schema, Version
	raw, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if len(raw) >= maxInfo {
		return fmt.Errorf("%d MiB, at most %d are read", len(raw)>>20, maxInfo>>20)
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// ReadInfo reads a script.json.
func ReadInfo(from io.Reader) (*Info, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxInfo+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxInfo {
		return nil, fmt.Errorf("larger than %d MiB", maxInfo>>20)
	}
	i := &Info{}
	if err := json.Unmarshal(raw, i); err != nil {
		return nil, err
	}
	switch {
	case i.Schema != Schema:
		return nil, fmt.Errorf("schema is %.40q: must be %q", i.Schema, Schema)
	case i.Version != Version:
		return nil, fmt.Errorf("version is %d: must be %d", i.Version, Version)
	case i.StartNS < 0 || i.StartNS > maxStart:
		return nil, fmt.Errorf("start_ns is %d: must be 0 to %d", i.StartNS, maxStart)
	case len(i.Policies) > maxPolicies:
		return nil, fmt.Errorf("%d policies: at most %d are allowed", len(i.Policies), maxPolicies)
	}
	for _, text := range i.Policies {
		if len(text) > maxPolicy {
			return nil, fmt.Errorf("policy %.40q has %d bytes: at most %d are allowed", text, len(text), maxPolicy)
		}
	}
	for _, text := range i.Warnings {
		if len(text) > maxText {
			return nil, fmt.Errorf("warning %.40q has %d bytes: at most %d are allowed", text, len(text), maxText)
		}
	}
	for _, m := range i.Moved {
		if err := m.Source.check(); err != nil {
			return nil, err
		}
	}
	for k := range i.Programs {
		if err := i.Programs[k].check(); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// check checks the limits of a program from a file.
func (p *Program) check() error {
	if min(p.Bytes, p.Added, int64(p.Count)) < 0 || max(p.Bytes, p.Added, int64(p.Count)) > maxSize {
		return fmt.Errorf("program %.100q has a size that is negative or above %d", p.URL, maxSize)
	}
	if len(p.URL) > maxText || len(p.Plain) > maxText {
		return fmt.Errorf("program %.100q has a text of more than %d bytes", p.URL, maxText)
	}
	for _, f := range p.Points {
		if min(f.Line, f.Column) < 0 || max(f.Line, f.Column) > maxPosition ||
			max(len(f.Name), len(f.Policy), len(f.Note)) > maxText {
			return fmt.Errorf("program %.100q has an invalid point at %d:%d", p.URL, f.Line, f.Column)
		}
	}
	for _, f := range p.Functions {
		if min(f.Line, f.Column) < 0 || max(f.Line, f.Column) > maxPosition {
			return fmt.Errorf("program %.100q has a function at %d:%d", p.URL, f.Line, f.Column)
		}
		if len(f.Name) > maxText {
			return fmt.Errorf("program %.100q has a function whose name has %d bytes", p.URL, len(f.Name))
		}
		if err := f.Source.check(); err != nil {
			return fmt.Errorf("program %.100q: %w", p.URL, err)
		}
	}
	return nil
}

func (s Source) check() error {
	if len(s.File) > maxText || s.SourceLine < 0 || s.SourceLine > maxPosition {
		return fmt.Errorf("source %.100q of %d bytes has the line %d", s.File, len(s.File), s.SourceLine)
	}
	return nil
}

// ReadLog reads a script.log. After an error, the batches before it are returned too.
func ReadLog(from io.Reader, start timeline.Time) (all []trace.Arrived, err error) {
	log, err := record.NewLogReader(io.LimitReader(from, MaxLog))
	for err == nil {
		var arrival int64
		var b *record.Batch
		if arrival, b, err = log.Next(); err == nil {
			all = append(all, trace.Arrived{At: start.Add(time.Duration(arrival)), Batch: b})
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// ReadFolder reads both files of a folder. A damaged end of the log is a problem, not an error.
func ReadFolder(dir string) (run *Run, problem string, err error) {
	file, err := os.Open(filepath.Join(dir, InfoFile))
	if err != nil {
		return nil, "", err
	}
	defer file.Close() // only read
	info, err := ReadInfo(file)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", file.Name(), err)
	}
	log, err := os.Open(filepath.Join(dir, LogFile))
	if err != nil {
		return nil, "", err
	}
	defer log.Close() // only read
	arrived, err := ReadLog(log, timeline.Time(info.StartNS))
	if err != nil {
		problem = err.Error()
	}
	return New(info, arrived), problem, nil
}

// Run is what the scripts of a run did.
type Run struct {
	Info  *Info
	Trace *trace.Trace
	// programs have functions, by their first number
	programs []*Program
	pointed  []*Program      // with points, by their first number
	moved    map[Moved]Moved // by positions without columns and sources
	reports  []report
	times    bool // the calls of functions are recorded
	// unknownValues counts values of unknown points or fields.
	unknownValues int
}

// New joins the programs and the records of a run.
func New(info *Info, arrived []trace.Arrived) *Run {
	r := &Run{Info: info, Trace: trace.Build(arrived, timeline.Time(info.StartNS)), moved: map[Moved]Moved{}}
	for i := range info.Programs {
		p := &info.Programs[i]
		if len(p.Functions) > 0 {
			r.programs = append(r.programs, p)
		}
		if len(p.Points) > 0 {
			r.pointed = append(r.pointed, p)
		}
	}
	slices.SortStableFunc(r.pointed, func(a, b *Program) int { return cmp.Compare(a.FirstPoint, b.FirstPoint) })
	slices.SortStableFunc(r.programs, func(a, b *Program) int { return cmp.Compare(a.First, b.First) })
	for _, m := range info.Moved {
		r.moved[Moved{URL: m.URL, Line: m.Line, Served: m.Served}] = m
	}
	r.reports = r.report()
	return r
}

// Function returns the function with a number; nil: a page claims one that was not served.
func (r *Run) Function(number uint32) (*Program, *Function) {
	p := before(r.programs, number, func(p *Program) uint32 { return p.First })
	if p == nil || number-p.First >= uint32(len(p.Functions)) {
		return nil, nil
	}
	return p, &p.Functions[number-p.First]
}

// Point returns the point with a number; nil: a page claims one that was not served.
func (r *Run) Point(number uint32) (*Program, *Point) {
	p := before(r.pointed, number, func(p *Program) uint32 { return p.FirstPoint })
	if p == nil || number-p.FirstPoint >= uint32(len(p.Points)) {
		return nil, nil
	}
	return p, &p.Points[number-p.FirstPoint]
}

// before returns the last program whose first number is not above a number; nil: none.
func before(all []*Program, number uint32, first func(*Program) uint32) *Program {
	i, found := slices.BinarySearchFunc(all, number, func(p *Program, n uint32) int { return cmp.Compare(first(p), n) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return all[i]
}

// Column returns the original column of a position in a served program.
func (r *Run) Column(url string, line, column int) int {
	column, _ = r.Original(url, line, column)
	return column
}

// Original returns the original column and the source of a position in a served program.
func (r *Run) Original(url string, line, column int) (int, Source) {
	if m, ok := r.moved[Moved{URL: url, Line: line, Served: column}]; ok {
		return m.Column, m.Source
	}
	return column, Source{}
}
