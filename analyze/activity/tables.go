package activity

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
)

// frame is the last function of a stack.
type frame struct{ callers, function uint32 }

// tables are those of threads, functions and stacks. Their first entries are empty: numbers count
// from 1.
type tables struct {
	threads   []Thread
	functions []Function
	stacks    []frame
	depths    []uint16 // of stacks

	threadIDs   map[Thread]uint32 // by threads without names
	functionIDs map[Function]uint32
	stackIDs    map[frame]uint32
	size        int   // bytes of names
	full        error // the limit that was reached
}

func (t *tables) init() {
	t.threads, t.functions, t.stacks, t.depths = make([]Thread, 1), make([]Function, 1), make([]frame, 1), []uint16{0}
	t.threadIDs, t.functionIDs, t.stackIDs = map[Thread]uint32{}, map[Function]uint32{}, map[frame]uint32{}
}

func (t *tables) bounds() bounds {
	return bounds{uint64(len(t.threads) - 1), uint64(len(t.functions) - 1), uint64(len(t.stacks) - 1)}
}

// thread returns the number of a thread.
func (t *tables) thread(one Thread) uint32 {
	one.Name, one.ProcessName = Clean(CutQueries(one.Name)), Clean(one.ProcessName)
	key := Thread{Process: one.Process, ID: one.ID, Start: one.Start}
	id := add(t, t.threadIDs, &t.threads, key, MaxThreads, "threads", 2*MaxName)
	if id > 0 {
		of := &t.threads[id]
		of.Name, of.ProcessName = cmp.Or(one.Name, of.Name), cmp.Or(one.ProcessName, of.ProcessName)
	}
	return id
}

// function returns the number of a function.
func (t *tables) function(f Function) uint32 {
	f.Name, f.File = Clean(CutQueries(f.Name)), cleanFile(f.File)
	f.Module, f.BuildID = Clean(f.Module), Clean(f.BuildID)
	switch {
	case f.Lang == Script:
		f.Offset = min(f.Offset, 1<<31-1)
	case f.Name != "":
		f.Offset = 0
	}
	f.Line = min(max(f.Line, 0), 1<<31-1)
	return add(t, t.functionIDs, &t.functions, f, maxFuncs, "functions",
		len(f.Name)+len(f.Module)+len(f.BuildID)+len(f.File))
}

// add returns the number of a thing in a table.
func add[T comparable](t *tables, ids map[T]uint32, all *[]T, one T, maxEntries int, name string, size int) uint32 {
	if id, ok := ids[one]; ok {
		return id
	}
	if t.size += size; len(*all) > maxEntries || t.size > maxStrings {
		t.full = cmp.Or(t.full, fmt.Errorf("write trace: more than %d %s or %d bytes of names", maxEntries, name,
			maxStrings))
		return 0
	}
	id := uint32(len(*all))
	*all = append(*all, one)
	ids[one] = id
	return id
}

// stack returns the number of a stack, and its fault.
func (t *tables) stack(callers, function uint32) (id uint32, fault string) {
	key := frame{callers, function}
	if id, ok := t.stackIDs[key]; ok {
		return id, ""
	}
	switch {
	case int(callers) >= len(t.stacks) || function == 0 || int(function) >= len(t.functions):
		return 0, "stacks with unknown numbers"
	case t.depths[callers] == MaxDepth:
		return callers, "functions beyond the depth"
	case len(t.stacks) > maxStacks:
		t.full = cmp.Or(t.full, fmt.Errorf("write trace: more than %d stacks", maxStacks))
		return 0, ""
	}
	id = uint32(len(t.stacks))
	t.stacks = append(t.stacks, key)
	t.depths = append(t.depths, t.depths[callers]+1)
	t.stackIDs[key] = id
	return id, ""
}

// Tables number threads and functions, as a [Sink] must. Use [NewTables].
type Tables struct{ tables tables }

// NewTables returns tables without entries.
func NewTables() *Tables {
	t := &Tables{}
	t.tables.init()
	return t
}

// Thread is that of a [Sink].
func (t *Tables) Thread(one Thread) uint32 { return t.tables.thread(one) }

// Function is that of a [Sink].
func (t *Tables) Function(f Function) uint32 { return t.tables.function(f) }

// Stack is that of a [Sink]. It has no place for faults.
func (t *Tables) Stack(callers, function uint32) uint32 {
	id, _ := t.tables.stack(callers, function)
	return id
}

// Full is the error of the limit that was reached.
func (t *Tables) Full() error { return t.tables.full }

// Trace returns a trace without events, and the error of Full.
func (t *Tables) Trace(info Info) (*Trace, error) {
	return &Trace{info: info, tables: t.tables}, t.tables.full
}

// append writes the tables with one table of all strings before them.
func (t *tables) append(raw []byte) []byte {
	ids, all := map[string]uint64{"": 0}, []string{}
	var rest []byte
	text := func(s string) {
		id, ok := ids[s]
		if !ok {
			id = uint64(len(all) + 1)
			ids[s] = id
			all = append(all, s)
		}
		rest = binary.AppendUvarint(rest, id)
	}
	rest = binary.AppendUvarint(rest, uint64(len(t.threads)-1))
	for _, x := range t.threads[1:] {
		rest = binary.AppendVarint(binary.AppendVarint(rest, int64(x.Process)), int64(x.ID))
		text(x.Name)
		text(x.ProcessName)
		rest = binary.AppendVarint(rest, x.Start)
	}
	rest = binary.AppendUvarint(rest, uint64(len(t.functions)-1))
	for _, f := range t.functions[1:] {
		text(f.Name)
		text(f.Module)
		rest = binary.AppendUvarint(rest, f.Offset)
		text(f.BuildID)
		text(f.File)
		rest = append(binary.AppendUvarint(rest, uint64(f.Line)), byte(f.Lang))
	}
	rest = binary.AppendUvarint(rest, uint64(len(t.stacks)-1))
	for i, s := range t.stacks[1:] {
		rest = binary.AppendUvarint(rest, uint64(i+1)-uint64(s.callers))
		rest = binary.AppendUvarint(rest, uint64(s.function))
	}
	raw = binary.AppendUvarint(raw, uint64(len(all)))
	for _, s := range all {
		raw = append(binary.AppendUvarint(raw, uint64(len(s))), s...)
	}
	return append(raw, rest...)
}

// read reads the tables.
func (t *tables) read(in *input) error {
	texts := make([]string, 1, 64)
	for range in.count(maxStrings, 1) {
		n := int(in.number(MaxName))
		if in.err != nil || n > len(in.raw)-in.at {
			in.fail(errEnd)
			return in.err
		}
		texts = append(texts, Clean(string(in.raw[in.at:in.at+n])))
		in.at += n
	}
	text := func() string { return texts[in.number(uint64(len(texts)-1))] }
	t.threads = make([]Thread, 1+in.count(MaxThreads, 5))
	for i := range t.threads[1:] {
		x := &t.threads[1+i]
		process, id := in.signed(), in.signed()
		if int64(int32(process)) != process || int64(int32(id)) != id {
			in.fail(errors.New("impossible number of a process or thread"))
		}
		*x = Thread{Process: int32(process), ID: int32(id), Name: text(), ProcessName: text(), Start: in.signed()}
	}
	t.functions = make([]Function, 1+in.count(maxFuncs, 7))
	for i := range t.functions[1:] {
		f := &t.functions[1+i]
		*f = Function{Name: text(), Module: text(), Offset: in.number(1<<64 - 1), BuildID: text(), File: text(),
			Line: int(in.number(1<<31 - 1)), Lang: Language(in.byte())}
		if f.Lang > Category {
			in.fail(fmt.Errorf("unknown language %d", f.Lang))
		}
	}
	n := 1 + in.count(maxStacks, 2)
	t.stacks, t.depths = make([]frame, n), make([]uint16, n)
	for i := 1; i < n && in.err == nil; i++ {
		back := in.number(uint64(i))
		callers := uint32(uint64(i) - back)
		t.stacks[i] = frame{callers, uint32(in.number(uint64(len(t.functions) - 1)))}
		if t.depths[i] = t.depths[callers] + 1; back == 0 || t.depths[i] > MaxDepth || t.stacks[i].function == 0 {
			in.fail(fmt.Errorf("stack %d calls itself, is too deep or has no function", i))
		}
	}
	if in.err == nil && in.at < len(in.raw) {
		in.fail(errors.New("bytes after the end"))
	}
	return in.err
}

// entry is a block in the directory.
type entry struct{ at, size, first, last int64 }

func appendDirectory(raw []byte, all []entry) []byte {
	last := int64(minTime)
	for _, e := range all {
		raw = binary.AppendUvarint(raw, uint64(e.size))
		raw = binary.AppendUvarint(raw, uint64(e.first-last))
		raw = binary.AppendUvarint(raw, uint64(e.last-e.first))
		last = e.last
	}
	return raw
}

// readDirectory reads n blocks, which end where the tables begin.
func readDirectory(in *input, n int, tablesAt int64) ([]entry, error) {
	if n > len(in.raw)/3 {
		in.fail(errEnd)
		return nil, in.err
	}
	all := make([]entry, n)
	at, last := int64(len(magic)), int64(minTime)
	for i := range all {
		e := entry{at: at, size: int64(in.number(uint64(tablesAt - at)))}
		e.first = last + int64(in.number(uint64(maxTime-last)))
		e.last = e.first + int64(in.number(uint64(maxTime-e.first)))
		at, last = at+e.size, e.last
		all[i] = e
	}
	if in.err == nil && (at != tablesAt || in.at < len(in.raw)) {
		in.fail(errors.New("the blocks do not end at the tables"))
	}
	return all, in.err
}
