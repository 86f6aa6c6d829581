package activity

import (
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
	size        int // bytes of names
}

func (t *tables) init() {
	t.threads, t.functions, t.stacks, t.depths = make([]Thread, 1), make([]Function, 1), make([]frame, 1), []uint16{0}
	t.threadIDs, t.functionIDs, t.stackIDs = map[Thread]uint32{}, map[Function]uint32{}, map[frame]uint32{}
}

func (t *tables) bounds() bounds {
	return bounds{uint64(len(t.threads) - 1), uint64(len(t.functions) - 1), uint64(len(t.stacks) - 1)}
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
