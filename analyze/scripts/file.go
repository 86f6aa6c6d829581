package scripts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	Goal      string     `json:"goal"`   // script, module or document
	Bytes     int64      `json:"bytes"`  // of the original
	Added     int64      `json:"added_bytes"`
	First     uint32     `json:"first"` // number of the first function
	Functions []Function `json:"functions"`
	Plain     string     `json:"plain,omitempty"` // why it was served without instrumentation
	Count     int        `json:"count"`           // of responses with it
}

// Function is a function of a program. Its number is that of the program's first one and its index.
type Function struct {
	Name   string `json:"name"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // from 1
	Start  uint32 `json:"start"`  // byte of the program
	End    uint32 `json:"end"`
}

// Moved is a position in a served program, and the one in the original.
type Moved struct {
	URL    string `json:"url"`
	Line   int    `json:"line"`
	Served int    `json:"served_column"`
	Column int    `json:"column"`
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
	for _, f := range p.Functions {
		if min(f.Line, f.Column) < 0 || max(f.Line, f.Column) > maxPosition {
			return fmt.Errorf("program %.100q has a function at %d:%d", p.URL, f.Line, f.Column)
		}
		if len(f.Name) > maxText {
			return fmt.Errorf("program %.100q has a function whose name has %d bytes", p.URL, len(f.Name))
		}
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

// Run is what the scripts of a run did.
type Run struct {
	Info  *Info
	Trace *trace.Trace
	// programs have functions, by their first number
	programs []*Program
	moved    map[Moved]int // original columns, by positions without them
}

// New joins the programs and the records of a run.
func New(info *Info, arrived []trace.Arrived) *Run {
	r := &Run{Info: info, Trace: trace.Build(arrived, timeline.Time(info.StartNS)), moved: map[Moved]int{}}
	for i := range info.Programs {
		if p := &info.Programs[i]; len(p.Functions) > 0 {
			r.programs = append(r.programs, p)
		}
	}
	slices.SortStableFunc(r.programs, func(a, b *Program) int { return cmp.Compare(a.First, b.First) })
	for _, m := range info.Moved {
		r.moved[Moved{m.URL, m.Line, m.Served, 0}] = m.Column
	}
	return r
}

// Function returns the function with a number; nil: a page claims one that was not served.
func (r *Run) Function(number uint32) (*Program, *Function) {
	i, found := slices.BinarySearchFunc(r.programs, number,
		func(p *Program, n uint32) int { return cmp.Compare(p.First, n) })
	if !found {
		i--
	}
	if i < 0 || number-r.programs[i].First >= uint32(len(r.programs[i].Functions)) {
		return nil, nil
	}
	return r.programs[i], &r.programs[i].Functions[number-r.programs[i].First]
}

// Column returns the original column of a position in a served program.
func (r *Run) Column(url string, line, column int) int {
	if c, ok := r.moved[Moved{url, line, column, 0}]; ok {
		return c
	}
	return column
}
