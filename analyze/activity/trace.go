package activity

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sort"

	"github.com/klauspost/compress/zstd"
)

const (
	maxTables    = 128 << 20 // bytes, unpacked
	maxDirectory = 32 << 20
)

// Trace reads a trace. Use it from one goroutine, and close it.
type Trace struct {
	info   Info
	file   *os.File
	tables tables
	blocks []entry
	zstd   *zstd.Decoder
	kept   int // the block in block; -1: none
	block  block
}

// Open opens the trace in a folder.
func Open(dir string) (*Trace, error) {
	info, err := ReadInfo(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, IndexFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	t := &Trace{info: info, file: f, kept: -1}
	if err = t.open(); err != nil {
		t.Close()
		return nil, fmt.Errorf("open trace %s: %w", path, err)
	}
	return t, nil
}

func (t *Trace) open() (err error) {
	t.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxTables))
	if err != nil {
		return err
	}
	s, err := t.file.Stat()
	if err != nil {
		return err
	}
	at := s.Size() - footerSize
	footer := make([]byte, footerSize)
	if at < int64(len(magic)) || !s.Mode().IsRegular() {
		return errors.New("not a trace, or not complete")
	}
	if _, err = t.file.ReadAt(footer, at); err != nil {
		return err
	}
	if string(footer[24:]) != magic ||
		crc32.Checksum(footer[:20], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(footer[20:]) {
		return errors.New("not a trace, or not complete")
	}
	tablesAt, directoryAt := binary.LittleEndian.Uint64(footer), binary.LittleEndian.Uint64(footer[8:])
	n := binary.LittleEndian.Uint32(footer[16:])
	if tablesAt < uint64(len(magic)) || directoryAt < tablesAt || uint64(at) < directoryAt || n > maxDirectory {
		return errors.New("the footer has impossible offsets")
	}
	in, err := t.unpack("tables", int64(tablesAt), int64(directoryAt-tablesAt), maxTables)
	if err == nil {
		err = t.tables.read(in)
	}
	if err != nil {
		return err
	}
	if in, err = t.unpack("directory", int64(directoryAt), at-int64(directoryAt), maxDirectory); err == nil {
		t.blocks, err = readDirectory(in, int(n), int64(tablesAt))
	}
	return err
}

// unpack reads a part of the file.
func (t *Trace) unpack(name string, at, size, most int64) (*input, error) {
	if size > most {
		return nil, fmt.Errorf("%s at byte %d: %d bytes are more than %d", name, at, size, most)
	}
	packed := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(t.file, at, size), packed); err != nil {
		return nil, fmt.Errorf("%s at byte %d: %w", name, at, err)
	}
	raw, err := t.zstd.DecodeAll(packed, nil)
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("%d bytes are more than %d", len(raw), most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s at byte %d: %w", name, at, err)
	}
	return &input{raw: raw, name: fmt.Sprintf("%s at byte %d", name, at)}, nil
}

// Close closes the trace.
func (t *Trace) Close() error {
	if t.zstd != nil {
		t.zstd.Close()
	}
	return t.file.Close()
}

// Info returns the description of the trace.
func (t *Trace) Info() Info { return t.info }

// Threads returns the threads by number. The first entry is empty. Do not change them.
func (t *Trace) Threads() []Thread { return t.tables.threads }

// Functions returns the functions by number. The first entry is empty. Do not change them.
func (t *Trace) Functions() []Function { return t.tables.functions }

// Rename replaces each function.
func (t *Trace) Rename(name func(Function) Function) {
	for i, f := range t.tables.functions[1:] {
		f = name(f)
		f.Name, f.File = Clean(f.Name), Clean(f.File)
		t.tables.functions[1+i] = f
	}
}

// Stack returns the last function of a stack, and the stack that called it. Those of the empty
// stack are 0.
func (t *Trace) Stack(id uint32) (callers, function uint32) {
	if int(id) >= len(t.tables.stacks) {
		return 0, 0
	}
	s := t.tables.stacks[id]
	return s.callers, s.function
}

// load unpacks a block, and keeps it until the next one.
func (t *Trace) load(i int) error {
	if i == t.kept {
		return nil
	}
	e := t.blocks[i]
	t.kept = -1
	in, err := t.unpack(fmt.Sprintf("block %d", i), e.at, e.size, maxBlock)
	if err == nil {
		t.block = block{begin: e.first}
		err = t.block.read(in, t.tables.bounds())
	}
	if n := len(t.block.events); err == nil && (n == 0 || t.block.events[0].At != e.first ||
		t.block.events[n-1].At != e.last) {
		err = fmt.Errorf("block %d at byte %d: its times are not those of the directory", i, e.at)
	}
	if err != nil {
		return fmt.Errorf("read trace %s: %w", t.file.Name(), err)
	}
	t.kept = i
	return nil
}

// Events returns the events from a time on and before another, in order.
func (t *Trace) Events(from, to int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		i := sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].last >= from })
		for ; i < len(t.blocks) && t.blocks[i].first < to; i++ {
			if err := t.load(i); err != nil {
				yield(Event{}, err)
				return
			}
			events := t.block.events // another call may load another block
			k := sort.Search(len(events), func(k int) bool { return events[k].At >= from })
			for ; k < len(events) && events[k].At < to; k++ {
				if !yield(events[k], nil) {
					return
				}
			}
		}
	}
}

// At returns the states of threads at a time, before the events of that time. Threads without open
// calls, switches and gaps are not among them.
func (t *Trace) At(at int64) ([]State, error) {
	i := sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].first >= at }) - 1
	if i < 0 {
		return nil, nil
	}
	if err := t.load(i); err != nil {
		return nil, err
	}
	now := begin(t.block.states)
	for _, e := range t.block.events {
		if e.At >= at {
			break
		}
		now.step(e)
	}
	return now.busy(at), nil
}
