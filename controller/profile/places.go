package profile

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"sort"
)

// places finds the functions of modules without symbols by the table for unwinding, .eh_frame_hdr.
type places struct{ modules map[string]*module }

// module is an executable file. Its functions have no names, but their begins are known.
type module struct {
	segments []elf.ProgHeader
	begins   []uint64 // addresses of functions, ascending
	ends     []uint64 // of these functions
	build    string
}

const (
	maxModules = 4096
	maxBegins  = 4 << 20
)

func newPlaces() *places { return &places{map[string]*module{}} }

// begin returns the address of the function around an offset in a module's file, and the module's
// build id. Without the table it returns the address of the offset.
func (p *places) begin(path string, offset uint64) (begin uint64, build string) {
	m := p.modules[path]
	if m == nil {
		if len(p.modules) == maxModules {
			return offset, ""
		}
		m = openModule(path)
		p.modules[path] = m
	}
	for _, s := range m.segments {
		if offset >= s.Off && offset-s.Off < s.Filesz {
			offset = offset - s.Off + s.Vaddr
			break
		}
	}
	if i := sort.Search(len(m.begins), func(i int) bool { return m.begins[i] > offset }); i > 0 &&
		offset < m.ends[i-1] { // a module may have entries of some functions only
		offset = m.begins[i-1]
	}
	return offset, m.build
}

// openModule reads a module. A file that is missing or damaged is a module without functions.
func openModule(path string) *module {
	m := &module{}
	f, err := elf.Open(path)
	if err != nil {
		return m
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			m.segments = append(m.segments, p.ProgHeader)
		}
	}
	if note := section(f, ".note.gnu.build-id", 4096); len(note) > 16 {
		m.build = hex.EncodeToString(note[16:min(len(note), 16+64)])
	}
	s := f.Section(".eh_frame_hdr")
	table := section(f, ".eh_frame_hdr", 8*maxBegins)
	// Version 1, a pointer and a count of 4 bytes, and pairs of 4 bytes relative to the section.
	if len(table) < 12 || table[0] != 1 || table[1] != 0x1b || table[2] != 0x03 || table[3] != 0x3b {
		return m
	}
	count := min(uint64(binary.LittleEndian.Uint32(table[8:])), uint64(len(table)-12)/8)
	m.begins, m.ends = make([]uint64, count), make([]uint64, count)
	entries, base := section(f, ".eh_frame", 64*maxBegins), uint64(0)
	if entries != nil {
		base = f.Section(".eh_frame").Addr
	}
	relative := func(to uint64, raw []byte) uint64 { return to + uint64(int64(int32(binary.LittleEndian.Uint32(raw)))) }
	for i := range m.begins {
		m.begins[i] = relative(s.Addr, table[12+8*i:])
		// An entry has its length and its parent, then the function's begin and size.
		entry := relative(s.Addr, table[16+8*i:]) - base
		if m.ends[i] = m.begins[i]; entry < uint64(len(entries)) && len(entries[entry:]) >= 16 &&
			relative(base+entry+8, entries[entry+8:]) == m.begins[i] {
			m.ends[i] += uint64(binary.LittleEndian.Uint32(entries[entry+12:]))
		}
	}
	if !sort.SliceIsSorted(m.begins, func(a, b int) bool { return m.begins[a] < m.begins[b] }) {
		m.begins = nil
	}
	return m
}

// section returns the contents of a section with at most so many bytes; nil: there is none.
func section(f *elf.File, name string, most uint64) []byte {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size > most || f.ByteOrder != binary.LittleEndian {
		return nil
	}
	text, err := s.Data()
	if err != nil {
		return nil
	}
	return text
}
