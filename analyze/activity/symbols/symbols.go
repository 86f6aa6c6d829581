// Package symbols names functions that a trace has as module and offset. It reads ELF files with
// symbols from a folder, and DWARF for source lines.
package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/eideticker/eideticker/analyze/activity"
)

const (
	maxFiles   = 50_000
	maxSymbols = 512 << 20 // bytes of a table
	maxLines   = 256 << 20 // bytes of DWARF; larger ones give names only
	maxName    = 16        // binary logarithm of the length of C++ names
)

// Folder has the files with symbols. Found counts named functions, and Missing those that stay
// without a name, by module. Doubts are sentences.
type Folder struct {
	Found   int
	Missing map[string]int
	Doubts  []string

	builds, names map[string]string // paths
	modules       map[activity.Function]*module
}

// module has the functions of a file in the order of their addresses.
type module struct {
	symbols []elf.Symbol
	base    uint64 // address of the file's begin
	lines   *dwarf.Data
	units   map[dwarf.Offset]bool // that are read
	places  map[uint64]place      // of functions, by address
}

type place struct {
	file string
	line int
}

// Open lists the files of a folder and those below it.
func Open(dir string) (*Folder, error) {
	f := &Folder{Missing: map[string]int{}, builds: map[string]string{}, names: map[string]string{},
		modules: map[activity.Function]*module{}}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if s, err := os.Stat(path); err != nil || !s.Mode().IsRegular() {
			return nil // such as a link to a missing file
		}
		if files++; files > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		if id := buildID(path); id != "" {
			f.builds[id], f.builds[breakpad(id)] = path, path
		}
		f.names[strings.TrimSuffix(d.Name(), ".debug")] = path
		return nil
	})
	if err == nil && files == 0 {
		err = errors.New("it has no files")
	}
	if err != nil {
		return nil, fmt.Errorf("read symbols %s: %w", dir, err)
	}
	return f, nil
}

// buildID returns the id of a file; empty: it has none, or is not an ELF file.
func buildID(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	const header = 16 // sizes, type, GNU
	if s := file.Section(".note.gnu.build-id"); s != nil && s.Size > header && s.Size <= header+64 {
		if note, err := s.Data(); err == nil {
			return hex.EncodeToString(note[header:])
		}
	}
	return ""
}

// breakpad returns a build id in the form of Firefox's profiles.
func breakpad(id string) string {
	raw, _ := hex.DecodeString(id) // its digits are right
	raw = append(raw, make([]byte, 16)...)[:16]
	slices.Reverse(raw[:4])
	slices.Reverse(raw[4:6])
	slices.Reverse(raw[6:8])
	return fmt.Sprintf("%X0", raw)
}

// Name returns a function with its name. It returns others unchanged.
func (f *Folder) Name(of activity.Function) activity.Function {
	if of.Name != "" || of.Module == "" || of.Lang != activity.Native {
		return of
	}
	key := activity.Function{Module: of.Module, BuildID: of.BuildID}
	m, ok := f.modules[key]
	if !ok {
		m = f.open(key)
		f.modules[key] = m
	}
	s := m.find(of.Offset)
	if s == nil {
		f.Missing[of.Module]++
		return of
	}
	f.Found++
	of.Name, of.Offset = demangle.Filter(s.Name, demangle.NoParams, demangle.MaxLength(maxName)), 0
	at := m.place(s.Value)
	of.File, of.Line = at.file, at.line
	return of
}

// open reads the symbols of a module. The file has its build id, or else its name.
func (f *Folder) open(of activity.Function) *module {
	base := filepath.Base(of.Module)
	path := f.builds[of.BuildID]
	if path == "" {
		if path = f.names[base]; path == "" {
			return &module{}
		}
		switch id := buildID(path); {
		case id != "" && of.BuildID != "":
			f.doubt("%s has the build id %s, and the trace has %s: it is not used.", path, id, of.BuildID)
			return &module{}
		default:
			f.doubt("Functions of %s have names by the file's name alone: no build id confirms them.", base)
		}
	}
	m, err := read(path)
	if err != nil {
		f.doubt("%s cannot be read: %v.", path, err)
	}
	return m
}

func (f *Folder) doubt(format string, args ...any) {
	f.Doubts = append(f.Doubts, fmt.Sprintf(format, args...))
}

func read(path string) (*module, error) {
	m := &module{units: map[dwarf.Offset]bool{}, places: map[uint64]place{}}
	file, err := elf.Open(path)
	if err != nil {
		return m, err
	}
	defer file.Close()
	dwarfs := uint64(0)
	for _, s := range file.Sections {
		if (s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_STRTAB) && s.Size > maxSymbols {
			return m, fmt.Errorf("section %s has %d bytes", s.Name, s.Size)
		}
		if strings.Contains(s.Name, "debug_") {
			dwarfs += min(s.Size, maxLines+1)
		}
	}
	m.symbols, err = file.Symbols()
	if dynamic, none := file.DynamicSymbols(); none == nil {
		m.symbols, err = append(m.symbols, dynamic...), nil
	}
	m.symbols = slices.DeleteFunc(m.symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || s.Name == ""
	})
	slices.SortStableFunc(m.symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			m.base = p.Vaddr - p.Off
			break
		}
	}
	if dwarfs > 0 && dwarfs <= maxLines {
		m.lines, _ = file.DWARF() // without it, functions have no lines
	}
	return m, err
}

// search returns the place of the last function that begins at an address or before it.
func (m *module) search(at uint64) (i int, exact bool) {
	i, exact = slices.BinarySearchFunc(m.symbols, at, func(s elf.Symbol, at uint64) int {
		return cmp.Compare(s.Value, at)
	})
	if !exact {
		i--
	}
	return i, exact
}

// find returns the function at an address, or at one that counts from the module's begin.
func (m *module) find(offset uint64) *elf.Symbol {
	for _, at := range []uint64{offset, offset + m.base} {
		if i, exact := m.search(at); i >= 0 && (exact || at-m.symbols[i].Value < m.symbols[i].Size) {
			return &m.symbols[i]
		}
	}
	return nil
}

// place returns the source line at which a function begins. It reads the lines of its unit once.
func (m *module) place(at uint64) place {
	if m.lines == nil {
		return place{}
	}
	unit, err := m.lines.Reader().SeekPC(at)
	if err != nil || m.units[unit.Offset] {
		return m.places[at]
	}
	m.units[unit.Offset] = true
	lines, err := m.lines.LineReader(unit)
	if err != nil || lines == nil {
		return place{}
	}
	var e dwarf.LineEntry
	for lines.Next(&e) == nil {
		_, begins := m.search(e.Address)
		if _, known := m.places[e.Address]; begins && !known && !e.EndSequence && e.File != nil {
			m.places[e.Address] = place{e.File.Name, e.Line}
		}
	}
	return m.places[at]
}
